"""Recall: one question, every arm at once, under one deadline."""

import asyncio
import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from ricordo import access
from ricordo.errors import Invalid, Unavailable
from ricordo.memory import ranking
from ricordo.memory.asking import entity_names, names_the_asker
from ricordo.memory.dates import dates_in
from ricordo.memory.services import Bounds, Services
from ricordo.model import (
    SELF,
    Hits,
    Kind,
    Memory,
    Partition,
    Path,
    Principal,
    Recollection,
    Scope,
    Sought,
    Status,
    UserScope,
    clean_text,
)
from ricordo.ports import Reading, Walk

T = TypeVar("T")

LONGEST_QUESTION = 4_000
"""Characters of a question that are used: its end, for what is asked stands last."""

ARMS_SHARE = 0.85
"""Part of the deadline by which every arm must have answered."""

SEEDS = 3
"""Best hits whose entities a walk starts from, besides those that the question names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One question and its bounds.

    Args:
        agent: asks through this agent; None is the person directly.
        limit: at most this many memories, 1 to 1,000.
        tokens: at most about this many tokens of text.
        deadline: seconds; what has not answered by then is missing, and named in `degraded`.
        hops: steps of the walk; 0 walks nowhere. These four default to the memory's own bounds.
        as_of: what was true then; None is now.
        user, organization: which memory to ask.
        namespaces: only these of the organization; None is all that are granted.
        explain: with each memory its signals and the walk that led to it.
    """

    question: str
    principal: Principal
    agent: str | None = None
    limit: int | None = None
    tokens: int | None = None
    deadline: float | None = None
    hops: int | None = None
    as_of: datetime | None = None
    user: bool = True
    organization: bool = True
    namespaces: tuple[str | None, ...] | None = None
    explain: bool = True

    def __post_init__(self) -> None:
        if self.limit is not None and not 1 <= self.limit <= 1_000:
            raise Invalid(f"limit is {self.limit}; it lies between 1 and 1,000")
        if self.tokens is not None and self.tokens < 1:
            raise Invalid(f"tokens is {self.tokens}; at least 1")
        if self.deadline is not None and not self.deadline > 0:
            raise Invalid(f"deadline is {self.deadline} s; it must be positive")
        if self.hops is not None and not 0 <= self.hops <= 8:
            raise Invalid(f"hops is {self.hops}; a walk takes 0 to 8")
        if self.as_of is not None and self.as_of.tzinfo is None:
            raise Invalid("as_of needs a time zone")


class Recaller:
    """Finds what helps with a question among exactly what the asker may see."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def recall(self, ask: Ask) -> Recollection:
        """Find, fuse and fit; same memory and question, same answer.

        Raises:
            Denied: a namespace that is not granted.
            SpaceMismatch: memories were indexed with another model; reindex them.
        """
        started = time.perf_counter()
        question = clean_text(ask.question[-LONGEST_QUESTION:]).strip()
        scopes = self._scopes(ask)
        if not question or not scopes:
            return Recollection(took_ms=_since(started))
        run = _Run(ask, self._services.bounds, started=started)
        at = ask.as_of or self._services.clock()
        partitions = await run.within("ledger", self._partitions(ask, scopes), otherwise=[])
        named = self._named(question, scopes)
        hits, near = await asyncio.gather(
            self._found(run, question, partitions, at),
            self._walked(run, named, scopes, at),
        )
        seeds = await self._seeds(run, hits, known=named)
        far = await self._walked(run, seeds, scopes, at)
        walked = tuple(path for path in (*near.paths, *far.paths) if not _through_self(path))
        memories = await run.within(
            "ledger", self._memories(hits, walked, scopes), otherwise=[], last=True
        )
        usable = {m.id: m for m in memories if self._usable(m, ask, at)}
        walked = tuple(path for path in walked if _supported(path, usable))
        recalled = ranking.rank(question, hits, walked, usable)
        return await self._finish(run, recalled, walked, partitions, hits, started)

    async def _finish(
        self,
        run: "_Run",
        recalled: Sequence[ranking.Recalled],
        walked: Sequence[Path],
        partitions: Sequence[Partition],
        hits: Hits,
        started: float,
    ) -> Recollection:
        ask = run.ask
        head = recalled[: run.limit * 2 + 10]
        ids = [item.memory.id for item in head]
        alike: Mapping[tuple[str, str], float] = {}
        if len(ids) > 1 and "meaning" not in run.degraded:
            alike = await run.within(
                "meaning",
                self._services.index.similarity(ids, partitions=partitions),
                otherwise=alike,
            )
        distinct = _distinct(head, alike, limit=run.limit)
        items, left_out = ranking.fit(distinct, tokens=run.tokens)
        given = {item.memory.id for item in items}
        kept = tuple(path for path in walked if given.issuperset(path.steps[-1].evidence[:1]))
        self._services.journal.note(
            [item.memory for item in items], agent=ask.agent, at=self._services.clock()
        )
        if not ask.explain:
            items = tuple(replace(item, signals={}, path=None) for item in items)
        return Recollection(
            items=items,
            paths=kept,
            degraded=tuple(sorted(run.degraded)),
            visible=hits.visible,
            took_ms=_since(started),
            left_out=left_out,
        )

    def _scopes(self, ask: Ask) -> tuple[Scope, ...]:
        own: tuple[Scope, ...] = (access.user_scope(ask.principal),) if ask.user else ()
        if not ask.organization:
            return own
        return (*own, *access.readable(ask.principal, namespaces=ask.namespaces))

    async def _partitions(self, ask: Ask, scopes: Sequence[Scope]) -> list[Partition]:
        """What the asker may see, by the visibility table."""

        async def look(tx: Reading) -> list[Partition]:
            states = [s for scope in scopes for s in await tx.partitions(scope=scope)]
            return [state.partition for state in states]

        stored = await self._services.ledger.read(look, scopes=scopes)
        visibility = self._services.visibility
        return [
            partition
            for partition in stored
            if access.may_see(partition, ask.principal, agent=ask.agent, visibility=visibility)
        ]

    def _named(self, question: str, scopes: Sequence[Scope]) -> tuple[str, ...]:
        names = entity_names(question)
        if names_the_asker(question) and any(isinstance(s, UserScope) for s in scopes):
            return (SELF, *names)
        return names

    async def _found(
        self, run: "_Run", question: str, partitions: Sequence[Partition], at: datetime
    ) -> Hits:
        vector = await run.within(
            "meaning", self._services.embedder.question(question), otherwise=None, share=0.7
        )
        words = self._services.analyzer.words(question)
        sought = Sought(
            vector=vector, words=words, weights=ranking.WEIGHTS, dates=dates_in(question)
        )
        return await run.within(
            "words" if vector is None else "meaning",
            self._services.index.search(
                sought, partitions=partitions, limit=max(50, run.limit * 3), at=at
            ),
            otherwise=Hits(),
        )

    async def _walked(
        self, run: "_Run", names: Sequence[str], scopes: Sequence[Scope], at: datetime
    ) -> Walk:
        if not names or not run.hops:
            return Walk()
        return await run.within(
            "graph",
            self._services.graph.walk(
                names, scopes=scopes, hops=run.hops, at=at, nodes=max(50, run.limit * 3)
            ),
            otherwise=Walk(),
        )

    async def _seeds(self, run: "_Run", hits: Hits, *, known: Sequence[str]) -> tuple[str, ...]:
        """Names of the entities that the best hits relate, where the question named none."""
        best = [hit for hit in hits.hits if hit.partition.kind is Kind.FACT]
        top = ranking.best(best)[:SEEDS]
        if not top or not run.hops:
            return ()

        async def look(tx: Reading) -> list[str]:
            names: list[str] = []
            for hit in top:
                scope = hit.partition.scope
                for relation in await tx.relations_of([hit.memory_id], scope=scope):
                    names += [relation.source_name, relation.target_name]
            return names

        scopes = list(dict.fromkeys(hit.partition.scope for hit in top))
        names = await run.within(
            "graph", self._services.ledger.read(look, scopes=scopes), otherwise=list[str]()
        )
        skip = {*known, SELF}
        return tuple(name for name in dict.fromkeys(names) if name not in skip)

    async def _memories(
        self, hits: Hits, walked: Sequence[Path], scopes: Sequence[Scope]
    ) -> list[Memory]:
        wanted: dict[Scope, dict[str, None]] = {scope: {} for scope in scopes}
        for hit in hits.hits:
            wanted[hit.partition.scope][hit.memory_id] = None
        for step in dict.fromkeys(step for path in walked for step in path.steps):
            wanted[step.scope].update(dict.fromkeys(step.evidence))

        async def look(tx: Reading) -> list[Memory]:
            return [
                memory
                for scope, ids in wanted.items()
                if ids
                for memory in await tx.memories(list(ids), scope=scope)
            ]

        return await self._services.ledger.read(look, scopes=scopes)

    def _usable(self, memory: Memory, ask: Ask, at: datetime) -> bool:
        seen = access.may_see(
            memory.partition,
            ask.principal,
            agent=ask.agent,
            visibility=self._services.visibility,
        )
        statuses = {Status.ACTIVE} if ask.as_of is None else {Status.ACTIVE, Status.SUPERSEDED}
        # For now what is stated counts, not when it was noted: clocks differ, and are set back.
        since = memory.valid_from if ask.as_of is None else _since_when(memory)
        begun = since is None or since <= at
        valid = begun and (memory.valid_until is None or at < memory.valid_until)
        fresh = memory.pinned or memory.expires_at is None or at < memory.expires_at
        whole = memory.merged_into is None  # else the one that stands for it is found
        return seen and whole and memory.status in statuses and valid and fresh


class _Run:
    """One recall's deadline, and what missed it.

    The arms end a little early, so that what they found can still be fetched in time.
    """

    def __init__(self, ask: Ask, bounds: Bounds, *, started: float) -> None:
        self.ask = ask
        self.limit = bounds.limit if ask.limit is None else ask.limit
        self.tokens = bounds.tokens if ask.tokens is None else ask.tokens
        self.hops = bounds.hops if ask.hops is None else ask.hops
        self.degraded: set[str] = set()
        deadline = bounds.deadline if ask.deadline is None else ask.deadline
        self._end = started + deadline
        self._arms_end = started + deadline * ARMS_SHARE

    async def within(
        self,
        arm: str,
        awaitable: Awaitable[T],
        *,
        otherwise: T,
        share: float = 1.0,
        last: bool = False,
    ) -> T:
        """The arm's answer, or `otherwise` when it fails or misses its share of what is left."""
        end = self._end if last else self._arms_end
        try:
            async with asyncio.timeout((end - time.perf_counter()) * share):
                return await awaitable
        except (TimeoutError, Unavailable):
            self.degraded.add(arm)
            return otherwise


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


def _since_when(memory: Memory) -> datetime:
    """From when a memory is known to be true: as stated, or else since it was first said."""
    if memory.valid_from is not None:
        return memory.valid_from
    return min((memory.recorded_at, *(origin.at for origin in memory.origins)))


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1_000
