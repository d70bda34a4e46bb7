"""Entities, relations and refusals, read."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ricordo.adapters.postgres.session import Session, storable
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

_ENTITY = (
    "select e.row, e.id, e.name, e.type, e.recorded_at, "
    "(select i.id from entities i where i.row = e.merged_into), "
    "array(select n.name from names n where n.entity_row = e.row and n.position > 0 "
    "order by n.position)"
)
_RELATION = f"{RELATION}, r.supported_by"
_FRONTIER = "select row from entities where scope_id = %(scope)s and id = any(%(frontier)s)"
_HOP = (
    "select r.row from f join relations r on r.{end} = f.row and r.scope_id = %(scope)s and {holds}"
)
_CURRENT = "r.closed_at is null"
_AT = (
    "(r.valid_from is null or r.valid_from <= %(at)s) "
    "and (r.valid_until is null or r.valid_until > %(at)s)"
)


def _hop(holds: str) -> str:
    out = _HOP.format(end="source_row", holds=holds)
    into = _HOP.format(end="target_row", holds=holds)
    return (
        f"with f as materialized ({_FRONTIER}) {_RELATION} from ({out} union {into}) h "
        f"join relations r on r.row = h.row {ENDS} order by r.id limit %(limit)s"
    )


_CURRENT_HOP = _hop(_CURRENT)
_HOP_AT = _hop(_AT)


class GraphReading(Session):
    """Reads the graph of a scope, level by level."""

    async def entities(self, keys: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            f"{_ENTITY}, k.key from names k join entities e on e.row = k.entity_row "
            "where k.scope_id = %s and k.key = any(%s)",
            self._number(scope),
            storable(keys),
        )
        return {row[-1]: _entity(row[:-1], scope) for row in found}

    async def entities_by_id(self, ids: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            f"{_ENTITY} from entities e where e.scope_id = %s and e.id = any(%s)",
            self._number(scope),
            storable(ids),
        )
        return {row[1]: _entity(row, scope) for row in found}

    async def edges(
        self, entities: Sequence[str], *, scope: Scope, at: datetime | None, limit: int
    ) -> list[Relation]:
        """See `ricordo.ports.Reading`."""
        values = {"frontier": storable(entities), "scope": self._number(scope), "limit": limit}
        sql = _CURRENT_HOP
        if at is not None:
            sql, values["at"] = _HOP_AT, micros(at)
        return [relation_of(row, scope) for row in await self._rows_named(sql, values)]

    async def relations_of(self, memory_ids: Sequence[str], *, scope: Scope) -> list[Relation]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            f"{_RELATION} from (select distinct v.relation_row as row from memories m "
            "join evidence v on v.memory_row = m.row where m.scope_id = %s and m.id = any(%s)) h "
            f"join relations r on r.row = h.row {ENDS} order by r.id",
            self._number(scope),
            storable(memory_ids),
        )
        origins = await self._relation_origins([row[0] for row in found])
        return [relation_of(row, scope, tuple(origins[row[0]])) for row in found]

    async def merges(self, *, scope: Scope) -> list[Merge]:
        """See `ricordo.ports.Reading`."""
        number = self._number(scope)
        found = await self._rows(MERGES.format(mark="%s"), number)
        names = await self._rows(MERGED_NAMES.format(mark="%s"), number)
        relations = await self._rows(MERGED_RELATIONS.format(mark="%s"), number)
        return merges_from(found, names=names, relations=relations, scope=scope)

    async def refusals(self, *, scope: Scope, limit: int) -> list[Refusal]:
        """See `ricordo.ports.Reading`."""
        found = await self._rows(
            "select id, at, rule, reason, claim, text, origin from refusals "
            "where scope_id = %s order by at desc, id desc limit %s",
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

    async def _relation_origins(self, relation_rows: Sequence[int]) -> dict[int, list[Origin]]:
        origins: dict[int, list[Origin]] = defaultdict(list)
        if not relation_rows:
            return origins
        for row, *values in await self._rows(
            f"select relation_row, {ORIGIN_COLUMNS} from relation_origins "
            "where relation_row = any(%s) order by relation_row, position",
            relation_rows,
        ):
            origins[row].append(origin_from(tuple(values)))
        return origins


def _entity(row: tuple[Any, ...], scope: Scope) -> Entity:
    return entity_from(row[:-1], scope=scope, aliases=row[-1])


def relation_of(row: tuple[Any, ...], scope: Scope, origins: tuple[Origin, ...] = ()) -> Relation:
    """A relation from `RELATION` and its `supported_by`."""
    return relation_from(row[:-1], scope=scope, evidence=row[-1], origins=origins)
