"""Memories, read."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ricordo.adapters.sqlite.session import Session, as_list, as_numbers
from ricordo.columns.cursors import cursor_after, position_of
from ricordo.columns.memory_rows import COLUMNS, memory_from
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS
from ricordo.columns.origins import origin_from
from ricordo.columns.times import micros, moment
from ricordo.errors import Invalid
from ricordo.model import Listing, Memory, Origin, Page, Partition, Revision, Scope

_LARGEST_PAGE = 1_000


class MemoryReading(Session):
    """Finds memories by id, by text and in order."""

    async def memories(self, ids: Sequence[str], *, scope: Scope) -> list[Memory]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"select m.row, {COLUMNS} from json_each(?) f cross join memories m "
            "on m.scope_id = ? and m.id = f.value",
            as_list(dict.fromkeys(ids)),
            self._number(scope),
        )
        by_id = {memory.id: memory for memory in self._memories_from(found, scope)}
        return [by_id[each] for each in dict.fromkeys(ids) if each in by_id]

    async def page(self, listing: Listing, *, scope: Scope) -> Page:
        """See `ricordo.ports.Reading`."""
        if not 1 <= listing.limit <= _LARGEST_PAGE:
            raise Invalid(f"limit is {listing.limit}; a page holds 1 to {_LARGEST_PAGE}")
        where, values = _filter(listing)
        if listing.after is not None:
            where += " and (m.recorded_at, m.id) > (?, ?)"
            values += position_of(listing.after, scope=scope, secret=self._secret)
        found = self._rows(
            f"select m.row, {COLUMNS} from memories m where m.scope_id = ?{where} "
            "order by m.recorded_at, m.id limit ?",
            self._number(scope),
            *values,
            listing.limit + 1,
        )
        memories = self._memories_from(found[: listing.limit], scope)
        more = len(found) > listing.limit
        cursor = cursor_after(memories[-1], scope=scope, secret=self._secret) if more else None
        return Page(memories=tuple(memories), cursor=cursor)

    async def ids(
        self, listing: Listing, *, scope: Scope, among: Sequence[str] | None = None
    ) -> list[str]:
        """See `ricordo.ports.Reading`."""
        where, values = _filter(listing)
        source, given = "memories m", ()
        if among is not None:
            source = "json_each(?) f cross join memories m on m.id = f.value"
            given = (as_list(dict.fromkeys(among)),)
        found = self._rows(
            f"select m.id from {source} where m.scope_id = ?{where} order by m.recorded_at, m.id",
            *given,
            self._number(scope),
            *values,
        )
        return [row[0] for row in found]

    async def same_text(self, digest: str, *, partition: Partition) -> Memory | None:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"select m.row, {COLUMNS} from memories m where m.digest = ? "
            "and m.status in ('active', 'proposed', 'rejected') and m.partition_id = "
            "(select id from partitions where scope_id = ? and kind = ? and agent = ?)",
            digest,
            self._number(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        return next(iter(self._memories_from(found, partition.scope)), None)

    async def history(self, memory_id: str, *, scope: Scope) -> list[Revision]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            "select r.version, r.text, r.replaced_at, r.changed_by from memories m "
            "join revisions r on r.memory_row = m.row "
            "where m.scope_id = ? and m.id = ? order by r.version",
            self._number(scope),
            memory_id,
        )
        return [
            Revision(memory_id=memory_id, version=v, text=text, replaced_at=moment(at), by=by)
            for v, text, at, by in found
        ]

    def _memories_from(self, found: Sequence[tuple[Any, ...]], scope: Scope) -> list[Memory]:
        origins = self._origins_of([row[0] for row in found])
        return [memory_from(row[1:], scope=scope, origins=tuple(origins[row[0]])) for row in found]

    def _origins_of(self, memory_rows: Sequence[int]) -> dict[int, list[Origin]]:
        origins: dict[int, list[Origin]] = defaultdict(list)
        if not memory_rows:
            return origins
        for row, *values in self._rows(
            f"select memory_row, {ORIGIN_COLUMNS} from json_each(?) f cross join origins o "
            "on o.memory_row = f.value order by memory_row, position",
            as_numbers(memory_rows),
        ):
            origins[row].append(origin_from(tuple(values)))
        return origins


def _filter(listing: Listing) -> tuple[str, tuple[Any, ...]]:
    """The conditions of a listing, built from fixed parts only; values are parameters."""
    parts: list[str] = []
    values: list[Any] = []

    def add(part: str, *some: Any) -> None:
        parts.append(f" and {part}")
        values.extend(some)

    if listing.kind is not None:
        add("m.kind = ?", listing.kind.value)
    if listing.statuses is not None:
        add("m.status in (select value from json_each(?))", as_list(listing.statuses))
    if listing.agents is not None:
        add(
            "(m.kind = 'fact' or m.agent in (select value from json_each(?)))",
            as_list(listing.agents),
        )
    if listing.thread_id is not None:
        add(
            "exists (select 1 from origins o where o.scope_id = m.scope_id "
            "and o.thread_id = ? and o.memory_row = m.row)",
            listing.thread_id,
        )
    if listing.review:
        add("(m.status = 'proposed' or m.pending is not null)")
    if listing.before is not None:
        add("m.recorded_at < ?", micros(listing.before))
    return "".join(parts), tuple(values)
