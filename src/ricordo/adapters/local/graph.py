"""The local graph walk: breadth-first over any ledger, one indexed query per hop and scope."""

from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.local.atlas import Atlas
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


async def _walk(atlas: Atlas, starts: Sequence[int], *, hops: int, nodes: int) -> Walk:
    trails: dict[int, tuple[Step, ...]] = dict.fromkeys(starts, ())
    frontier: Sequence[int] = starts
    reached: list[tuple[Step, ...]] = []
    for _ in range(hops):
        if not frontier:
            break
        found = await _next(atlas, trails, frontier)
        frontier = sorted(found, key=lambda node: _ids(found[node]))
        if len(reached) + len(frontier) > nodes:
            atlas.capped = True
            reached += [found[node] for node in frontier[: nodes - len(reached)]]
            break
        trails |= found
        reached += [found[node] for node in frontier]
    return Walk(paths=tuple(Path(steps=steps) for steps in reached), capped=atlas.capped)


async def _next(
    atlas: Atlas, trails: dict[int, tuple[Step, ...]], frontier: Sequence[int]
) -> dict[int, tuple[Step, ...]]:
    """The nodes one hop further, each with the first of its trails."""
    found: dict[int, tuple[Step, ...]] = {}
    for edge in await atlas.hop(set(frontier)):
        if edge.far in trails:
            continue
        trail = (*trails[edge.near], edge.step)
        known = found.get(edge.far)
        if known is None or _ids(trail) < _ids(known):
            found[edge.far] = trail
    return found


def _ids(trail: Sequence[Step]) -> tuple[str, ...]:
    return tuple(step.relation_id for step in trail)
