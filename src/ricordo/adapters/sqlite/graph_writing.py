"""Entities, relations and refusals, written."""

from typing import Any

from ricordo.adapters.sqlite.graph_reading import GraphReading
from ricordo.adapters.sqlite.session import as_list
from ricordo.columns.codec import dumps
from ricordo.columns.graph_rows import names_of
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS
from ricordo.columns.origins import origin_values
from ricordo.columns.scopes import check_keys
from ricordo.columns.times import micros, micros_or_none
from ricordo.errors import Conflict, Invalid, NotFound
from ricordo.model import Entity, Refusal, Relation, Scope


class GraphWriting(GraphReading):
    """Stores entities with their names, relations with their evidence, and refusals."""

    async def put_entity(self, entity: Entity) -> None:
        """See `ricordo.ports.Writing`."""
        wanted = names_of(entity)
        check_keys(entity.id, entity.name, *entity.aliases)
        number = self._owned(entity.scope)
        known = self._row(
            "select row, merged_into from entities where scope_id = ? and id = ?", number, entity.id
        )
        if known is not None and known[1] is not None:
            raise Conflict(f"entity {entity.id} was merged into another; undo the merge first")
        row = None if known is None else known[0]
        self._check_names(entity, number, row, list(wanted))
        values = (entity.name, entity.type, micros(entity.recorded_at))
        if row is None:
            row = self._insert(
                "insert into entities (scope_id, id, name, type, recorded_at) "
                "values (?, ?, ?, ?, ?)",
                number,
                entity.id,
                *values,
            )
        else:
            self._change(
                "update entities set name = ?, type = ?, recorded_at = ? where row = ?",
                *values,
                row,
            )
        self._put_names(number, row, wanted)

    async def put_relation(self, relation: Relation) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(relation.id)
        number = self._owned(relation.scope)
        if not relation.evidence:
            raise Invalid(f"relation {relation.id} has no evidence; name the memories behind it")
        evidence = self._evidence(relation, number)
        values = (
            self._standing(relation.source, number),
            self._standing(relation.target, number),
            relation.type,
            micros(relation.recorded_at),
            micros_or_none(relation.valid_from),
            micros_or_none(relation.valid_until),
            micros_or_none(relation.closed_at),
            relation.confidence,
        )
        known = self._row(
            "select row from relations where scope_id = ? and id = ?", number, relation.id
        )
        if known is None:
            row = self._insert(
                "insert into relations (scope_id, id, source_row, target_row, type, recorded_at, "
                "valid_from, valid_until, closed_at, confidence) "
                "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                number,
                relation.id,
                *values,
            )
        else:
            row = known[0]
            self._change(
                "update relations set source_row = ?, target_row = ?, type = ?, recorded_at = ?, "
                "valid_from = ?, valid_until = ?, closed_at = ?, confidence = ? where row = ?",
                *values,
                row,
            )
        self._put_support(relation, number, row, evidence)

    async def refuse(self, refusal: Refusal) -> None:
        """See `ricordo.ports.Writing`."""
        origin = refusal.origin
        self._change(
            "insert into refusals (id, scope_id, at, rule, reason, claim, text, origin, origin_at, "
            "agent, thread_id, run_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
            "on conflict (scope_id, id) do nothing",
            refusal.id,
            self._owned(refusal.scope),
            micros(refusal.at),
            None if refusal.rule is None else refusal.rule.value,
            refusal.reason,
            None if refusal.claim is None else dumps(refusal.claim),
            refusal.text,
            None if origin is None else dumps(origin),
            None if origin is None else micros(origin.at),
            None if origin is None else origin.agent,
            None if origin is None else origin.thread_id,
            None if origin is None else origin.run_id,
        )

    def _check_names(self, entity: Entity, number: int, row: int | None, keys: list[str]) -> None:
        taken = self._row(
            "select e.id from json_each(?) f cross join names n "
            "on n.scope_id = ? and n.key = f.value join entities e on e.row = n.entity_row "
            "where n.entity_row is not ? limit 1",
            as_list(keys),
            number,
            row,
        )
        if taken is not None:
            raise Conflict(
                f"a name of entity {entity.id} belongs to entity {taken[0]}; merge the two instead"
            )

    def _put_names(self, number: int, row: int, wanted: dict[str, tuple[str, int]]) -> None:
        known = {
            key: (name, position)
            for key, name, position in self._rows(
                "select key, name, position from names where entity_row = ?", row
            )
        }
        for key in known.keys() - wanted.keys():
            self._change("delete from names where scope_id = ? and key = ?", number, key)
        for key, (name, position) in wanted.items():
            if known.get(key) != (name, position):
                self._change(
                    "insert or replace into names (scope_id, key, entity_row, name, position) "
                    "values (?, ?, ?, ?, ?)",
                    number,
                    key,
                    row,
                    name,
                    position,
                )

    def _standing(self, entity_id: str, number: int) -> int:
        """The row of an entity, or of the one that stands for it since they were merged."""
        found = self._row(
            "select row, merged_into from entities where scope_id = ? and id = ?",
            number,
            entity_id,
        )
        if found is None:
            raise NotFound(f"no entity {entity_id} in this scope")
        row, merged_into = found
        while merged_into is not None:
            row, merged_into = self._row(
                "select row, merged_into from entities where row = ?", merged_into
            )
        return row

    def _evidence(self, relation: Relation, number: int) -> list[tuple[int, str]]:
        found = self._rows(
            "select distinct m.row, m.id from json_each(?) f "
            "cross join memories m on m.scope_id = ? and m.id = f.value",
            as_list(relation.evidence),
            number,
        )
        missing = set(relation.evidence) - {memory_id for _, memory_id in found}
        if missing:
            raise NotFound(f"no memory {min(missing)} in this scope to support {relation.id}")
        return found

    def _put_support(
        self, relation: Relation, number: int, row: int, evidence: list[tuple[int, str]]
    ) -> None:
        wanted: list[tuple[Any, ...]] = sorted(evidence)
        known = self._rows(
            "select memory_row, memory_id from evidence where relation_row = ? order by memory_row",
            row,
        )
        if known != wanted:
            self._change("delete from evidence where relation_row = ?", row)
            self._connection.executemany(
                "insert into evidence (relation_row, memory_row, scope_id, memory_id) "
                "values (?, ?, ?, ?)",
                [(row, memory_row, number, memory_id) for memory_row, memory_id in wanted],
            )
            supported_by = "\0".join(memory_id for _, memory_id in wanted)
            self._change("update relations set supported_by = ? where row = ?", supported_by, row)
        origins = [origin_values(origin) for origin in relation.origins]
        stored = self._rows(
            f"select {ORIGIN_COLUMNS} from relation_origins where relation_row = ? "
            "order by position",
            row,
        )
        if stored != origins:
            self._change("delete from relation_origins where relation_row = ?", row)
            self._connection.executemany(
                f"insert into relation_origins (scope_id, relation_row, position, {ORIGIN_COLUMNS})"
                " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(number, row, position, *origin) for position, origin in enumerate(origins)],
            )

    def _entity_row(self, entity_id: str, scope: Scope) -> tuple[int, int | None]:
        found = self._row(
            "select row, merged_into from entities where scope_id = ? and id = ?",
            self._number(scope),
            entity_id,
        )
        if found is None:
            raise NotFound(f"no entity {entity_id[:80]!a} in this scope")
        return found
