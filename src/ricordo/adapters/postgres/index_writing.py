"""Indexed rows, written beside their memories, with the generation of their partition."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.index_reading import IndexReading
from ricordo.adapters.postgres.search_writing import SEARCHED, SearchWriting
from ricordo.columns.indexing import LISTED_REMOVALS, PLACES, WORTH_A_LIST, space_values
from ricordo.columns.memory_rows import is_visible, span
from ricordo.columns.threads import standing
from ricordo.model import Indexed, Memory, Partition, Space


class IndexWriting(IndexReading, SearchWriting):
    """Keeps partitions and their indexed rows."""

    async def _known(self, partition: Partition) -> tuple[int | None, tuple[Any, ...] | None]:
        """The partition's number and space, each None where it has none yet."""
        found = await self._row(
            "select p.id, s.model, s.dimension, s.transform, s.words from partitions p "
            "left join spaces s on s.id = p.space_id "
            "where p.scope_id = %s and p.kind = %s and p.agent = %s",
            self._number(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        if found is None:
            return None, None
        return found[0], None if found[1] is None else found[1:]

    async def _add_partition(self, partition: Partition) -> int:
        number = await self._insert(
            "insert into partitions (scope_id, kind, agent) values (%s, %s, %s) returning id",
            await self._owned(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        # Begun above every number that an erased partition of this name can have reached.
        await self._change(
            "update partitions set generation = %s, listed_since = %s where id = %s",
            number * PLACES,
            number * PLACES,
            number,
        )
        return number

    async def _space_number(self, space: Space) -> int:
        key = space_values(space)
        find = (
            "select id from spaces "
            "where model = %s and dimension = %s and transform = %s and words = %s"
        )
        found = await self._row(find, *key)
        if found is None:
            await self._change(
                "insert into spaces (model, dimension, transform, words) "
                "values (%s, %s, %s, %s) on conflict do nothing",
                *key,
            )
            found = await self._row(find, *key)
        return found[0]

    async def _grow(self, partition_number: int, *, by: int = 0) -> int:
        """The partition's next generation, noting how many more rows are visible in it."""
        return await self._insert(
            "update partitions set generation = generation + 1, size = size + %s where id = %s "
            "returning generation",
            by,
            partition_number,
        )

    async def _index(
        self, memory: Memory, row: int, partition: int, entry: tuple[Indexed, Space]
    ) -> None:
        """Put the index row of a memory in place of the one that it had."""
        indexed, space = entry
        await self._unindex([row])
        space_number = await self._space_number(space)
        visible = int(is_visible(memory))
        place, generation, searched = await self._row(
            "update partitions set space_id = %s, next_place = next_place + 1, "
            "generation = generation + 1, size = size + %s where id = %s "
            f"returning next_place - 1, generation, {SEARCHED.format('partitions.id')}",
            space_number,
            visible,
            partition,
        )
        await self._change(
            "insert into memory_index (place, memory_row, memory_id, scope_id, partition_id, "
            "space_id, generation, visible, valid_from, valid_until, thread, said_at, recorded_at, "
            "length, vector, terms, counts) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            partition * PLACES + place,
            row,
            memory.id,
            self._number(memory.scope),
            partition,
            space_number,
            generation,
            visible,
            *span(memory),
            *standing(memory),
            indexed.length,
            indexed.vector,
            indexed.terms,
            indexed.counts,
        )
        if searched:
            copied = indexed.vector, indexed.terms, indexed.counts
            await self._copy([(partition * PLACES + place, partition, *copied)])

    async def _reindex(self, memory: Memory, row: int) -> None:
        """Carry what changed about a memory over to the index row that it keeps."""
        found = await self._row(
            "select i.partition_id, (i.space_id is not distinct from p.space_id)::int, i.visible, "
            f"{SEARCHED.format('p.id')}, "
            "i.valid_from, i.valid_until, i.thread, i.said_at, i.recorded_at "
            "from memory_index i join partitions p on p.id = i.partition_id "
            "where i.memory_row = %s",
            row,
        )
        if found is None:
            return
        partition, counted, was_visible, searched, *standing_now = found
        shown = [was_visible, *standing_now]
        visible = int(is_visible(memory))
        now = [visible, *span(memory), *standing(memory)]
        if now == shown:
            return
        generation = await self._grow(partition, by=counted * (visible - shown[0]))
        await self._change(
            "update memory_index set visible = %s, valid_from = %s, valid_until = %s, thread = %s, "
            "said_at = %s, recorded_at = %s, generation = %s where memory_row = %s",
            *now,
            generation,
            row,
        )
        if searched:
            await self._copy_again(row)

    async def _unindex(self, rows: Sequence[int]) -> int:
        """Remove the index rows of memories; each is listed as removed. Returns how many."""
        removed, copied = 0, False
        for partition, scope, count, visible, searched in await self._rows(
            "select p.id, p.scope_id, count(*), "
            "count(*) filter (where i.visible = 1 and i.space_id is not distinct from p.space_id), "
            f"{SEARCHED.format('p.id')} "
            "from memory_index i join partitions p on p.id = i.partition_id "
            "where i.memory_row = any(%s) group by p.id order by p.id",
            rows,
        ):
            generation, left = await self._row(
                "update partitions set generation = generation + 1, size = size - %s "
                "where id = %s returning generation, size",
                visible,
                partition,
            )
            if left or count <= WORTH_A_LIST:
                await self._change(
                    "insert into removed_rows (scope_id, partition_id, generation, memory_id) "
                    "select scope_id, partition_id, %s, memory_id from memory_index "
                    "where memory_row = any(%s) and partition_id = %s on conflict do nothing",
                    generation,
                    rows,
                    partition,
                )
                await self._shorten(scope, partition)
            else:  # nothing is left: reading that anew is less than a list of what is gone
                await self._forget_removals(scope, partition, until=generation)
            removed += count
            copied = copied or searched
        if copied:
            await self._uncopy(rows)
        if removed:
            await self._change("delete from memory_index where memory_row = any(%s)", rows)
        return removed

    async def _shorten(self, scope: int, partition: int) -> None:
        """Drop the oldest listed removals beyond the limit."""
        found = await self._row(
            "select generation from removed_rows where scope_id = %s and partition_id = %s "
            "order by generation desc limit 1 offset %s",
            scope,
            partition,
            LISTED_REMOVALS,
        )
        if found is not None:
            await self._forget_removals(scope, partition, until=found[0])

    async def _forget_removals(self, scope: int, partition: int, *, until: int) -> None:
        """List removals from a later generation on only; who knows an earlier one reads all."""
        await self._change(
            "update partitions set listed_since = greatest(listed_since, %s) where id = %s",
            until,
            partition,
        )
        await self._change(
            "delete from removed_rows "
            "where scope_id = %s and partition_id = %s and generation <= %s",
            scope,
            partition,
            until,
        )
