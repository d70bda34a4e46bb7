"""What a recall reads of the ledger: two readings, however much there is to find."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ricordo.memory import ranking
from ricordo.memory.run import Run
from ricordo.memory.services import Services
from ricordo.memory.small_talk import small_talk
from ricordo.model import SELF, Hit, Hits, Kind, Memory, Path, Scope
from ricordo.ports import Act, Fact, PartitionState, Reading, RowGraph, Walk

T = TypeVar("T")

Wanted = dict[tuple[Scope, str], None]
"""Memories by scope and id, each once, in order."""

SEEDS = 3
"""Best hits whose entities a walk starts from, besides those that the question names."""


class Early(Generic[T]):
    """What a reading tells before it ends, so that what it reads after that may be late alone."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._told: asyncio.Future[T] = self._loop.create_future()

    def tell(self, value: T) -> None:
        """Tell it, from any thread; of a reading that is run again the first time counts."""
        self._loop.call_soon_threadsafe(self._set, value)

    async def of(self, reading: "asyncio.Task[Any]") -> T:
        """Wait for it. Raises what the reading failed with before it told anything."""
        some: list[asyncio.Future[Any]] = [self._told, reading]
        await asyncio.wait(some, return_when=asyncio.FIRST_COMPLETED)
        if not self._told.done():
            reading.result()
        return await self._told

    def _set(self, value: T) -> None:
        if not self._told.done():
            self._told.set_result(value)


@dataclass(frozen=True, slots=True)
class _Fetch:
    """The second reading, and what it tells on its way."""

    reading: "asyncio.Task[list[Memory]]"
    found: "Early[tuple[list[Memory], tuple[str, ...]]]"
    walk: "Early[Walk]"


class Readings:
    """The readings of one recall; whatever of them nobody waits for any more ends with it.

    The first one reads what there is, and walks from what the question names; the second one reads
    what was found, and walks on from what that relates. Where walks are not found on the ledger's
    rows, each is made by itself.

    Args:
        named: entities that the question names.
    """

    def __init__(
        self,
        services: Services,
        run: Run,
        *,
        question: str,
        scopes: Sequence[Scope],
        named: Sequence[str],
        at: datetime,
    ) -> None:
        self._services = services
        self._run = run
        self._question = question
        self._scopes = tuple(scopes)
        self._named = tuple(named) if run.hops else ()
        self._at = at
        self._nodes = max(50, run.limit * 3)
        graph = services.graph
        self._rows = graph if isinstance(graph, RowGraph) else None
        self._states: Early[list[PartitionState]] = Early()
        self._first = asyncio.create_task(self._looked())
        self._fetch: _Fetch | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task in (self._first, *([self._fetch.reading] if self._fetch else ())):
            task.add_done_callback(_seen)
            task.cancel()

    async def states(self) -> list[PartitionState]:
        """What there is in the scopes."""
        return await self._run.within("ledger", self._states.of(self._first), otherwise=[])

    async def near(self) -> Walk:
        """The walk from what the question names."""
        if not self._named:
            return Walk()
        walking = self._first if self._rows is not None else self._walked(self._named)
        with self._run.stage(Act.WALK) as doing:
            walk = await self._run.within("graph", walking, otherwise=Walk())
            doing.tell(Fact.HOPS, self._run.hops)
            doing.tell(Fact.FOUND, len(walk.paths))
        return walk

    async def fetched(self, hits: Hits, near: Walk) -> tuple[list[Memory], tuple[str, ...]]:
        """The memories that were found, and entities that the best of them relate, besides those
        that the question names."""
        wanted = wanted_of(hits, near.paths)
        if not wanted:
            return [], ()
        found: Early[tuple[list[Memory], tuple[str, ...]]] = Early()
        walk: Early[Walk] = Early()
        top = self._top(hits)
        reading = asyncio.create_task(self._fetched(wanted, top, found, walk))
        self._fetch = _Fetch(reading, found, walk)
        return await self._run.within("ledger", found.of(reading), otherwise=([], ()), last=True)

    async def far(self, seeds: Sequence[str]) -> Walk:
        """The walk on from these entities, which `fetched` gave."""
        fetch = self._fetch
        if not seeds or not self._run.hops or fetch is None:
            return Walk()
        walking = self._walked(seeds) if self._rows is None else fetch.walk.of(fetch.reading)
        with self._run.stage(Act.WALK) as doing:
            walk = await self._run.within("graph", walking, otherwise=Walk())
            doing.tell(Fact.HOPS, self._run.hops)
            doing.tell(Fact.FOUND, len(walk.paths))
        return walk

    async def told_by(self, more: Wanted) -> list[Memory]:
        """The memories that tell of what `far` reached and were not found already."""
        fetch = None if self._rows is None else self._fetch
        reading = self.these(more) if fetch is None else fetch.reading
        return await self._run.within("ledger", reading, otherwise=[], last=True)

    async def these(self, wanted: Wanted) -> list[Memory]:
        """These memories, in a reading of their own."""

        async def look(tx: Reading) -> list[Memory]:
            return await _memories(tx, wanted)

        scopes = tuple(dict.fromkeys(scope for scope, _ in wanted))
        return await self._services.ledger.read(look, scopes=scopes) if scopes else []

    async def _looked(self) -> Walk:
        async def look(tx: Reading) -> Walk:
            states = [s for scope in self._scopes for s in await tx.partitions(scope=scope)]
            self._states.tell(states)
            if self._rows is None or not self._named:
                return Walk()
            return await self._walked_on(tx, self._named)

        return await self._services.ledger.read(look, scopes=self._scopes)

    async def _fetched(
        self,
        wanted: Wanted,
        top: Sequence[Hit],
        found: "Early[tuple[list[Memory], tuple[str, ...]]]",
        walk: "Early[Walk]",
    ) -> list[Memory]:
        async def look(tx: Reading) -> list[Memory]:
            memories = await _memories(tx, wanted)
            seeds = self._seeds(await _names(tx, top))
            found.tell((memories, seeds))
            if self._rows is None or not seeds:
                return []
            far = await self._walked_on(tx, seeds)
            walk.tell(far)
            return await _memories(tx, beyond(far.paths, wanted))

        return await self._services.ledger.read(look, scopes=self._scopes)

    def _top(self, hits: Hits) -> list[Hit]:
        if not self._run.hops:
            return []
        return ranking.best([h for h in hits.hits if h.partition.kind is Kind.FACT])[:SEEDS]

    def _seeds(self, names: Sequence[str]) -> tuple[str, ...]:
        if not names or small_talk(self._question):
            return ()
        skip = {*self._named, SELF}
        return tuple(name for name in dict.fromkeys(names) if name not in skip)

    async def _walked_on(self, tx: Reading, names: Sequence[str]) -> Walk:
        if self._rows is None:
            return Walk()
        return await self._rows.walk_on(
            tx, names, scopes=self._scopes, hops=self._run.hops, at=self._at, nodes=self._nodes
        )

    async def _walked(self, names: Sequence[str]) -> Walk:
        return await self._services.graph.walk(
            names, scopes=self._scopes, hops=self._run.hops, at=self._at, nodes=self._nodes
        )


def wanted_of(hits: Hits, walked: Sequence[Path]) -> Wanted:
    """The memories that were found, and those that tell of a step that was walked, each once."""
    wanted: Wanted = {(hit.partition.scope, hit.memory_id): None for hit in hits.hits}
    for step in dict.fromkeys(step for path in walked for step in path.steps):
        wanted.update(dict.fromkeys((step.scope, one) for one in step.evidence))
    return wanted


def beyond(walked: Sequence[Path], known: Mapping[tuple[Scope, str], None]) -> Wanted:
    """The memories that tell of a step that was walked, without those that are known already."""
    return {key: None for key in wanted_of(Hits(), walked) if key not in known}


async def _memories(tx: Reading, wanted: Wanted) -> list[Memory]:
    by_scope: dict[Scope, list[str]] = {}
    for scope, memory_id in wanted:
        by_scope.setdefault(scope, []).append(memory_id)
    memories: list[Memory] = []
    for scope, ids in by_scope.items():
        memories += await tx.memories(ids, scope=scope)
    return memories


async def _names(tx: Reading, top: Sequence[Hit]) -> list[str]:
    """Names of the entities that these hits relate, in their order."""
    by_scope: dict[Scope, list[str]] = {}
    for hit in top:
        by_scope.setdefault(hit.partition.scope, []).append(hit.memory_id)
    related = {scope: await tx.relations_of(ids, scope=scope) for scope, ids in by_scope.items()}
    names: list[str] = []
    for hit in top:
        for relation in related[hit.partition.scope]:
            if hit.memory_id in relation.evidence:
                names += [relation.source_name, relation.target_name]
    return names


def _seen(task: "asyncio.Task[Any]") -> None:
    # When the recall ended without it, nobody is left to read how it ended.
    if not task.cancelled():
        task.exception()
