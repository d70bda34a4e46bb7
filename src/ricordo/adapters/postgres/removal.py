"""Removing memories with everything that was derived from them, set by set."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.session import Session
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS


class Removing(Session):
    """Removes memories, relations and entities, and counts what it removed by place."""

    async def _remove_memories(
        self, rows: Sequence[int], *, number: int, survivors: Sequence[int]
    ) -> dict[str, int]:
        """Remove these rows of `memories`; their index rows are gone already.

        Args:
            survivors: rows that stand for some of them; their relations lose the origins of what
                goes.
        """
        removed: dict[str, int] = defaultdict(int)
        refusals = await self._refusals_like(rows, number)
        affected = await self._column(
            "select distinct relation_row from evidence where memory_row = any(%s)", rows
        )
        for end in ("memory_row", "other_row"):
            removed["pass_steps"] += await self._delete("pass_steps", end, rows)
        removed["evidence"] += await self._delete("evidence", "memory_row", rows)
        unsupported = await self._column(
            "select f.number from unnest(%s::bigint[]) f (number) "
            "where not exists (select 1 from evidence v where v.relation_row = f.number)",
            affected,
        )
        kept = sorted(set(affected) - set(unsupported))
        await self._change(
            "update relations r set supported_by = array(select v.memory_id from evidence v "
            "where v.relation_row = r.row order by v.memory_row) where r.row = any(%s)",
            kept,
        )
        inherited = await self._column(
            "select distinct relation_row from evidence where memory_row = any(%s)", survivors
        )
        dropped = await self._drop_origins(rows, sorted({*kept, *inherited}))
        removed["relation_origins"] += dropped
        for place, count in (await self._remove_relations(unsupported)).items():
            removed[place] += count
        removed["refusals"] += await self._delete("refusals", "row", refusals)
        removed["origins"] += await self._delete("origins", "memory_row", rows)
        removed["revisions"] += await self._delete("revisions", "memory_row", rows)
        removed["queue"] += await self._change(
            "delete from queue where scope_id = %s and sort = 'relate' "
            "and memory_id in (select id from memories where row = any(%s))",
            number,
            rows,
        )
        removed["memories"] += await self._delete("memories", "row", rows)
        return dict(removed)

    async def _remove_relations(self, rows: Sequence[int]) -> dict[str, int]:
        """Remove relations, and the entities that lose their last one with them."""
        removed: dict[str, int] = {}
        ends = await self._column(
            "select source_row from relations where row = any(%s) "
            "union select target_row from relations where row = any(%s)",
            rows,
            rows,
        )
        removed["pass_steps"] = await self._delete("pass_steps", "relation_row", rows)
        removed["pass_steps"] += await self._delete("pass_steps", "rival_row", rows)
        for table in ("merge_relations", "relation_origins", "evidence"):
            removed[table] = await self._delete(table, "relation_row", rows)
        removed["relations"] = await self._delete("relations", "row", rows)
        return removed | await self._remove_lonely(ends)

    async def _remove_lonely(self, ends: Sequence[int]) -> dict[str, int]:
        """Remove those entities that have no relation, and what was merged into them."""
        lonely = await self._column(
            "select f.number from unnest(%s::bigint[]) f (number) "
            "where not exists (select 1 from relations r where r.source_row = f.number) "
            "and not exists (select 1 from relations r where r.target_row = f.number)",
            ends,
        )
        # What stands for merged entities takes them along, however long the chain of merges is.
        with_merged = await self._column(
            "with recursive gone (number) as (select unnest(%s::bigint[]) union "
            "select e.row from gone join entities e on e.merged_into = gone.number) "
            "select number from gone order by number",
            lonely,
        )
        merges = await self._column(
            "select row from merges where source_row = any(%s) union "
            "select row from merges where target_row = any(%s)",
            with_merged,
            with_merged,
        )
        proposals = 0
        for end in ("source_row", "target_row"):
            proposals += await self._delete("merge_proposals", end, with_merged)
        removed = {
            "merge_proposals": proposals,
            "merge_names": await self._delete("merge_names", "merge_row", merges),
            "merge_relations": await self._delete("merge_relations", "merge_row", merges),
            "merges": await self._delete("merges", "row", merges),
            "names": await self._delete("names", "entity_row", with_merged),
        }
        await self._change(
            "update entities set merged_into = null where row = any(%s)", with_merged
        )
        removed["entities"] = await self._delete("entities", "row", with_merged)
        return removed

    async def _refusals_like(self, rows: Sequence[int], number: int) -> list[int]:
        """Refusals of the same turn, or the same statement, as one of these memories."""
        return await self._column(
            "select distinct r.row from origins o join refusals r on r.scope_id = %s "
            "and r.thread_id is not distinct from o.thread_id "
            "and r.run_id is not distinct from o.run_id and (r.run_id is not null "
            "or (r.origin_at = o.at and r.agent is not distinct from o.agent)) "
            "where o.memory_row = any(%s)",
            number,
            rows,
        )

    async def _drop_origins(self, rows: Sequence[int], kept: Sequence[int]) -> int:
        """From relations that stay, drop the origins that only the removed memories had."""
        if not kept:
            return 0
        columns = ", ".join(f"o.{name}" for name in ORIGIN_COLUMNS.split(", "))
        going = await self._origins_by(
            f"select null, {columns} from origins o where o.memory_row = any(%s)", rows
        )
        staying = await self._origins_by(
            f"select v.relation_row, {columns} from evidence v "
            "join origins o on o.memory_row = v.memory_row where v.relation_row = any(%s)",
            kept,
        )
        lost: list[int] = []
        for row, relation, *origin in await self._rows(
            f"select o.row, o.relation_row, {columns} from relation_origins o "
            "where o.relation_row = any(%s)",
            kept,
        ):
            if tuple(origin) in going[None] and tuple(origin) not in staying[relation]:
                lost.append(row)
        return await self._delete("relation_origins", "row", lost)

    async def _origins_by(
        self, sql: str, rows: Sequence[int]
    ) -> dict[int | None, set[tuple[Any, ...]]]:
        found: dict[int | None, set[tuple[Any, ...]]] = defaultdict(set)
        for key, *origin in await self._rows(sql, rows):
            found[key].add(tuple(origin))
        return found

    async def _column(self, sql: str, *values: Any) -> list[int]:
        return [row[0] for row in await self._rows(sql, *values)]

    async def _delete(self, table: str, column: str, rows: Sequence[int]) -> int:
        if not rows:
            return 0
        return await self._change(f"delete from {table} where {column} = any(%s)", rows)
