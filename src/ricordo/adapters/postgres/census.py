"""Counts what a ledger holds, for those who operate it."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask, Session
from ricordo.model import Cell, Census, Kind, Own, Scope, Status, Storage

_SIZE = (
    "select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class "
    "where relnamespace = 'ricordo'::regnamespace and relkind = 'r'"
)


class Counting(Session):
    """Counts what one scope holds."""

    async def census(self, *, scope: Scope) -> Census:
        """See `ricordo.ports.Upkeep`."""
        number = self._number(scope)
        cells = await self._rows(
            "select s.kind, m.kind, m.status, count(*) from memories m "
            "join scopes s on s.id = m.scope_id where m.scope_id = %s "
            "group by s.kind, m.kind, m.status order by m.kind desc, m.status",
            number,
        )
        partitions = await self._row(
            "select count(nullif(size, 0)), coalesce(max(size), 0) from partitions "
            "where scope_id = %s",
            number,
        )
        (events,) = await self._row("select count(*) from outbox where scope_id = %s", number)
        (texts,) = await self._row(
            "select coalesce(sum(octet_length(text)), 0)::bigint from memories where scope_id = %s",
            number,
        )
        (index,) = await self._row(
            "select coalesce(sum(octet_length(vector) + octet_length(terms) + "
            "octet_length(counts)), 0)::bigint from memory_index where scope_id = %s",
            number,
        )
        return _census(cells, partitions, events, own=Own(texts=texts, index=index))


async def census(on: Connection, /) -> Census:
    """What is held of all scopes. The log belongs to all of the server's databases, and what is
    free inside the tables is known to nobody without reading them: both are 0."""
    events = dict(await _rows(on, "select place, count from count_rows()"))["outbox"]
    (partitions,) = await _rows(on, "select * from count_partitions()")
    ((size,),) = await _rows(on, _SIZE)
    return _census(
        await _rows(on, "select * from count_memories()"),
        partitions,
        events,
        behind=dict(await _rows(on, "select * from count_behind()")),
        storage=Storage(file=size, log=0, free=0),
    )


async def _rows(on: Connection, sql: str) -> list[Any]:
    return (await perform(Ask(sql, ()), on=on)).rows


def _census(
    cells: Sequence[tuple[str, str, str, int]],
    partitions: tuple[int, int],
    events: int,
    *,
    behind: dict[str, int] | None = None,
    storage: Storage | None = None,
    own: Own | None = None,
) -> Census:
    return Census(
        cells=tuple(
            Cell(of=of, kind=Kind(kind), status=Status(status), count=count)
            for of, kind, status, count in cells
        ),
        partitions=partitions[0],
        largest=partitions[1],
        events=events,
        behind=behind or {},
        storage=storage,
        own=own,
    )
