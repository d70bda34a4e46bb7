"""What views outside are fed with and checked against, read."""

from collections.abc import Mapping, Sequence

from ricordo.adapters.sqlite.index_reading import IndexReading
from ricordo.adapters.sqlite.session import as_list
from ricordo.model import Partition, Scope
from ricordo.ports import GraphChanges, Rows


class ViewReading(IndexReading):
    """See `ricordo.ports.ViewReading`."""

    async def plain_rows(self, *, partition: Partition, since: int | None) -> Rows:
        """See `ricordo.ports.ViewReading`."""
        return self._packed_rows(partition, since, plain=True)

    async def vectors(self, ids: Sequence[str], *, partition: Partition) -> Mapping[str, bytes]:
        """See `ricordo.ports.ViewReading`."""
        return dict(
            self._rows(
                "select i.memory_id, i.vector from json_each(?) f "
                "cross join memories m on m.scope_id = ? and m.id = f.value "
                "cross join memory_index i on i.memory_row = m.row "
                "cross join partitions p on p.id = i.partition_id and p.kind = ? and p.agent = ? "
                "where i.visible = 1 and i.space_id is p.space_id",
                as_list(ids),
                self._number(partition.scope),
                partition.kind.value,
                partition.agent or "",
            )
        )

    async def graph_position(self, *, scope: Scope) -> int:
        """See `ricordo.ports.ViewReading`."""
        [last] = self._row(
            "select max(position) from graph_changes where scope_id = ?", self._number(scope)
        )
        return last or 0

    async def graph_changes(self, *, scope: Scope, since: int | None) -> GraphChanges:
        """See `ricordo.ports.ViewReading`."""
        number = self._number(scope)
        position = await self.graph_position(scope=scope)
        if since is None:
            entities = self._rows(
                "select id from entities where scope_id = ? and merged_into is null", number
            )
            relations = self._rows("select id from relations where scope_id = ?", number)
        else:
            changed = self._rows(
                "select sort, id from graph_changes where scope_id = ? and position > ?",
                number,
                since,
            )
            entities = [(id_,) for sort, id_ in changed if sort == "entity"]
            relations = [(id_,) for sort, id_ in changed if sort == "relation"]
        return GraphChanges(
            position=position,
            complete=since is None,
            entities=tuple(id_ for (id_,) in entities),
            relations=tuple(id_ for (id_,) in relations),
        )
