"""Several scopes' graphs as one: entities that share a name are one node, for one reading."""

from collections.abc import Collection, Iterable, Iterator, Sequence
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

Place = tuple[int, str]
"""An entity: the place of its scope among the asked ones, and its id."""

SELF_KEY = name_key(SELF)


@dataclass(frozen=True, slots=True)
class Edge:
    """One relation between two nodes, in the direction in which it is walked."""

    near: int
    far: int
    relation: Relation
    forward: bool

    @property
    def step(self) -> Step:
        """The edge as part of a path."""
        relation = self.relation
        return Step(
            relation_id=relation.id,
            scope=relation.scope,
            source=relation.source_name,
            type=relation.type,
            target=relation.target_name,
            forward=self.forward,
            evidence=relation.evidence,
        )

    @property
    def reversed(self) -> "Edge":
        """The same relation, walked the other way."""
        return Edge(self.far, self.near, self.relation, not self.forward)


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
        self._nodes: list[dict[str, int]] = [{} for _ in self._scopes]
        self._places: list[list[Place]] = []
        self._named: list[dict[str, Entity | None]] = [{} for _ in self._scopes]

    async def find(self, names: Iterable[str]) -> list[int]:
        """The nodes that have one of these names, in order, each once.

        The user's own name is looked up in organizations only when no user's graph is asked.
        """
        keys = [key for key in dict.fromkeys(map(name_key, names)) if key]
        with_user = any(isinstance(scope, UserScope) for scope in self._scopes)
        found: list[tuple[int, Entity]] = []
        for number, scope in enumerate(self._scopes):
            hidden = with_user and isinstance(scope, OrganizationScope)
            asked = [key for key in keys if not (hidden and key == SELF_KEY)]
            await self._look_up(asked, number)
            found += ((number, entity) for entity in self._known(asked, number))
        await self._admit(found)
        return list(dict.fromkeys(self._nodes[number][entity.id] for number, entity in found))

    async def hop(self, frontier: Collection[int]) -> list[Edge]:
        """Every relation that leaves these nodes in either direction, by relation id."""
        relations = await self._relations(frontier)
        await self._arrive(relations)
        edges: list[Edge] = []
        for number, relation in relations:
            nodes = self._nodes[number]
            source, target = nodes[relation.source], nodes[relation.target]
            if source == target:
                continue
            if source in frontier:
                edges.append(Edge(source, target, relation, forward=True))
            if target in frontier:
                edges.append(Edge(target, source, relation, forward=False))
        return edges

    async def _relations(self, frontier: Collection[int]) -> list[tuple[int, Relation]]:
        places = [place for node in frontier for place in self._places[node]]
        found: list[tuple[int, Relation]] = []
        for number, scope in enumerate(self._scopes):
            here = [entity for place, entity in places if place == number]
            if here:
                edges = await self._tx.edges(here, scope=scope, at=self._at, limit=self._fan + 1)
                found += ((number, relation) for relation in edges)
        found.sort(key=lambda pair: pair[1].id)
        if len(found) > self._fan:
            self.capped = True
        return [pair for pair in found[: self._fan] if _holds(pair[1], self._at)]

    async def _arrive(self, relations: Sequence[tuple[int, Relation]]) -> None:
        """Number the ends of these relations, and what they are one with in the other scopes."""
        unknown: list[dict[str, None]] = [{} for _ in self._scopes]
        for number, relation in relations:
            for end in (relation.source, relation.target):
                if end not in self._nodes[number]:
                    unknown[number][end] = None
        if len(self._scopes) == 1:
            for end in unknown[0]:
                self._number((0, end))
            return
        found: list[tuple[int, Entity]] = []
        for number, ids in enumerate(unknown):
            if ids:
                scope = self._scopes[number]
                known = await self._tx.entities_by_id(list(ids), scope=scope)
                found += ((number, known[each]) for each in ids)
        await self._admit(found)

    async def _admit(self, entities: Sequence[tuple[int, Entity]]) -> None:
        """Number these entities together with those of the same name in the other scopes."""
        fresh = [(n, entity) for n, entity in entities if self._number((n, entity.id))]
        while fresh:
            for number in range(len(self._scopes)):
                keys = (key for n, e in fresh if n != number for key in self._keys(e, n, number))
                await self._look_up(keys, number)
            joined: list[tuple[int, Entity]] = []
            for number, entity in fresh:
                for other, twin in self._twins(entity, number):
                    if self._number((other, twin.id)):
                        joined.append((other, twin))
                    self._join((number, entity.id), (other, twin.id))
            fresh = joined

    async def _look_up(self, keys: Iterable[str], number: int) -> None:
        named = self._named[number]
        unknown = [key for key in dict.fromkeys(keys) if key not in named]
        if unknown:
            found = await self._tx.entities(unknown, scope=self._scopes[number])
            named.update((key, found.get(key)) for key in unknown)

    def _known(self, keys: Iterable[str], number: int) -> Iterator[Entity]:
        """The entities that have these names, which were looked up before."""
        for key in keys:
            entity = self._named[number][key]
            if entity is not None:
                yield entity

    def _twins(self, entity: Entity, number: int) -> Iterator[tuple[int, Entity]]:
        for other in range(len(self._scopes)):
            if other != number:
                keys = self._keys(entity, number, other)
                yield from ((other, twin) for twin in self._known(keys, other))

    def _keys(self, entity: Entity, number: int, other: int) -> list[str]:
        """The names by which an entity of one scope is one with an entity of another."""
        keys = [entity.key, *map(name_key, entity.aliases)]
        both = (self._scopes[number], self._scopes[other])
        if all(isinstance(scope, OrganizationScope) for scope in both):
            return keys
        return [key for key in keys if key != SELF_KEY]

    def _number(self, place: Place) -> bool:
        """Give the place a node of its own; False when it has one."""
        nodes = self._nodes[place[0]]
        if place[1] in nodes:
            return False
        nodes[place[1]] = len(self._places)
        self._places.append([place])
        return True

    def _join(self, one: Place, other: Place) -> None:
        stays, goes = sorted(self._nodes[number][entity] for number, entity in (one, other))
        if stays == goes:
            return
        for number, entity in self._places[goes]:
            self._nodes[number][entity] = stays
        self._places[stays] += self._places[goes]
        self._places[goes] = []


def _holds(relation: Relation, at: datetime) -> bool:
    """Whether a relation holds at an instant; one that was closed without an end ended then."""
    begun = relation.valid_from is None or relation.valid_from <= at
    end = relation.valid_until or relation.closed_at
    return begun and (end is None or at < end)
