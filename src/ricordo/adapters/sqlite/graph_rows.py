"""Entities and relations as rows, and back."""

import json
from typing import Any

from ricordo.adapters.sqlite.times import moment, moment_or_none
from ricordo.model import Entity, Origin, Relation, Scope

ENTITY = (
    "select e.row, e.id, e.name, e.type, e.recorded_at, "
    "(select i.id from entities i where i.row = e.merged_into), "
    "(select json_group_array(n.name) from "
    "(select name from names where entity_row = e.row and position > 0 order by position) n)"
)
"""Selects what `entity_from` reads, of `entities e`."""

RELATION = (
    "select r.row, r.id, s.id, t.id, s.name, t.name, r.type, r.recorded_at, "
    "r.supported_by, r.valid_from, r.valid_until, r.closed_at, r.confidence"
)
"""Selects what `relation_from` reads, of `relations r` and its ends `s`, `t`; ids hold no NUL."""

ENDS = "join entities s on s.row = r.source_row join entities t on t.row = r.target_row"


def entity_from(values: tuple[Any, ...], *, scope: Scope) -> Entity:
    """An entity from what `ENTITY` selects."""
    _, id_, name, type_, recorded_at, merged_into, aliases = values
    return Entity(
        id=id_,
        scope=scope,
        name=name,
        type=type_,
        recorded_at=moment(recorded_at),
        aliases=tuple(json.loads(aliases)),
        merged_into=merged_into,
    )


def relation_from(
    values: tuple[Any, ...], *, scope: Scope, origins: tuple[Origin, ...] = ()
) -> Relation:
    """A relation from what `RELATION` selects."""
    (_, id_, source, target, source_name, target_name, type_, recorded_at) = values[:8]
    evidence, valid_from, valid_until, closed_at, confidence = values[8:]
    return Relation(
        id=id_,
        scope=scope,
        source=source,
        target=target,
        source_name=source_name,
        target_name=target_name,
        type=type_,
        recorded_at=moment(recorded_at),
        evidence=tuple(evidence.split("\0")),
        valid_from=moment_or_none(valid_from),
        valid_until=moment_or_none(valid_until),
        closed_at=moment_or_none(closed_at),
        confidence=confidence,
        origins=origins,
    )
