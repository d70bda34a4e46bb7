"""Several scopes' graphs as one: entities that share a name are one node, for one reading."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from ricordo.adapters.local.joining import Joined
from ricordo.model import SELF, OrganizationScope, Scope, Step, UserScope, name_key
from ricordo.ports import Link, Walking

T = TypeVar("T")

SELF_KEY = name_key(SELF)


Edge = tuple[int, int, int, Link]
"""One relation between two nodes, in the direction in which it is walked.

The near node, the far one, the place of its scope among the walked ones, and the link.
"""


def relation_id(edge: Edge) -> str:
    """The id by which edges are ordered."""
    return edge[3][1]


def turned(edge: Edge) -> Edge:
    """The same relation, walked the other way."""
    near_node, far_node, scope, (place, id_, near, far, number, forward) = edge
    return far_node, near_node, scope, (place, id_, far, near, number, 1 - forward)


class Atlas:
    """The graphs of some scopes, as they are walked.

    The entity that stands for the user is the user's own: it never becomes one with an
    organization's entity of that name.

    Args:
        tx: the reading that everything comes from.
        at: the instant at which relations must hold.
    """

    def __init__(self, tx: Walking, *, scopes: Sequence[Scope], at: datetime) -> None:
        self.capped = False
        self._tx = tx
        self._scopes = tuple(dict.fromkeys(scopes))
        self._at = at
        self._joined = Joined(len(self._scopes))
        self._met: set[int] = set()

    async def find(self, names: Iterable[str]) -> list[int]:
        """The nodes that have one of these names, in order, each once.

        The user's own name is looked up in organizations only when no user's graph is asked.
        """
        keys = [key for key in dict.fromkeys(map(name_key, names)) if key]
        with_user = any(isinstance(scope, UserScope) for scope in self._scopes)
        found: list[int] = []
        for place, scope in enumerate(self._scopes):
            hidden = with_user and isinstance(scope, OrganizationScope)
            asked = [key for key in keys if not (hidden and key == SELF_KEY)]
            known = await self._tx.nodes(asked, scope=scope)
            found += (self._joined.mark(place, known[key]) for key in asked if key in known)
        await self._meet(found)
        return list(dict.fromkeys(map(self._joined.node, found)))

    async def hop(
        self, frontier: Sequence[int], *, seen: Collection[int], limit: int
    ) -> tuple[list[Edge], int]:
        """Relations from these nodes to such as are not `seen`, and how many were looked at.

        Ordered by place in the frontier, then by relation id. No more than `limit` are looked at;
        `capped` tells whether some were left out.
        """
        if len(self._scopes) == 1:
            links = self._cut(await self._links(frontier, place=0, limit=limit), limit)
            edges = [(link[2], link[3], 0, link) for link in links if link[3] not in seen]
            return edges, len(links)
        met: list[tuple[int, str, int, Link]] = []
        for place in range(len(self._scopes)):
            met += await self._met_in(frontier, place=place, limit=limit)
        met.sort()
        met = self._cut(met, limit)
        mark, node = self._joined.mark, self._joined.node
        ends = [mark(place, link[3]) for _, _, place, link in met]
        await self._meet(ends)
        edges = [
            (frontier[position], node(end), place, link)
            for end, (position, _, place, link) in zip(ends, met, strict=True)
        ]
        return [edge for edge in edges if edge[1] not in seen], len(met)

    async def steps(self, edges: Sequence[Edge]) -> list[Step]:
        """These edges as parts of paths."""
        told: list[dict[int, tuple[str, str, str, tuple[str, ...]]]] = []
        for place, scope in enumerate(self._scopes):
            relations = sorted(edge[3][4] for edge in edges if edge[2] == place)
            told.append(await self._tx.described(relations, scope=scope) if relations else {})
        steps: list[Step] = []
        for _, _, place, (_, id_, _, _, number, forward) in edges:
            source, type_, target, evidence = told[place][number]
            scope = self._scopes[place]
            steps.append(Step(id_, scope, source, type_, target, forward == 1, evidence))
        return steps

    async def _links(self, nodes: Sequence[int], *, place: int, limit: int) -> list[Link]:
        scope = self._scopes[place]
        return await self._tx.links(nodes, scope=scope, at=self._at, limit=limit + 1)

    async def _met_in(
        self, frontier: Sequence[int], *, place: int, limit: int
    ) -> list[tuple[int, str, int, Link]]:
        """What leaves the frontier in one scope: place in the frontier, relation id, the link."""
        positions: list[int] = []
        entities: list[int] = []
        for position, node in enumerate(frontier):
            for entity in self._joined.entities(node, place=place):
                positions.append(position)
                entities.append(entity)
        if not entities:
            return []
        links = await self._links(entities, place=place, limit=limit)
        return [(positions[link[0]], link[1], place, link) for link in links]

    def _cut(self, found: list[T], limit: int) -> list[T]:
        if len(found) <= limit:
            return found
        self.capped = True
        return found[:limit]

    async def _meet(self, marks: Iterable[int]) -> None:
        """Join these entities with those of the same name in the other scopes."""
        fresh = set(marks) - self._met
        while fresh and len(self._scopes) > 1:
            self._met |= fresh
            joined: set[int] = set()
            for place, here in enumerate(self._joined.by_place(fresh)):
                if here:
                    joined |= await self._twins(sorted(here), place=place)
            fresh = joined - self._met

    async def _twins(self, entities: Sequence[int], *, place: int) -> set[int]:
        joined: set[int] = set()
        for other, scope in enumerate(self._scopes):
            if other == place:
                continue
            own = self._scopes[place]
            public = isinstance(own, OrganizationScope) and isinstance(scope, OrganizationScope)
            pairs = await self._tx.twins(
                entities, scope=own, other=scope, apart=() if public else (SELF_KEY,)
            )
            for entity, twin in pairs:
                mark = self._joined.mark(other, twin)
                self._joined.join(self._joined.mark(place, entity), mark)
                joined.add(mark)
        return joined
