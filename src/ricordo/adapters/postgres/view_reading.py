"""What views outside are fed with and checked against, read."""

from collections.abc import Mapping, Sequence

from ricordo.adapters.postgres.index_reading import IndexReading
from ricordo.adapters.postgres.session import Ask, storable
from ricordo.model import Partition, Scope
from ricordo.ports import GraphChanges, Rows


class ViewReading(IndexReading):
    """See `ricordo.ports.ViewReading`."""

    async def plain_rows(self, *, partition: Partition, since: int | None) -> Rows:
        """See `ricordo.ports.ViewReading`."""
        return await self._packed_rows(partition, since, plain=True)

    async def vectors(self, ids: Sequence[str], *, partition: Partition) -> Mapping[str, bytes]:
        """See `ricordo.ports.ViewReading`."""
        asked = Ask(
            "select i.memory_id, i.vector from memory_index i "
            "join partitions p on p.id = i.partition_id and p.kind = %s and p.agent = %s "
            "where i.scope_id = %s and i.memory_id = any(%s) and i.visible = 1 "
            "and i.space_id is not distinct from p.space_id",
            (
                partition.kind.value,
                partition.agent or "",
                self._number(partition.scope),
                storable(ids),
            ),
            binary=True,
        )
        return {memory_id: bytes(vector) for memory_id, vector in (await asked).rows}

    async def graph_position(self, *, scope: Scope) -> int:
        """See `ricordo.ports.ViewReading`."""
        [last] = await self._row(
            "select max(position) from graph_changes where scope_id = %s", self._number(scope)
        )
        return last or 0

    async def graph_changes(self, *, scope: Scope, since: int | None) -> GraphChanges:
        """See `ricordo.ports.ViewReading`."""
        number = self._number(scope)
        position = await self.graph_position(scope=scope)
        if since is None:
            changed = await self._rows(
                "select 'entity', id from entities where scope_id = %s and merged_into is null "
                "union all select 'relation', id from relations where scope_id = %s",
                number,
                number,
            )
        else:
            changed = await self._rows(
                "select sort, id from graph_changes where scope_id = %s and position > %s",
                number,
                since,
            )
        return GraphChanges(
            position=position,
            complete=since is None,
            entities=tuple(id_ for sort, id_ in changed if sort == "entity"),
            relations=tuple(id_ for sort, id_ in changed if sort == "relation"),
        )
