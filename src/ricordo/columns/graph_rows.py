"""Entities and relations as rows, and back."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from ricordo.columns.times import moment, moment_or_none
from ricordo.errors import Invalid
from ricordo.model import Entity, Merge, Origin, Relation, Scope, name_key

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


def merges_from(
    found: Iterable[tuple[Any, ...]],
    *,
    names: Iterable[tuple[int, str]],
    relations: Iterable[tuple[int, str, int, int]],
    scope: Scope,
) -> list[Merge]:
    """Merges from their rows; names and relations with their ends tell what each moved."""
    brought: dict[int, list[str]] = defaultdict(list)
    for merge, name in names:
        brought[merge].append(name)
    outgoing: dict[int, list[str]] = defaultdict(list)
    incoming: dict[int, list[str]] = defaultdict(list)
    for merge, relation, at_source, at_target in relations:
        if at_source:
            outgoing[merge].append(relation)
        if at_target:
            incoming[merge].append(relation)
    return [
        Merge(
            id=id_,
            scope=scope,
            source=source,
            target=target,
            at=moment(at),
            names=tuple(brought[row]),
            outgoing=tuple(outgoing[row]),
            incoming=tuple(incoming[row]),
        )
        for row, id_, source, target, at in found
    ]


MERGES = (
    "select g.row, g.id, s.id, t.id, g.at from merges g join entities s on s.row = g.source_row "
    "join entities t on t.row = g.target_row where g.scope_id = {mark} order by g.row"
)
MERGED_NAMES = (
    "select merge_row, name from merge_names where scope_id = {mark} "
    "order by merge_row, position, key"
)
MERGED_RELATIONS = (
    "select m.merge_row, r.id, m.at_source, m.at_target from merge_relations m "
    "join relations r on r.row = m.relation_row where m.scope_id = {mark} "
    "order by m.merge_row, r.row"
)
"""Select what `merges_from` reads of a scope; `mark` is the engine's mark of a parameter."""


def names_of(entity: Entity) -> dict[str, tuple[str, int]]:
    """Each key under which an entity is found, with the name as written and its place."""
    wanted = {entity.key: (entity.name, 0)}
    for position, alias in enumerate(entity.aliases, 1):
        wanted.setdefault(name_key(alias), (alias, position))
    if "" in wanted:
        raise Invalid(f"entity {entity.id} has a blank name")
    return wanted
