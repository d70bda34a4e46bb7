"""Indexed rows, read packed: one range of the table, joined into a few large pieces."""

from typing import Any

from ricordo.adapters.sqlite.session import Session
from ricordo.columns.indexing import PACKED, PLACES, STATE, Packed, space_of
from ricordo.model import Kind, Partition, Scope
from ricordo.ports import PartitionState, Rows

_CHUNK = 200

_PLAIN = PACKED.replace("vector", "x''", 1)


class IndexReading(Session):
    """Reads partitions and their indexed rows."""

    async def partitions(self, *, scope: Scope) -> list[PartitionState]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(f"{STATE} where p.scope_id = ? order by p.id", self._number(scope))
        return [
            PartitionState(
                partition=Partition(scope=scope, kind=Kind(row[1]), agent=row[2] or None),
                generation=row[3],
                space=space_of(row),
                size=row[5],
            )
            for row in found
        ]

    async def rows(self, *, partition: Partition, since: int | None) -> Rows:
        """See `ricordo.ports.Reading`."""
        return self._packed_rows(partition, since, plain=False)

    def _packed_rows(self, partition: Partition, since: int | None, *, plain: bool) -> Rows:
        """The rows; `plain` ones without their vectors."""
        columns = _PLAIN if plain else PACKED
        state = self._row(
            f"{STATE} where p.scope_id = ? and p.kind = ? and p.agent = ?",
            self._number(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        if state is None:
            return Packed().rows(generation=0, space=None, complete=True, removed=())
        if since is None or not state[4] <= since <= state[3]:
            return self._all(state, columns)
        return self._changed(state, self._number(partition.scope), since, columns)

    def _all(self, state: tuple[Any, ...], columns: str) -> Rows:
        first = state[0] * PLACES
        found = self._connection.execute(
            f"select {columns} from memory_index "
            "where place >= ? and place < ? and visible = 1 and space_id is ?",
            (first, first + PLACES, state[6]),
        )
        packed = Packed()
        while some := found.fetchmany(_CHUNK):
            packed.add(some)
        return packed.rows(generation=state[3], space=space_of(state), complete=True, removed=())

    def _changed(self, state: tuple[Any, ...], scope_number: int, since: int, columns: str) -> Rows:
        changed = self._rows(
            f"select {columns}, visible = 1 and space_id is ? from memory_index "
            "where scope_id = ? and partition_id = ? and generation > ? order by place",
            state[6],
            scope_number,
            state[0],
            since,
        )
        removed = self._rows(
            "select memory_id from removed_rows "
            "where scope_id = ? and partition_id = ? and generation > ?",
            scope_number,
            state[0],
            since,
        )
        seen = [row[:-1] for row in changed if row[-1]]
        present = {row[0] for row in seen}
        gone = {row[0] for row in changed if not row[-1]} | {row[0] for row in removed}
        packed = Packed()
        if seen:
            packed.add(seen)
        return packed.rows(
            generation=state[3],
            space=space_of(state),
            complete=False,
            removed=sorted(gone - present),
        )
