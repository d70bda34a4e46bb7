"""Forgetting what is not memory yet: turns on their way, parked ones, and refusals."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from ricordo.adapters.sqlite.queue import drop_twins
from ricordo.adapters.sqlite.session import Session, as_list, as_numbers
from ricordo.columns.jobs import heard_by
from ricordo.columns.times import micros
from ricordo.errors import NotFound
from ricordo.model import Listing, Scope, Withdrawn

_TEXT = "q.sort = 'turn' and q.state in ('waiting', 'leased', 'parked')"
"""Turns whose words are still kept."""

_AMONG = "in (select value from json_each(?))"


class Withdrawing(Session):
    """Forgets what would have become memory."""

    async def withdraw(
        self, listing: Listing | None, *, ids: Sequence[str] = (), scope: Scope
    ) -> Withdrawn:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        turns = set(self._turns_of(ids, number))
        refusals = 0
        if listing is not None:
            turns |= set(self._turns_like(listing, number))
            refusals = self._drop_refusals(listing, number)
        self._release({*turns, *self._requests_for(ids, number)}, number)
        _silence(self._connection, turns)
        return Withdrawn(turns=len(turns), refusals=refusals)

    def _turns_of(self, ids: Sequence[str], number: int) -> list[int]:
        """Turns from which one of these memories came, or will come once more."""
        return self._firsts(
            f"select q.id from queue q where q.scope_id = ? and {_TEXT} and (q.thread_id, q.run_id)"
            " in (select o.thread_id, o.run_id from json_each(?) f cross join memories m "
            "on m.scope_id = ? and m.id = f.value cross join origins o on o.memory_row = m.row)",
            number,
            as_list(ids),
            number,
        )

    def _turns_like(self, listing: Listing, number: int) -> list[int]:
        where, values = "", list[Any]()
        if listing.thread_id is not None:
            where += " and q.thread_id = ?"
            values.append(listing.thread_id)
        if listing.before is not None:
            where += " and q.queued_at < ?"
            values.append(micros(listing.before))
        which = f"from queue q where q.scope_id = ? and {_TEXT}{where}"
        if listing.agents is None:
            return self._firsts(f"select q.id {which}", number, *values)
        found = self._rows(f"select q.id, q.payload {which}", number, *values)
        return [id_ for id_, payload in found if heard_by(payload, listing.agents)]

    def _drop_refusals(self, listing: Listing, number: int) -> int:
        where, values = "", list[Any]()
        if listing.agents is not None:
            # Without a kind, facts are meant too, and only a fact's relation breaks a rule.
            facts = " or rule is not null or origin is null" if listing.kind is None else ""
            where += f" and (agent {_AMONG}{facts})"
            values.append(as_list(listing.agents))
        if listing.thread_id is not None:
            where += " and thread_id = ?"
            values.append(listing.thread_id)
        if listing.before is not None:
            where += " and at < ?"
            values.append(micros(listing.before))
        return self._change(f"delete from refusals where scope_id = ?{where}", number, *values)

    def _requests_for(self, ids: Sequence[str], number: int) -> list[int]:
        """Requests about these memories that a worker holds."""
        return self._firsts(
            "select id from queue where scope_id = ? and sort = 'relate' and state = 'leased' "
            f"and memory_id {_AMONG}",
            number,
            as_list(ids),
        )

    def _release(self, going: set[int], number: int) -> None:
        """What a worker holds together with one that goes waits again: its batch is lost whole."""
        mates = self._firsts(
            "select id from queue where scope_id = ? and state = 'leased' and lease in "
            "(select q.lease from json_each(?) f cross join queue q on q.id = f.value "
            "where q.state = 'leased')",
            number,
            as_numbers(sorted(going)),
        )
        kept = as_numbers(sorted(set(mates) - going))
        drop_twins(self._connection, kept)
        self._change(
            "update queue set state = 'waiting', lease = null, lease_until = null "
            f"where id {_AMONG}",
            kept,
        )

    def _firsts(self, sql: str, *values: Any) -> list[int]:
        return [row[0] for row in self._rows(sql, *values)]


def drop(connection: sqlite3.Connection, job_id: int, *, number: int) -> None:
    """Forget a dead letter. Raises `NotFound`."""
    found = connection.execute(
        "select sort from queue where id = ? and scope_id = ? and state = 'parked'",
        (job_id, number),
    ).fetchone()
    if found is None:
        raise NotFound(f"no dead letter {job_id} here")
    if found[0] == "turn":
        _silence(connection, {job_id})
    else:
        connection.execute("delete from queue where id = ?", (job_id,))


def _silence(connection: sqlite3.Connection, turns: set[int]) -> None:
    """Drop what was said; the turns keep their ids, so that they are not accepted again."""
    connection.execute(
        "update queue set state = 'done', payload = null, lease = null, lease_until = null, "
        "not_before = null, reason = null, parked_at = null "
        "where id in (select value from json_each(?))",
        (as_numbers(sorted(turns)),),
    )
