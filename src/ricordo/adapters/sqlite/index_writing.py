"""Indexed rows, written beside their memories, with the generation of their partition."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.sqlite.index_reading import IndexReading
from ricordo.adapters.sqlite.session import as_numbers
from ricordo.columns.indexing import LISTED_REMOVALS, PLACES, WORTH_A_LIST, space_values
from ricordo.columns.memory_rows import is_visible, span
from ricordo.columns.threads import standing
from ricordo.model import Indexed, Memory, Partition, Space


class IndexWriting(IndexReading):
    """Keeps partitions and their indexed rows."""

    def _known(self, partition: Partition) -> tuple[int | None, tuple[Any, ...] | None]:
        """The partition's number and space, each None where it has none yet."""
        found = self._row(
            "select p.id, s.model, s.dimension, s.transform, s.words from partitions p "
            "left join spaces s on s.id = p.space_id "
            "where p.scope_id = ? and p.kind = ? and p.agent = ?",
            self._number(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        if found is None:
            return None, None
        return found[0], None if found[1] is None else found[1:]

    def _add_partition(self, partition: Partition) -> int:
        # Begun above every number that an erased partition of this name can have reached.
        return self._insert(
            "insert into partitions (scope_id, kind, agent, generation, listed_since) "
            f"select ?, ?, ?, first, first from (select {PLACES} * (coalesce(max(seq), 0) + 1) "
            "as first from sqlite_sequence where name = 'partitions')",
            self._owned(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )

    def _space_number(self, space: Space) -> int:
        key = space_values(space)
        found = self._row(
            "select id from spaces "
            "where model = ? and dimension = ? and transform = ? and words = ?",
            *key,
        )
        if found:
            return found[0]
        return self._insert(
            "insert into spaces (model, dimension, transform, words) values (?, ?, ?, ?)", *key
        )

    def _grow(self, partition_number: int, *, by: int = 0) -> int:
        """The partition's next generation, noting how many more rows are visible in it."""
        self._change(
            "update partitions set generation = generation + 1, size = size + ? where id = ?",
            by,
            partition_number,
        )
        return self._row("select generation from partitions where id = ?", partition_number)[0]

    def _index(
        self, memory: Memory, row: int, partition: int, entry: tuple[Indexed, Space]
    ) -> None:
        """Put the index row of a memory in place of the one that it had."""
        indexed, space = entry
        self._unindex([row])
        space_number = self._space_number(space)
        visible = int(is_visible(memory))
        self._change(
            "update partitions set space_id = ?, next_place = next_place + 1, "
            "generation = generation + 1, size = size + ? where id = ?",
            space_number,
            visible,
            partition,
        )
        place, generation = self._row(
            "select next_place - 1, generation from partitions where id = ?", partition
        )
        self._change(
            "insert into memory_index (place, memory_row, memory_id, scope_id, partition_id, "
            "space_id, generation, visible, valid_from, valid_until, thread, said_at, recorded_at, "
            "length, vector, terms, counts)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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

    def _reindex(self, memory: Memory, row: int) -> None:
        """Carry what changed about a memory over to the index row that it keeps."""
        found = self._row(
            "select i.partition_id, i.space_id is p.space_id, i.visible, i.valid_from, "
            "i.valid_until, i.thread, i.said_at, i.recorded_at "
            "from memory_index i join partitions p on p.id = i.partition_id "
            "where i.memory_row = ?",
            row,
        )
        if found is None:
            return
        partition, counted, *shown = found
        visible = int(is_visible(memory))
        now = [visible, *span(memory), *standing(memory)]
        if now == shown:
            return
        generation = self._grow(partition, by=counted * (visible - shown[0]))
        self._change(
            "update memory_index set visible = ?, valid_from = ?, valid_until = ?, thread = ?, "
            "said_at = ?, recorded_at = ?, generation = ? "
            "where memory_row = ?",
            *now,
            generation,
            row,
        )

    def _unindex(self, rows: Sequence[int]) -> int:
        """Remove the index rows of memories; each is listed as removed. Returns how many."""
        listed = as_numbers(rows)
        removed = 0
        for partition, scope, count, visible in self._rows(
            "select p.id, p.scope_id, count(*), sum(i.visible = 1 and i.space_id is p.space_id) "
            "from json_each(?) f cross join memory_index i on i.memory_row = f.value "
            "join partitions p on p.id = i.partition_id group by p.id",
            listed,
        ):
            generation = self._grow(partition, by=-visible)
            left = self._row("select size from partitions where id = ?", partition)[0]
            if left or count <= WORTH_A_LIST:
                self._change(
                    "insert or ignore into removed_rows "
                    "(scope_id, partition_id, generation, memory_id) "
                    "select i.scope_id, i.partition_id, ?, i.memory_id from json_each(?) f "
                    "cross join memory_index i on i.memory_row = f.value where i.partition_id = ?",
                    generation,
                    listed,
                    partition,
                )
                self._shorten(scope, partition)
            else:  # nothing is left: reading that anew is less than a list of what is gone
                self._forget_removals(scope, partition, until=generation)
            removed += count
        if removed:
            self._change(
                "delete from memory_index where memory_row in (select value from json_each(?))",
                listed,
            )
        return removed

    def _shorten(self, scope: int, partition: int) -> None:
        """Drop the oldest listed removals beyond the limit."""
        found: tuple[Any, ...] | None = self._row(
            "select generation from removed_rows where scope_id = ? and partition_id = ? "
            "order by generation desc limit 1 offset ?",
            scope,
            partition,
            LISTED_REMOVALS,
        )
        if found is not None:
            self._forget_removals(scope, partition, until=found[0])

    def _forget_removals(self, scope: int, partition: int, *, until: int) -> None:
        """List removals from a later generation on only; who knows an earlier one reads all."""
        self._change(
            "update partitions set listed_since = max(listed_since, ?) where id = ?",
            until,
            partition,
        )
        self._change(
            "delete from removed_rows where scope_id = ? and partition_id = ? and generation <= ?",
            scope,
            partition,
            until,
        )
