"""Entities, relations and refusals, read."""

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ricordo.adapters.sqlite.session import Session, as_list
from ricordo.columns.codec import loads
from ricordo.columns.graph_rows import (
    ENDS,
    MERGED_NAMES,
    MERGED_RELATIONS,
    MERGES,
    RELATION,
    entity_from,
    merges_from,
    relation_from,
)
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS
from ricordo.columns.origins import origin_from
from ricordo.columns.times import micros, moment
from ricordo.model import Entity, Merge, Origin, Refusal, Relation, RelationClaim, Rule, Scope

_HOP = (
    "select r.row from json_each(:frontier) f "
    "cross join entities e on e.scope_id = :scope and e.id = f.value "
    "cross join relations r on r.{end} = e.row and r.scope_id = :scope and {holds}"
)
_ENTITY = (
    "select e.row, e.id, e.name, e.type, e.recorded_at, "
    "(select i.id from entities i where i.row = e.merged_into), "
    "(select json_group_array(n.name) from "
    "(select name from names where entity_row = e.row and position > 0 order by position) n)"
)
_RELATION = f"{RELATION}, r.supported_by"  # ids hold no NUL
_CURRENT = "r.closed_at is null"
_AT = (
    "(r.valid_from is null or r.valid_from <= :at) "
    "and (r.valid_until is null or r.valid_until > :at)"
)


def _hop(holds: str) -> str:
    out = _HOP.format(end="source_row", holds=holds)
    into = _HOP.format(end="target_row", holds=holds)
    return (
        f"{_RELATION} from ({out} union {into}) h cross join relations r on r.row = h.row "
        f"{ENDS} order by r.id limit :limit"
    )


_CURRENT_HOP = _hop(_CURRENT)
_HOP_AT = _hop(_AT)


class GraphReading(Session):
    """Reads the graph of a scope, level by level."""

    async def entities(self, keys: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"{_ENTITY}, n.key from json_each(?) f cross join names n "
            "on n.scope_id = ? and n.key = f.value join entities e on e.row = n.entity_row",
            as_list(keys),
            self._number(scope),
        )
        return {row[-1]: _entity(row[:-1], scope) for row in found}

    async def entities_by_id(self, ids: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            f"{_ENTITY} from json_each(?) f cross join entities e "
            "on e.scope_id = ? and e.id = f.value",
            as_list(ids),
            self._number(scope),
        )
        return {row[1]: _entity(row, scope) for row in found}

    async def edges(
        self, entities: Sequence[str], *, scope: Scope, at: datetime | None, limit: int
    ) -> list[Relation]:
        """See `ricordo.ports.Reading`."""
        values = {"frontier": as_list(entities), "scope": self._number(scope), "limit": limit}
        sql = _CURRENT_HOP
        if at is not None:
            sql, values["at"] = _HOP_AT, micros(at)
        found = self._connection.execute(sql, values).fetchall()
        return [relation_of(row, scope) for row in found]

    async def relations_of(self, memory_ids: Sequence[str], *, scope: Scope) -> list[Relation]:
        """See `ricordo.ports.Reading`."""
        number = self._number(scope)
        found = self._rows(
            f"{_RELATION} from (select v.relation_row as row from json_each(?) f "
            "cross join memories m on m.scope_id = ? and m.id = f.value "
            "cross join evidence v on v.memory_row = m.row group by v.relation_row) h "
            f"cross join relations r on r.row = h.row {ENDS} order by r.id",
            as_list(memory_ids),
            number,
        )
        origins = self._relation_origins([row[0] for row in found])
        return [relation_of(row, scope, tuple(origins[row[0]])) for row in found]

    async def merges(self, *, scope: Scope) -> list[Merge]:
        """See `ricordo.ports.Reading`."""
        number = self._number(scope)
        found, names, relations = (
            self._rows(sql.format(mark="?"), number)
            for sql in (MERGES, MERGED_NAMES, MERGED_RELATIONS)
        )
        return merges_from(found, names=names, relations=relations, scope=scope)

    async def refusals(self, *, scope: Scope, limit: int) -> list[Refusal]:
        """See `ricordo.ports.Reading`."""
        found = self._rows(
            "select id, at, rule, reason, claim, text, origin from refusals "
            "where scope_id = ? order by at desc, id desc limit ?",
            self._number(scope),
            limit,
        )
        return [
            Refusal(
                id=id_,
                scope=scope,
                at=moment(at),
                reason=reason,
                rule=None if rule is None else Rule(rule),
                claim=None if claim is None else loads(RelationClaim, claim),
                text=text,
                origin=None if origin is None else loads(Origin, origin),
            )
            for id_, at, rule, reason, claim, text, origin in found
        ]

    def _relation_origins(self, relation_rows: Sequence[int]) -> dict[int, list[Origin]]:
        origins: dict[int, list[Origin]] = defaultdict(list)
        if not relation_rows:
            return origins
        for row, *values in self._rows(
            f"select relation_row, {ORIGIN_COLUMNS} from json_each(?) f "
            "cross join relation_origins o on o.relation_row = f.value "
            "order by relation_row, position",
            as_list(relation_rows),
        ):
            origins[row].append(origin_from(tuple(values)))
        return origins


def _entity(row: tuple[Any, ...], scope: Scope) -> Entity:
    return entity_from(row[:-1], scope=scope, aliases=json.loads(row[-1]))


def relation_of(row: tuple[Any, ...], scope: Scope, origins: tuple[Origin, ...] = ()) -> Relation:
    """A relation from `RELATION` and its `supported_by`."""
    return relation_from(row[:-1], scope=scope, evidence=row[-1].split("\0"), origins=origins)
