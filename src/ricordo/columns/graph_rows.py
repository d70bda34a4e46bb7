"""Entities and relations as rows, and back."""

from collections.abc import Sequence
from typing import Any

from ricordo.columns.times import moment, moment_or_none
from ricordo.errors import Invalid
from ricordo.model import Entity, Origin, Relation, Scope, name_key

RELATION = (
    "select r.row, r.id, s.id, t.id, s.name, t.name, r.type, r.recorded_at, "
    "r.valid_from, r.valid_until, r.closed_at, r.confidence"
)
"""Selects what `relation_from` reads, of `relations r` and its ends `s`, `t`."""

ENDS = "join entities s on s.row = r.source_row join entities t on t.row = r.target_row"


def entity_from(values: tuple[Any, ...], *, scope: Scope, aliases: Sequence[str]) -> Entity:
    """An entity from its row, id, name, type, time and the id of what it was merged into."""
    _, id_, name, type_, recorded_at, merged_into = values
    return Entity(
        id=id_,
        scope=scope,
        name=name,
        type=type_,
        recorded_at=moment(recorded_at),
        aliases=tuple(aliases),
        merged_into=merged_into,
    )


def relation_from(
    values: tuple[Any, ...],
    *,
    scope: Scope,
    evidence: Sequence[str],
    origins: tuple[Origin, ...] = (),
) -> Relation:
    """A relation from what `RELATION` selects, and the ids of the memories behind it."""
    (_, id_, source, target, source_name, target_name, type_, recorded_at) = values[:8]
    valid_from, valid_until, closed_at, confidence = values[8:]
    return Relation(
        id=id_,
        scope=scope,
        source=source,
        target=target,
        source_name=source_name,
        target_name=target_name,
        type=type_,
        recorded_at=moment(recorded_at),
        evidence=tuple(evidence),
        valid_from=moment_or_none(valid_from),
        valid_until=moment_or_none(valid_until),
        closed_at=moment_or_none(closed_at),
        confidence=confidence,
        origins=origins,
    )


def names_of(entity: Entity) -> dict[str, tuple[str, int]]:
    """Each key under which an entity is found, with the name as written and its place."""
    wanted = {entity.key: (entity.name, 0)}
    for position, alias in enumerate(entity.aliases, 1):
        wanted.setdefault(name_key(alias), (alias, position))
    if "" in wanted:
        raise Invalid(f"entity {entity.id} has a blank name")
    return wanted
