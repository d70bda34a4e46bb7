"""Entities, relations and refusals, written."""

from typing import Any

from ricordo.adapters.postgres.graph_reading import GraphReading
from ricordo.adapters.postgres.session import storable
from ricordo.columns.codec import dumps
from ricordo.columns.graph_rows import names_of
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS
from ricordo.columns.origins import origin_values
from ricordo.columns.scopes import check_keys
from ricordo.columns.times import micros, micros_or_none
from ricordo.errors import Conflict, Invalid, NotFound
from ricordo.model import Entity, Refusal, Relation, Scope, clean_text

PUT_NAME = (
    "insert into names (scope_id, key, entity_row, name, position) values (%s, %s, %s, %s, %s) "
    "on conflict (scope_id, key) do update set entity_row = excluded.entity_row, "
    "name = excluded.name, position = excluded.position"
)


class GraphWriting(GraphReading):
    """Stores entities with their names, relations with their evidence, and refusals."""

    async def put_entity(self, entity: Entity) -> None:
        """See `ricordo.ports.Writing`."""
        wanted = names_of(entity)
        check_keys(entity.id, entity.name, *entity.aliases)
        number = await self._owned(entity.scope)
        known = await self._row(
            "select row, merged_into from entities where scope_id = %s and id = %s",
            number,
            entity.id,
        )
        if known is not None and known[1] is not None:
            raise Conflict(f"entity {entity.id} was merged into another; undo the merge first")
        row = None if known is None else known[0]
        await self._check_names(entity, number, row, list(wanted))
        values = (entity.name, entity.type, micros(entity.recorded_at))
        if row is None:
            row = await self._insert(
                "insert into entities (scope_id, id, name, type, recorded_at) "
                "values (%s, %s, %s, %s, %s) returning row",
                number,
                entity.id,
                *values,
            )
        else:
            await self._change(
                "update entities set name = %s, type = %s, recorded_at = %s where row = %s",
                *values,
                row,
            )
        await self._put_names(number, row, wanted)

    async def put_relation(self, relation: Relation) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(relation.id)
        number = await self._owned(relation.scope)
        if not relation.evidence:
            raise Invalid(f"relation {relation.id} has no evidence; name the memories behind it")
        evidence = await self._evidence(relation, number)
        values = (
            await self._standing(relation.source, number),
            await self._standing(relation.target, number),
            relation.type,
            micros(relation.recorded_at),
            micros_or_none(relation.valid_from),
            micros_or_none(relation.valid_until),
            micros_or_none(relation.closed_at),
            relation.confidence,
        )
        known = await self._row(
            "select row from relations where scope_id = %s and id = %s", number, relation.id
        )
        if known is None:
            row = await self._insert(
                "insert into relations (scope_id, id, source_row, target_row, type, recorded_at, "
                "valid_from, valid_until, closed_at, confidence) "
                "values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) returning row",
                number,
                relation.id,
                *values,
            )
        else:
            row = known[0]
            await self._change(
                "update relations set source_row = %s, target_row = %s, type = %s, "
                "recorded_at = %s, valid_from = %s, valid_until = %s, closed_at = %s, "
                "confidence = %s where row = %s",
                *values,
                row,
            )
        await self._put_support(relation, number, row, evidence)

    async def refuse(self, refusal: Refusal) -> None:
        """See `ricordo.ports.Writing`."""
        origin = refusal.origin
        await self._change(
            "insert into refusals (id, scope_id, at, rule, reason, claim, text, origin, origin_at, "
            "agent, thread_id, run_id) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) "
            "on conflict (scope_id, id) do nothing",
            refusal.id,
            await self._owned(refusal.scope),
            micros(refusal.at),
            None if refusal.rule is None else refusal.rule.value,
            clean_text(refusal.reason),
            None if refusal.claim is None else dumps(refusal.claim),
            None if refusal.text is None else clean_text(refusal.text),
            None if origin is None else dumps(origin),
            None if origin is None else micros(origin.at),
            None if origin is None else origin.agent,
            None if origin is None else origin.thread_id,
            None if origin is None else origin.run_id,
        )

    async def _check_names(
        self, entity: Entity, number: int, row: int | None, keys: list[str]
    ) -> None:
        taken = await self._row(
            "select e.id from names n join entities e on e.row = n.entity_row "
            "where n.scope_id = %s and n.key = any(%s) "
            "and n.entity_row is distinct from %s limit 1",
            number,
            storable(keys),
            row,
        )
        if taken is not None:
            raise Conflict(
                f"a name of entity {entity.id} belongs to entity {taken[0]}; merge the two instead"
            )

    async def _put_names(self, number: int, row: int, wanted: dict[str, tuple[str, int]]) -> None:
        known = {
            key: (name, position)
            for key, name, position in await self._rows(
                "select key, name, position from names where entity_row = %s", row
            )
        }
        for key in known.keys() - wanted.keys():
            await self._change("delete from names where scope_id = %s and key = %s", number, key)
        for key, (name, position) in wanted.items():
            if known.get(key) != (name, position):
                await self._change(
                    PUT_NAME,
                    number,
                    key,
                    row,
                    name,
                    position,
                )

    async def _standing(self, entity_id: str, number: int) -> int:
        """The row of an entity, or of the one that stands for it since they were merged."""
        found = await self._row(
            "select row, merged_into from entities where scope_id = %s and id = %s",
            number,
            entity_id,
        )
        if found is None:
            raise NotFound(f"no entity {entity_id} in this scope")
        row, merged_into = found
        while merged_into is not None:
            row, merged_into = await self._row(
                "select row, merged_into from entities where row = %s", merged_into
            )
        return row

    async def _evidence(self, relation: Relation, number: int) -> list[tuple[int, str]]:
        found = await self._rows(
            "select row, id from memories where scope_id = %s and id = any(%s) order by row",
            number,
            storable(relation.evidence),
        )
        missing = set(relation.evidence) - {memory_id for _, memory_id in found}
        if missing:
            raise NotFound(f"no memory {min(missing)} in this scope to support {relation.id}")
        return found

    async def _put_support(
        self, relation: Relation, number: int, row: int, evidence: list[tuple[int, str]]
    ) -> None:
        wanted: list[tuple[Any, ...]] = sorted(evidence)
        known = await self._rows(
            "select memory_row, memory_id from evidence "
            "where relation_row = %s order by memory_row",
            row,
        )
        if known != wanted:
            await self._change("delete from evidence where relation_row = %s", row)
            await self._each(
                "insert into evidence (relation_row, memory_row, scope_id, memory_id) "
                "values (%s, %s, %s, %s)",
                [(row, memory_row, number, memory_id) for memory_row, memory_id in wanted],
            )
            await self._change(
                "update relations set supported_by = %s where row = %s",
                [memory_id for _, memory_id in wanted],
                row,
            )
        origins = [origin_values(origin) for origin in relation.origins]
        stored = await self._rows(
            f"select {ORIGIN_COLUMNS} from relation_origins where relation_row = %s "
            "order by position",
            row,
        )
        if stored != origins:
            await self._change("delete from relation_origins where relation_row = %s", row)
            await self._each(
                f"insert into relation_origins (scope_id, relation_row, position, {ORIGIN_COLUMNS})"
                " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
                [(number, row, position, *origin) for position, origin in enumerate(origins)],
            )

    async def _entity_row(self, entity_id: str, scope: Scope) -> tuple[int, int | None]:
        found = await self._row(
            "select row, merged_into from entities where scope_id = %s and id = %s",
            self._number(scope),
            entity_id,
        )
        if found is None:
            raise NotFound(f"no entity {entity_id[:80]!a} in this scope")
        return found
