"""Merging two entities into one, and undoing it exactly."""

from datetime import datetime

from ricordo.adapters.postgres.graph_writing import PUT_NAME, GraphWriting
from ricordo.columns.times import micros
from ricordo.errors import Conflict, NotFound
from ricordo.model import Scope, new_id


class Merging(GraphWriting):
    """Lets one entity stand for another."""

    async def merge_entities(self, source: str, target: str, *, at: datetime, scope: Scope) -> str:
        """See `ricordo.ports.Writing`.

        A relation between the two ends with the merge: nothing is related to itself by it.
        """
        number = self._number(scope)
        source_row, source_merged = await self._entity_row(source, scope)
        target_row, target_merged = await self._entity_row(target, scope)
        if source_row == target_row:
            raise Conflict(f"{source} and {target} are one entity already")
        for entity_id, merged in ((source, source_merged), (target, target_merged)):
            if merged is not None:
                raise Conflict(f"entity {entity_id} was merged into another already")
        merge_id = new_id("g")
        merge = await self._insert(
            "insert into merges (id, scope_id, source_row, target_row, at) "
            "values (%s, %s, %s, %s, %s) returning row",
            merge_id,
            number,
            source_row,
            target_row,
            micros(at),
        )
        await self._move_names(merge, number, source_row, target_row)
        await self._move_relations(merge, number, (source_row, target_row), micros(at))
        await self._change(
            "update entities set merged_into = %s where row = %s", target_row, source_row
        )
        return merge_id

    async def unmerge_entities(self, merge_id: str, *, scope: Scope) -> tuple[str, str]:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        found = await self._row(
            "select g.row, s.row, s.id, t.row, t.id, t.merged_into from merges g "
            "join entities s on s.row = g.source_row join entities t on t.row = g.target_row "
            "where g.scope_id = %s and g.id = %s",
            number,
            merge_id,
        )
        if found is None:
            raise NotFound(f"no merge {merge_id[:80]!a} in this scope")
        merge, source_row, source, target_row, target, merged_into = found
        if merged_into is not None:
            raise Conflict(f"entity {target} was itself merged later; undo that merge first")
        await self._return_names(merge, number, source_row, target_row)
        await self._return_relations(merge, source_row)
        await self._change("update entities set merged_into = null where row = %s", source_row)
        for table in ("merge_names", "merge_relations"):
            await self._change(f"delete from {table} where merge_row = %s", merge)
        await self._change("delete from merges where row = %s", merge)
        return source, target

    async def _move_names(self, merge: int, number: int, source_row: int, target_row: int) -> None:
        await self._change(
            "insert into merge_names (merge_row, scope_id, key, name, position) "
            "select %s, scope_id, key, name, position from names where entity_row = %s",
            merge,
            source_row,
        )
        (last,) = await self._row(
            "select max(position) from names where entity_row = %s", target_row
        )
        await self._change(
            "update names set entity_row = %s, position = position + %s "
            "where scope_id = %s and entity_row = %s",
            target_row,
            last + 1,
            number,
            source_row,
        )

    async def _move_relations(
        self, merge: int, number: int, ends: tuple[int, int], at: int
    ) -> None:
        source_row, target_row = ends
        await self._change(
            "insert into merge_relations (merge_row, relation_row, scope_id, at_source, at_target, "
            "valid_until, closed_at) select %s, row, scope_id, (source_row = %s)::int, "
            "(target_row = %s)::int, "
            "valid_until, closed_at from relations where row in (select row from relations "
            "where source_row = %s union select row from relations where target_row = %s)",
            merge,
            *[source_row] * 4,
        )
        await self._change(
            "update relations set closed_at = %s, valid_until = least(valid_until, %s) "
            "where closed_at is null and ((source_row = %s and target_row = %s) "
            "or (source_row = %s and target_row = %s))",
            at,
            at,
            *ends,
            *reversed(ends),
        )
        for end in ("source_row", "target_row"):
            await self._change(
                f"update relations set {end} = %s where {end} = %s and scope_id = %s",
                target_row,
                source_row,
                number,
            )

    async def _return_names(
        self, merge: int, number: int, source_row: int, target_row: int
    ) -> None:
        moved = await self._rows(
            "select key, name, position from merge_names where merge_row = %s", merge
        )
        for key, name, position in moved:
            holder = await self._row(
                "select entity_row from names where scope_id = %s and key = %s", number, key
            )
            if holder is not None and holder[0] != target_row:
                if position == 0:
                    raise Conflict("the entity's name belongs to another entity by now")
                continue
            await self._change(
                PUT_NAME,
                number,
                key,
                source_row,
                name,
                position,
            )

    async def _return_relations(self, merge: int, source_row: int) -> None:
        """Put the moved ends back, and reopen what only the merge had closed."""
        for relation, at_source, at_target, valid_until, closed_at, at in await self._rows(
            "select m.relation_row, m.at_source, m.at_target, m.valid_until, m.closed_at, g.at "
            "from merge_relations m join merges g on g.row = m.merge_row where m.merge_row = %s",
            merge,
        ):
            ends = await self._row(
                "select source_row, target_row, closed_at from relations where row = %s", relation
            )
            between = ends[0] == ends[1] and not (at_source and at_target)
            await self._change(
                "update relations set source_row = %s, target_row = %s where row = %s",
                source_row if at_source else ends[0],
                source_row if at_target else ends[1],
                relation,
            )
            if between and closed_at is None and ends[2] == at:
                await self._change(
                    "update relations set valid_until = %s, closed_at = null where row = %s",
                    valid_until,
                    relation,
                )
