"""Indexed rows, read packed: one range of the table, in large pieces."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.session import Ask, Session
from ricordo.columns.indexing import PACKED, PLACES, STATE, Packed, space_of
from ricordo.model import Kind, Partition, Scope
from ricordo.ports import PartitionState, Rows

_PLAIN = PACKED.replace("vector", "''::bytea", 1)

_CHUNK = 2_000
"""Rows fetched at once; all of a large partition would be held twice."""


class IndexReading(Session):
    """Reads partitions and their indexed rows."""

    async def partitions(self, *, scope: Scope) -> list[PartitionState]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            f"{STATE} where p.scope_id = %s order by p.id", self._number(scope)
        )
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
        return await self._packed_rows(partition, since, plain=False)

    async def _packed_rows(self, partition: Partition, since: int | None, *, plain: bool) -> Rows:
        """The rows; `plain` ones without their vectors."""
        columns = _PLAIN if plain else PACKED
        number = self._number(partition.scope)
        state = await self._row(
            f"{STATE} where p.scope_id = %s and p.kind = %s and p.agent = %s",
            number,
            partition.kind.value,
            partition.agent or "",
        )
        if state is None:
            return Packed().rows(generation=0, space=None, complete=True, removed=())
        if since is None or not state[4] <= since <= state[3]:
            return await self._all(state, number, columns)
        return await self._changed(state, number, since, columns)

    async def _all(self, state: tuple[Any, ...], number: int, columns: str) -> Rows:
        packed = Packed()
        reached = state[0] * PLACES - 1
        end = (state[0] + 1) * PLACES
        while True:
            some = await self._large(
                f"select {columns}, place from memory_index "
                "where scope_id = %s and place > %s and place < %s and visible = 1 "
                "and space_id is not distinct from %s order by place limit %s",
                number,
                reached,
                end,
                state[6],
                _CHUNK,
            )
            if some:
                reached = some[-1][-1]
                packed.add([row[:-1] for row in some])
            if len(some) < _CHUNK:
                break
        return packed.rows(generation=state[3], space=space_of(state), complete=True, removed=())

    async def _changed(self, state: tuple[Any, ...], number: int, since: int, columns: str) -> Rows:
        changed = await self._large(
            f"select {columns}, visible = 1 and space_id is not distinct from %s from memory_index "
            "where scope_id = %s and partition_id = %s and generation > %s order by place",
            state[6],
            number,
            state[0],
            since,
        )
        removed = await self._rows(
            "select memory_id from removed_rows "
            "where scope_id = %s and partition_id = %s and generation > %s",
            number,
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

    async def _large(self, sql: str, *values: Any) -> Sequence[tuple[Any, ...]]:
        return (await Ask(sql, values, binary=True)).rows
