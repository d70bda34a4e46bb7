"""Forgetting what is not memory yet: turns on their way, parked ones, and refusals."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.queue import QueueWriting
from ricordo.adapters.postgres.session import storable
from ricordo.columns.jobs import heard_by
from ricordo.columns.times import micros
from ricordo.errors import NotFound
from ricordo.model import Listing, Scope, Withdrawn

_TEXT = "q.sort = 'turn' and q.state in ('waiting', 'leased', 'parked')"
"""Turns whose words are still kept."""


class Withdrawing(QueueWriting):
    """Forgets what would have become memory."""

    async def withdraw(
        self, listing: Listing | None, *, ids: Sequence[str] = (), scope: Scope
    ) -> Withdrawn:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        turns = set(await self._turns_of(ids, number))
        refusals = 0
        if listing is not None:
            turns |= set(await self._turns_like(listing, number))
            refusals = await self._drop_refusals(listing, number)
        await self._release({*turns, *await self._requests_for(ids, number)}, number)
        await self._silence(turns)
        return Withdrawn(turns=len(turns), refusals=refusals)

    async def drop(self, job_id: int, *, scope: Scope) -> None:
        """Forget a dead letter."""
        found = await self._row(
            "select sort from queue where id = %s and scope_id = %s and state = 'parked'",
            job_id,
            self._number(scope),
        )
        if found is None:
            raise NotFound(f"no dead letter {job_id} here")
        if found[0] == "turn":
            await self._silence({job_id})
        else:
            await self._change("delete from queue where id = %s", job_id)

    async def _turns_of(self, ids: Sequence[str], number: int) -> list[int]:
        """Turns from which one of these memories came, or will come once more."""
        return await self._firsts(
            f"select q.id from queue q where q.scope_id = %s and {_TEXT} "
            "and (q.thread_id, q.run_id) in (select o.thread_id, o.run_id from memories m "
            "join origins o on o.memory_row = m.row where m.scope_id = %s and m.id = any(%s))",
            number,
            number,
            storable(ids),
        )

    async def _turns_like(self, listing: Listing, number: int) -> list[int]:
        where, values = "", list[Any]()
        if listing.thread_id is not None:
            where += " and q.thread_id = any(%s)"
            values.append(storable([listing.thread_id]))
        if listing.before is not None:
            where += " and q.queued_at < %s"
            values.append(micros(listing.before))
        which = f"from queue q where q.scope_id = %s and {_TEXT}{where}"
        if listing.agents is None:
            return await self._firsts(f"select q.id {which}", number, *values)
        found = await self._rows(f"select q.id, q.payload {which}", number, *values)
        return [id_ for id_, payload in found if heard_by(payload, listing.agents)]

    async def _drop_refusals(self, listing: Listing, number: int) -> int:
        where, values = "", list[Any]()
        if listing.agents is not None:
            # Without a kind, facts are meant too, and only a fact's relation breaks a rule.
            facts = " or rule is not null or origin is null" if listing.kind is None else ""
            where += f" and (agent = any(%s){facts})"
            values.append(storable(listing.agents))
        if listing.thread_id is not None:
            where += " and thread_id = any(%s)"
            values.append(storable([listing.thread_id]))
        if listing.before is not None:
            where += " and at < %s"
            values.append(micros(listing.before))
        return await self._change(
            f"delete from refusals where scope_id = %s{where}", number, *values
        )

    async def _requests_for(self, ids: Sequence[str], number: int) -> list[int]:
        """Requests about these memories that a worker holds."""
        return await self._firsts(
            "select id from queue where scope_id = %s and sort = 'relate' and state = 'leased' "
            "and memory_id = any(%s)",
            number,
            storable(ids),
        )

    async def _release(self, going: set[int], number: int) -> None:
        """What a worker holds together with one that goes waits again: its batch is lost whole."""
        mates = await self._firsts(
            "select id from queue where scope_id = %s and state = 'leased' and lease in "
            "(select lease from queue where id = any(%s) and state = 'leased')",
            number,
            sorted(going),
        )
        kept = sorted(set(mates) - going)
        await self._drop_twins(kept)
        await self._change(
            "update queue set state = 'waiting', lease = null, lease_until = null "
            "where id = any(%s)",
            kept,
        )

    async def _silence(self, turns: set[int]) -> None:
        """Drop what was said; the turns keep their ids, so that they are not accepted again."""
        await self._change(
            "update queue set state = 'done', payload = null, lease = null, lease_until = null, "
            "not_before = null, reason = null, parked_at = null where id = any(%s)",
            sorted(turns),
        )

    async def _firsts(self, sql: str, *values: Any) -> list[int]:
        return [row[0] for row in await self._rows(sql, *values)]
