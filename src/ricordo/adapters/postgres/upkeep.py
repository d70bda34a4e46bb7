"""What an operator does to a ledger as a whole.

The functions of the schema that look over all scopes give numbers and ids only. Whoever needs more
enters those scopes, and is guarded like everybody else.
"""

from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.index_writing import IndexWriting
from ricordo.adapters.postgres.memory_reading import MemoryReading
from ricordo.adapters.postgres.queue import letter_from
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.indexing import check_row, space_from, space_values
from ricordo.columns.jobs import JOB
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import micros
from ricordo.model import DeadLetter, Indexed, Memory, Scope, Space
from ricordo.ports import Unindexed


async def scopes(on: Connection, /) -> list[Scope]:
    """Every scope, in the order in which they came."""
    found = await perform(Ask("select kind, tenant, owner from all_scopes()", ()), on=on)
    return [scope_from(*row) for row in found.rows]


async def spaces(on: Connection, /) -> list[Space]:
    """Every space, in the order in which they came."""
    asked = Ask("select model, dimension, transform, words from spaces order by id", ())
    return [space_from(row) for row in (await perform(asked, on=on)).rows]


async def stale(on: Connection, /, *, space: Space, after: str, limit: int) -> list[Unindexed]:
    """Memories without an index row in `space`; all of one id belong to one page."""
    asked = (after, *space_values(space), limit)
    found = await perform(
        Ask("select id, scope_id from stale_memories(%s, %s, %s, %s, %s, %s)", asked), on=on
    )
    ids = [row[0] for row in found.rows]
    numbers = [row[1] for row in found.rows]
    await _enter(on, numbers)
    rows = await perform(
        Ask(
            "select m.id, m.text, m.version, s.kind, s.tenant, s.owner "
            "from unnest(%s::text[], %s::bigint[]) f (id, scope_id) "
            "join memories m on m.id = f.id and m.scope_id = f.scope_id "
            "join scopes s on s.id = m.scope_id order by m.id, m.row",
            (ids, numbers),
        ),
        on=on,
    )
    return [
        Unindexed(memory_id=id_, scope=scope_from(*scope), text=text, version=version)
        for id_, text, version, *scope in rows.rows
    ]


async def expire(
    on: Connection, /, *, turns_before: datetime, audit_before: datetime, limit: int
) -> int:
    """Remove old traces of what is over."""
    asked = (micros(turns_before), micros(audit_before), limit)
    found = await perform(Ask("select expire_traces(%s, %s, %s)", asked), on=on)
    return found.rows[0][0]


async def dead_letters(on: Connection, /, *, limit: int) -> list[DeadLetter]:
    """Parked jobs of all scopes, oldest first, without messages."""
    found = await perform(Ask("select id, scope_id from parked_jobs(%s)", (limit,)), on=on)
    await _enter(on, [row[1] for row in found.rows])
    rows = await perform(
        Ask(
            f"select {JOB}, q.reason, q.parked_at, s.kind, s.tenant, s.owner "
            "from queue q join scopes s on s.id = q.scope_id where q.id = any(%s) "
            "order by q.parked_at, q.id",
            ([row[0] for row in found.rows],),
        ),
        on=on,
    )
    return [letter_from(row[:-3], scope=scope_from(*row[-3:]), silent=True) for row in rows.rows]


async def _enter(on: Connection, numbers: Sequence[int]) -> None:
    listed = ",".join(map(str, sorted(set(numbers))))
    await perform(Ask("select set_config('ricordo.scope', %s, true)", (listed,)), on=on)


class Restoring(MemoryReading, IndexWriting):
    """Puts rebuilt index rows of one scope in place."""

    async def restore(self, rows: Sequence[tuple[Unindexed, Indexed]], *, space: Space) -> None:
        """See `ricordo.ports.Upkeep`."""
        for stale_row, indexed in rows:
            check_row(indexed, space)
            found = await self.memories([stale_row.memory_id], scope=stale_row.scope)
            if not found or found[0].version != stale_row.version:
                continue
            await self._move_to(found[0], space)
            row, partition = await self._row(
                "select row, partition_id from memories where scope_id = %s and id = %s",
                self._number(stale_row.scope),
                stale_row.memory_id,
            )
            await self._index(found[0], row, partition, (indexed, space))

    async def _move_to(self, memory: Memory, space: Space) -> None:
        """Let the memory's partition be of this space; caches of the old one must start anew."""
        number = await self._space_number(space)
        await self._change(
            "update partitions set space_id = %s, generation = generation + 1, "
            "listed_since = generation + 1, size = 0 "
            "where id = (select partition_id from memories where scope_id = %s and id = %s) "
            "and space_id is distinct from %s",
            number,
            self._number(memory.scope),
            memory.id,
            number,
        )
