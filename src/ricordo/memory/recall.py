"""Recall: one question, every arm at once, under one deadline."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo import access
from ricordo.errors import Unavailable
from ricordo.memory import ranking
from ricordo.memory.asking import clamped, entity_names, names_the_asker, telling
from ricordo.memory.dates import dates_in
from ricordo.memory.nearly import nearly, why_not
from ricordo.memory.readings import Readings, Wanted, beyond, wanted_of
from ricordo.memory.room import Room
from ricordo.memory.run import Ask, Run
from ricordo.memory.services import Services
from ricordo.model import (
    SELF,
    Cut,
    Hits,
    Memory,
    Missed,
    Partition,
    Path,
    Recollection,
    Scope,
    Sought,
    UserScope,
)
from ricordo.ports import Act, Count, Fact, PartitionState

WAITING = 0.6
"""Part of its time that a recall waits for its turn; with less it would not be in time any more."""


class Recaller:
    """Finds what helps with a question among exactly what the asker may see."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._room = Room(services.bounds.at_once)

    async def recall(self, ask: Ask) -> Recollection:
        """Find, fuse and fit; same memory and question, same answer.

        Raises:
            Denied: a namespace that is not granted.
            SpaceMismatch: memories were indexed with another model; reindex them.
        """
        measures = self._services.measures
        with measures.act(Act.RECALL) as doing:
            found = await self._recalled(ask)
            for arm in found.degraded:
                measures.add(Count.DEGRADED, by=arm)
            doing.tell(Fact.DEGRADED, found.degraded)
            doing.tell(Fact.VISIBLE, found.visible)
            doing.tell(Fact.FOUND, len(found.items))
            doing.tell(Fact.LEFT_OUT, found.left_out)
        return found

    async def _recalled(self, ask: Ask) -> Recollection:
        started = time.perf_counter()
        question = clamped(ask.question)
        scopes = self._scopes(ask)
        if not question or not scopes:
            return Recollection(took_ms=_since(started))
        run = Run(ask, self._services.bounds, self._services.measures, started=started)
        waits = self._room.full
        # Where all would be late together, those that were first are in time, and who waited in
        # vain has cost nothing.
        if not await run.within("ledger", self._room.enter(), otherwise=False, share=WAITING):
            return self._finish(run, [], (), {}, Hits(), [])
        try:
            if waits:
                run.passed("waiting")
            return await self._worked_on(run, question, scopes)
        finally:
            self._room.leave(late=run.degraded.get("ledger") == "late")

    async def _worked_on(self, run: Run, question: str, scopes: Sequence[Scope]) -> Recollection:
        ask = run.ask
        at = ask.as_of or self._services.clock()
        named = self._named(question, scopes)
        readings = Readings(
            self._services, run, question=question, scopes=scopes, named=named, at=at
        )
        # It takes longest by far: all that needs no vector is done beside it.
        vector = asyncio.create_task(self._vector(run, question))
        async with readings:
            try:
                sight = self._sight(await readings.states(), ask)
                run.passed("partitions")
                hits, near = await asyncio.gather(
                    self._found(run, question, vector, sight, at), readings.near()
                )
            finally:
                vector.add_done_callback(_seen)
                vector.cancel()
            run.passed("arms")
            wanted = wanted_of(hits, near.paths)
            (memories, seeds), alike = await asyncio.gather(
                readings.fetched(hits, near), self._alike(run, wanted, sight)
            )
            run.passed("fetch")
            far = await readings.far(seeds)
            if more := beyond(far.paths, wanted):
                added, alike = await asyncio.gather(
                    readings.told_by(more), self._alike(run, wanted | more, sight)
                )
                memories = [*memories, *added]
        walked = tuple(path for path in (*near.paths, *far.paths) if not _through_self(path))
        run.passed("walk_on")
        past = ask.as_of is not None
        usable = {
            m.id: m for m in memories if self._sees(m, ask) and why_not(m, at=at, past=past) is None
        }
        walked = tuple(path for path in walked if _supported(path, usable))
        recalled = ranking.rank(question, hits, walked, usable)
        run.passed("rank")
        withheld = await self._withheld(run, readings, sight) if ask.nearly else []
        return self._finish(run, recalled, walked, alike, hits, withheld)

    def _finish(
        self,
        run: Run,
        recalled: Sequence[ranking.Recalled],
        walked: Sequence[Path],
        alike: Mapping[tuple[str, str], float],
        hits: Hits,
        withheld: Sequence[tuple[ranking.Recalled, Cut]],
    ) -> Recollection:
        ask = run.ask
        head = recalled[: run.limit * 2 + 10]
        distinct = _distinct(head, alike, limit=run.limit)
        items, left_out = ranking.fit(distinct, tokens=run.tokens)
        given = {item.memory.id for item in items}
        kept = tuple(path for path in walked if given.issuperset(path.steps[-1].evidence[:1]))
        missed: tuple[Missed, ...] = ()
        if ask.nearly:
            missed = nearly(
                recalled,
                given=items,
                distinct=distinct,
                alike=alike,
                withheld=withheld,
                most=ask.nearly,
            )
        if ask.noted:
            self._services.journal.note(
                [item.memory for item in items],
                agent=ask.agent,
                at=self._services.clock(),
                origin=ask.origin,
            )
        if not ask.explain:
            items = tuple(replace(item, signals={}, path=None) for item in items)
        run.passed("choose")
        return Recollection(
            items=items,
            paths=kept,
            degraded=tuple(sorted(run.degraded)),
            visible=hits.visible,
            took_ms=_since(run.started),
            left_out=left_out,
            nearly=missed,
            stages=run.stages,
            faults=dict(sorted(run.degraded.items())),
        )

    async def _withheld(
        self, run: Run, readings: Readings, sight: "_Sight"
    ) -> list[tuple[ranking.Recalled, Cut]]:
        """What would have been found at another time, as if it were valid; none when it is late.

        What is not visible is not among it: it lies in other partitions.
        """
        ask, sought = run.ask, run.sought
        at = ask.as_of or self._services.clock()
        if sought is None:
            return []

        async def look() -> tuple[Hits, list[Memory]]:
            hits = await self._services.index.search(
                sought,
                partitions=sight.partitions,
                limit=max(50, run.limit * 3),
                at=None,
                states=sight.states,
            )
            return hits, await readings.these(wanted_of(hits, ()))

        try:
            async with asyncio.timeout(run.left):
                hits, memories = await look()
        except (TimeoutError, Unavailable):
            return []
        cuts = {m.id: why_not(m, at=at, past=ask.as_of is not None) for m in memories}
        others = {m.id: m for m in memories if cuts[m.id] is not None and self._sees(m, ask)}
        ranked = ranking.rank(clamped(ask.question), hits, (), others)
        return [(item, cut) for item in ranked if (cut := cuts[item.memory.id]) is not None]

    def _scopes(self, ask: Ask) -> tuple[Scope, ...]:
        own: tuple[Scope, ...] = (access.user_scope(ask.principal),) if ask.user else ()
        if not ask.organization:
            return own
        return (*own, *access.readable(ask.principal, namespaces=ask.namespaces))

    def _sight(self, states: Sequence[PartitionState], ask: Ask) -> "_Sight":
        """What the asker may see, by the visibility table."""
        visibility = self._services.visibility
        seen = [
            state.partition
            for state in states
            if access.may_see(
                state.partition, ask.principal, agent=ask.agent, visibility=visibility
            )
        ]
        return _Sight(states=states, partitions=seen)

    def _named(self, question: str, scopes: Sequence[Scope]) -> tuple[str, ...]:
        names = entity_names(question)
        if names_the_asker(question) and any(isinstance(s, UserScope) for s in scopes):
            return (SELF, *names)
        return names

    async def _vector(self, run: Run, question: str) -> bytes | None:
        with run.stage(Act.EMBED):
            return await run.within(
                "meaning", self._services.question(question), otherwise=None, share=0.7
            )

    async def _found(
        self,
        run: Run,
        question: str,
        vector: "asyncio.Task[bytes | None]",
        sight: "_Sight",
        at: datetime,
    ) -> Hits:
        words = telling(self._services.analyzer.words(question))
        sought = Sought(vector=None, words=words, weights=ranking.WEIGHTS, dates=dates_in(question))
        with run.stage(Act.SEARCH) as doing:
            search = self._services.index.search(
                sought,
                partitions=sight.partitions,
                limit=max(50, run.limit * 3),
                at=at,
                coming=vector,
                states=sight.states,
            )
            hits = await run.within("meaning", search, otherwise=None)
            embedded = vector.done() and not vector.cancelled()
            known = vector.result() if embedded else None
            if hits is None and embedded and known is None:
                run.degraded.setdefault("words", "late")
            hits = hits or Hits()
            for arm, fault in hits.missing:
                run.degraded.setdefault(arm, fault)
            run.sought = replace(sought, vector=known)
            doing.tell(Fact.VISIBLE, hits.visible)
            doing.tell(Fact.FOUND, len(hits.hits))
        return hits

    async def _alike(
        self, run: Run, wanted: Wanted, sight: "_Sight"
    ) -> Mapping[tuple[str, str], float]:
        """How alike these memories are; nothing is, where meaning was missing."""
        ids = [memory_id for _, memory_id in wanted]
        if len(ids) < 2 or "meaning" in run.degraded:
            return {}
        similarity = self._services.index.similarity(
            ids, partitions=sight.partitions, states=sight.states
        )
        return await run.within("meaning", similarity, otherwise={})

    def _sees(self, memory: Memory, ask: Ask) -> bool:
        return access.may_see(
            memory.partition,
            ask.principal,
            agent=ask.agent,
            visibility=self._services.visibility,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sight:
    """What there is in the asked scopes, and of it what the asker may see."""

    states: Sequence[PartitionState]
    partitions: Sequence[Partition]


def _seen(task: "asyncio.Task[bytes | None]") -> None:
    # When the recall ended without it, nobody is left to read how it ended.
    if not task.cancelled():
        task.exception()


def _distinct(
    head: Sequence[ranking.Recalled], alike: Mapping[tuple[str, str], float], *, limit: int
) -> list[ranking.Recalled]:
    """The first that say different things. What comes after them need not be compared."""
    taken = limit
    while True:
        distinct = ranking.without_duplicates(head[:taken], alike)
        if len(distinct) >= limit or taken >= len(head):
            return distinct
        taken += limit - len(distinct)


def _through_self(path: Path) -> bool:
    """Whether a walk comes to the user on its way: it would tie together all that is theirs."""
    return any(
        isinstance(step.scope, UserScope) and SELF in (step.source, step.target)
        for step in path.steps[1:]
    ) or (isinstance(path.steps[0].scope, UserScope) and path.end == SELF)


def _supported(path: Path, usable: Mapping[str, Memory]) -> bool:
    """Whether every step is told by something that is recalled: not expired, for example."""
    return all(any(one in usable for one in step.evidence) for step in path.steps)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1_000
