"""The local graph walk: breadth-first over any ledger, one indexed query per hop and scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.adapters.local.atlas import Atlas, Edge
from ricordo.adapters.local.meeting import meet
from ricordo.model import Path, Scope, Step
from ricordo.ports import Ledger, Reading, Walk

PATHS = 5
"""At most this many shortest paths between two entities."""

_FAN = 1_000


class LocalGraph:
    """Implements `ricordo.ports.GraphIndex` on a ledger's rows; a walk is one reading.

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
            atlas = Atlas(tx, scopes=scopes, at=at, fan=fan)
            return await _walk(atlas, await atlas.find(names), hops=hops, nodes=nodes)

        return await self._ledger.read(look, scopes=tuple(dict.fromkeys(scopes)))

    async def paths(
        self, start: str, end: str, *, scopes: Sequence[Scope], hops: int, at: datetime
    ) -> Walk:
        """See `ricordo.ports.GraphIndex`: at most five, `capped` when there may be more."""
        if hops < 1 or not scopes:
            return Walk()

        async def look(tx: Reading) -> Walk:
            atlas = Atlas(tx, scopes=scopes, at=at, fan=_FAN)
            starts = await atlas.find([start])
            ends = await atlas.find([end]) if starts else []
            found = await meet(atlas, starts, ends, hops=hops, limit=PATHS + 1)
            capped = atlas.capped or len(found) > PATHS
            return Walk(paths=tuple(found[:PATHS]), capped=capped)

        return await self._ledger.read(look, scopes=tuple(dict.fromkeys(scopes)))


@dataclass(frozen=True, slots=True)
class _Trail:
    """A way to a node: its relation ids, which it is ordered by, and its steps."""

    ids: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()


async def _walk(atlas: Atlas, starts: Sequence[int], *, hops: int, nodes: int) -> Walk:
    trails = dict.fromkeys(starts, _Trail())
    frontier: Sequence[int] = starts
    reached: list[_Trail] = []
    for _ in range(hops):
        if not frontier:
            break
        found = await _next(atlas, trails, frontier)
        frontier = sorted(found, key=lambda node: found[node].ids)
        room = nodes - len(reached)
        reached += [found[node] for node in frontier[:room]]
        if len(frontier) > room:
            atlas.capped = True
            break
        trails |= found
    return Walk(paths=tuple(Path(steps=t.steps) for t in reached), capped=atlas.capped)


async def _next(
    atlas: Atlas, trails: Mapping[int, _Trail], frontier: Sequence[int]
) -> dict[int, _Trail]:
    """The nodes one hop further, each with the first of its trails."""
    first: dict[int, tuple[tuple[str, ...], Edge]] = {}
    for edge in await atlas.hop(set(frontier)):
        if edge.far not in trails:
            ids = (*trails[edge.near].ids, edge.relation.id)
            known = first.get(edge.far)
            if known is None or ids < known[0]:
                first[edge.far] = (ids, edge)
    return {
        node: _Trail(ids, (*trails[edge.near].steps, edge.step))
        for node, (ids, edge) in first.items()
    }
