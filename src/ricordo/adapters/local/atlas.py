"""Several scopes' graphs as one: entities that share a name are one node, for one reading."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.model import (
    SELF,
    Entity,
    OrganizationScope,
    Relation,
    Scope,
    Step,
    UserScope,
    name_key,
)
from ricordo.ports import Reading

Place = tuple[Scope, str]
"""An entity's scope and id."""

SELF_KEY = name_key(SELF)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """One relation between two nodes, in the direction in which it is walked."""

    near: int
    far: int
    step: Step


class Atlas:
    """Numbers the nodes of the graphs of some scopes, as they are walked.

    The entity that stands for the user is the user's own: it never becomes one with an
    organization's entity of that name.

    Args:
        tx: the reading that everything comes from.
        at: the instant at which relations must hold.
        fan: at most this many relations per hop; `capped` tells whether some were left out.
    """

    def __init__(self, tx: Reading, *, scopes: Sequence[Scope], at: datetime, fan: int) -> None:
        self.capped = False
        self._tx = tx
        self._scopes = tuple(dict.fromkeys(scopes))
        self._at = at
        self._fan = fan
        self._nodes: dict[Place, int] = {}
        self._places: list[list[Place]] = []
        self._named: dict[Scope, dict[str, Entity | None]] = {s: {} for s in self._scopes}

    async def find(self, names: Iterable[str]) -> list[int]:
        """The nodes that have one of these names, in order, each once.

        The user's own name is looked up in organizations only when no user's graph is asked.
        """
        keys = [key for key in dict.fromkeys(map(name_key, names)) if key]
        with_user = any(isinstance(scope, UserScope) for scope in self._scopes)
        entities: list[Entity] = []
        for scope in self._scopes:
            hidden = with_user and isinstance(scope, OrganizationScope)
            asked = [key for key in keys if not (hidden and key == SELF_KEY)]
            await self._look_up(asked, scope)
            entities += filter(None, map(self._named[scope].get, asked))
        await self._admit(entities)
        return list(dict.fromkeys(self._nodes[entity.scope, entity.id] for entity in entities))

    async def hop(self, frontier: Collection[int]) -> list[Edge]:
        """Every relation that leaves these nodes in either direction, by relation id."""
        relations = await self._relations(frontier)
        await self._arrive(relations)
        edges: list[Edge] = []
        for relation in relations:
            source = self._nodes[relation.scope, relation.source]
            target = self._nodes[relation.scope, relation.target]
            if source == target:
                continue
            if source in frontier:
                edges.append(Edge(near=source, far=target, step=_step(relation, forward=True)))
            if target in frontier:
                edges.append(Edge(near=target, far=source, step=_step(relation, forward=False)))
        return edges

    async def _relations(self, frontier: Collection[int]) -> list[Relation]:
        found: list[Relation] = []
        for scope in self._scopes:
            here = [i for node in frontier for s, i in self._places[node] if s == scope]
            if here:
                found += await self._tx.edges(here, scope=scope, at=self._at, limit=self._fan + 1)
        found.sort(key=lambda relation: relation.id)
        if len(found) > self._fan:
            self.capped = True
        return [relation for relation in found[: self._fan] if _holds(relation, self._at)]

    async def _arrive(self, relations: Sequence[Relation]) -> None:
        """Number the ends of these relations, and what they are one with in the other scopes."""
        unknown: dict[Scope, dict[str, None]] = {scope: {} for scope in self._scopes}
        for relation in relations:
            for end in (relation.source, relation.target):
                if (relation.scope, end) not in self._nodes:
                    unknown[relation.scope][end] = None
        if len(self._scopes) == 1:
            for end in unknown[self._scopes[0]]:
                self._number((self._scopes[0], end))
            return
        entities: list[Entity] = []
        for scope, ids in unknown.items():
            if ids:
                known = await self._tx.entities_by_id(list(ids), scope=scope)
                entities += (known[each] for each in ids)
        await self._admit(entities)

    async def _admit(self, entities: Sequence[Entity]) -> None:
        """Number these entities together with those of the same name in the other scopes."""
        fresh = [each for each in entities if self._number((each.scope, each.id))]
        while fresh:
            await self._look_up_all(fresh)
            joined: list[Entity] = []
            for entity in fresh:
                for twin in self._twins(entity):
                    if self._number((twin.scope, twin.id)):
                        joined.append(twin)
                    self._join((entity.scope, entity.id), (twin.scope, twin.id))
            fresh = joined

    async def _look_up_all(self, entities: Sequence[Entity]) -> None:
        for scope in self._scopes:
            keys = (
                key
                for entity in entities
                if entity.scope != scope
                for key in _keys(entity)
                if _joins(key, entity.scope, scope)
            )
            await self._look_up(keys, scope)

    async def _look_up(self, keys: Iterable[str], scope: Scope) -> None:
        named = self._named[scope]
        unknown = [key for key in dict.fromkeys(keys) if key not in named]
        if unknown:
            found = await self._tx.entities(unknown, scope=scope)
            named.update((key, found.get(key)) for key in unknown)

    def _twins(self, entity: Entity) -> list[Entity]:
        found = (
            self._named[scope].get(key)
            for scope in self._scopes
            if scope != entity.scope
            for key in _keys(entity)
            if _joins(key, entity.scope, scope)
        )
        return [twin for twin in found if twin is not None]

    def _number(self, place: Place) -> bool:
        """Give the place a node of its own; False when it has one."""
        if place in self._nodes:
            return False
        self._nodes[place] = len(self._places)
        self._places.append([place])
        return True

    def _join(self, one: Place, other: Place) -> None:
        stays, goes = sorted((self._nodes[one], self._nodes[other]))
        if stays == goes:
            return
        for place in self._places[goes]:
            self._nodes[place] = stays
        self._places[stays] += self._places[goes]
        self._places[goes] = []


def _keys(entity: Entity) -> tuple[str, ...]:
    return tuple(dict.fromkeys((entity.key, *map(name_key, entity.aliases))))


def _joins(key: str, one: Scope, other: Scope) -> bool:
    """Whether sharing this name makes entities of two scopes one."""
    public = isinstance(one, OrganizationScope) and isinstance(other, OrganizationScope)
    return public or key != SELF_KEY


def _holds(relation: Relation, at: datetime) -> bool:
    """Whether a relation holds at an instant; one that was closed without an end ended then."""
    begun = relation.valid_from is None or relation.valid_from <= at
    end = relation.valid_until or relation.closed_at
    return begun and (end is None or at < end)


def _step(relation: Relation, *, forward: bool) -> Step:
    return Step(
        relation_id=relation.id,
        scope=relation.scope,
        source=relation.source_name,
        type=relation.type,
        target=relation.target_name,
        forward=forward,
        evidence=relation.evidence,
    )
