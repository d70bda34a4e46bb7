"""The shortest paths between two entities: two searches that meet in the middle."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ricordo.adapters.local.atlas import Atlas, Edge, relation_id, turned
from ricordo.model import Path


class _Side:
    """One of the two searches: how far each node is, and by which edges it was reached."""

    def __init__(self, starts: Sequence[int]) -> None:
        self.distance = dict.fromkeys(starts, 0)
        self.reached_by: dict[int, list[Edge]] = {}
        self.frontier = list(starts)
        self.depth = 0

    async def advance(self, atlas: Atlas, *, fan: int) -> None:
        """Go one hop further, keeping every edge by which a new node is reached."""
        self.depth += 1
        edges, _ = await atlas.hop(self.frontier, seen=self.distance, limit=fan)
        for edge in edges:
            self.reached_by.setdefault(edge[1], []).append(edge)
        self.frontier = list(dict.fromkeys(edge[1] for edge in edges))
        self.distance |= dict.fromkeys(self.frontier, self.depth)


async def meet(
    atlas: Atlas, starts: Sequence[int], ends: Sequence[int], *, hops: int, fan: int, limit: int
) -> list[Path]:
    """The first `limit` shortest paths in order of their relation ids; none from a node to itself.

    Each time the search with fewer open nodes goes on, so a hub is seldom opened from within.
    """
    if set(starts) & set(ends):
        return []
    ahead, back = _Side(starts), _Side(ends)
    while ahead.depth + back.depth < hops and ahead.frontier and back.frontier:
        side = ahead if len(ahead.frontier) <= len(back.frontier) else back
        await side.advance(atlas, fan=fan)
        common = ahead.distance.keys() & back.distance.keys()
        if common:
            trails = _between(ahead, back, common, limit=limit)
            return await _paths(atlas, trails)
    return []


def _between(ahead: _Side, back: _Side, common: set[int], *, limit: int) -> list[tuple[Edge, ...]]:
    length = min(ahead.distance[node] + back.distance[node] for node in common)
    middle = [n for n in common if ahead.distance[n] + back.distance[n] == length]
    onward: dict[int, list[Edge]] = {}
    for edge in (*_edges_to(middle, ahead), *map(turned, _edges_to(middle, back))):
        onward.setdefault(edge[0], []).append(edge)
    for edges in onward.values():
        edges.sort(key=relation_id)
    starts = (node for node, distance in ahead.distance.items() if not distance)
    found = [trail for start in starts for trail in islice(_trails(onward, start, length), limit)]
    found.sort(key=lambda trail: list(map(relation_id, trail)))
    return found[:limit]


async def _paths(atlas: Atlas, trails: Sequence[Sequence[Edge]]) -> list[Path]:
    edges = list(dict.fromkeys(edge for trail in trails for edge in trail))
    step_of = dict(zip(edges, await atlas.steps(edges), strict=True))
    return [Path(steps=tuple(step_of[edge] for edge in trail)) for trail in trails]


def _edges_to(nodes: Sequence[int], side: _Side) -> Iterator[Edge]:
    """Every edge on a way from the side's start to these nodes, each once."""
    level = set(nodes)
    seen = set(level)
    while level:
        edges = [edge for node in sorted(level) for edge in side.reached_by.get(node, ())]
        yield from edges
        level = {edge[0] for edge in edges} - seen
        seen |= level


def _trails(
    onward: Mapping[int, Sequence[Edge]], node: int, length: int
) -> Iterator[tuple[Edge, ...]]:
    """Every way of that length, in order of relation ids; no way ends early."""
    if not length:
        yield ()
        return
    for edge in onward.get(node, ()):
        for rest in _trails(onward, edge[1], length - 1):
            yield (edge, *rest)
