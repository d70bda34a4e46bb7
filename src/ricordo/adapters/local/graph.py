"""The local graph walk: breadth-first over any ledger, one indexed query per hop and scope."""

from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.local.atlas import Atlas, Edge, relation_id
from ricordo.adapters.local.meeting import meet
from ricordo.model import Path, Scope, Step
from ricordo.ports import Ledger, Reading, Walk, Walking

PATHS = 5
"""At most this many shortest paths between two entities."""

_FAN = 1_000

_ABREAST = 32
"""So many nodes are left at once: a walk that is full after some of a level reads no further."""


class LocalGraph:
    """Implements `ricordo.ports.RowGraph` on a ledger's rows; a walk is one reading.

    Entities of different scopes that share a name or an alias are one, so a walk may go from a
    user's graph into an organization's and back. Among paths of the same length the one whose
    relation ids come first, step by step, is taken.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def walk(
        self,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """See `ricordo.ports.GraphIndex`. The entities walked from are not among the reached."""
        if hops < 1 or nodes < 1 or not scopes or not names:
            return Walk()

        async def look(tx: Reading) -> Walk:
            return await self.walk_on(
                tx, names, scopes=scopes, hops=hops, at=at, nodes=nodes, fan=fan
            )

        return await self._ledger.read(look, scopes=tuple(dict.fromkeys(scopes)))

    async def walk_on(
        self,
        tx: Walking,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """See `ricordo.ports.RowGraph`."""
        if hops < 1 or nodes < 1 or not scopes or not names:
            return Walk()
        atlas = Atlas(tx, scopes=scopes, at=at)
        return await spreading(atlas, names, hops=hops, nodes=nodes, fan=fan)

    async def paths(
        self, start: str, end: str, *, scopes: Sequence[Scope], hops: int, at: datetime
    ) -> Walk:
        """See `ricordo.ports.GraphIndex`: at most five, `capped` when there may be more."""
        if hops < 1 or not scopes:
            return Walk()

        async def look(tx: Reading) -> Walk:
            return await meeting(Atlas(tx, scopes=scopes, at=at), start, end, hops=hops)

        return await self._ledger.read(look, scopes=tuple(dict.fromkeys(scopes)))


async def spreading(atlas: Atlas, names: Sequence[str], *, hops: int, nodes: int, fan: int) -> Walk:
    """A walk outwards from these names, wherever the atlas gets its graphs from."""
    starts = await atlas.find(names)
    edges = await _spread(atlas, starts, hops=hops, nodes=nodes, fan=fan)
    return Walk(paths=await _paths(atlas, edges), capped=atlas.capped)


async def meeting(atlas: Atlas, start: str, end: str, *, hops: int) -> Walk:
    """The first shortest paths between two names, wherever the atlas gets its graphs from."""
    starts = await atlas.find([start])
    ends = await atlas.find([end]) if starts else []
    found = await meet(atlas, starts, ends, hops=hops, fan=_FAN, limit=PATHS + 1)
    return Walk(paths=tuple(found[:PATHS]), capped=atlas.capped or len(found) > PATHS)


async def _spread(
    atlas: Atlas, starts: Sequence[int], *, hops: int, nodes: int, fan: int
) -> list[Edge]:
    """The edges by which nodes are reached, nearest first; at most so many.

    Among the trails to nodes of one level those come first whose last but one node does, then
    those with the smaller relation id. So the first edge to a node ends its first trail.
    """
    reached: list[Edge] = []
    seen = set(starts)
    frontier = starts
    for depth in range(hops):
        level = await _level(atlas, frontier, seen=seen, room=nodes - len(reached) + 1, fan=fan)
        if depth == 0:
            level.sort(key=relation_id)  # the starts have no order among them
        reached += level
        if not level or len(reached) > nodes:
            break
        frontier = [edge[1] for edge in level]
    atlas.capped |= len(reached) > nodes
    return reached[:nodes]


async def _level(
    atlas: Atlas, frontier: Sequence[int], *, seen: set[int], room: int, fan: int
) -> list[Edge]:
    """The first edge to each node that is one hop further; `seen` grows by those nodes."""
    first: list[Edge] = []
    for start in range(0, len(frontier), _ABREAST):
        some = frontier[start : start + _ABREAST]
        edges, looked_at = await atlas.hop(some, seen=seen, limit=fan)
        fan -= looked_at
        for edge in edges:
            if edge[1] not in seen:
                seen.add(edge[1])
                first.append(edge)
        if len(first) >= room:
            break
    return first[:room]


async def _paths(atlas: Atlas, edges: Sequence[Edge]) -> tuple[Path, ...]:
    """The trails to the ends of these edges; each edge follows another, or begins."""
    trails: dict[int, tuple[Step, ...]] = {}
    for (near, far, *_), step in zip(edges, await atlas.steps(edges), strict=True):
        trails[far] = (*trails.get(near, ()), step)
    return tuple(Path(steps=steps) for steps in trails.values())
