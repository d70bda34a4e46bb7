"""The index for large partitions: meaning is found by a view outside, the rest is done here."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Self

import numpy as np

from ricordo.adapters.local.index import MEBIBYTE, LocalIndex, runner
from ricordo.adapters.local.likeness import Likeness
from ricordo.adapters.local.meaning import nearest
from ricordo.adapters.local.sampling import Sample, chosen
from ricordo.adapters.local.shelves import Shelves, Telling, check_vector, told
from ricordo.adapters.local.sighted import Known, Search, Shelf
from ricordo.adapters.local.view import Numbers, View
from ricordo.errors import RicordoError, Unavailable
from ricordo.model import Hits, Partition, Scope, Sought, Space, part_key
from ricordo.ports import Ledger, PartitionState, Reading, Rows, VectorView, ViewBuild

MEANING, LATE = "meaning", "late"
"""What is missing of an answer that the view had no part in, and why."""

REST = 5.0
"""Seconds for which a view that failed is not asked, so that only one recall waits for it."""

TAIL = 20_000
"""Most rows that are looked through here because the view does not have them yet."""

DEEPER = 8
"""A view is asked for so many times as many when too few of its hits are valid."""

Serving = Callable[[], tuple[VectorView, ViewBuild]]
Vectors = Mapping[Partition, Mapping[str, bytes]]


class ViewedIndex:
    """Implements `ricordo.ports.VectorIndex`: partitions below a size by `LocalIndex`, larger ones
    with a view of vectors.

    Words, validity and everything else that ranks come from the ledger, and so do the vectors of
    whatever the view found: its answer only tells where to look. What the ledger acknowledged and
    the view does not have yet is looked through here. An answer without the view says so; small
    partitions have their part in it all the same. A view that has less than half of what a
    partition holds lost the rest, and is not believed.

    Args:
        inner: for small partitions; not closed with this.
        serving: the view to ask, and its build; raises `Unavailable` when there is none.
        least: rows from which a partition is large.
        patience: seconds that the view may take.
        max_bytes: how much of large partitions' words stays loaded, about.
    """

    def __init__(
        self,
        inner: LocalIndex,
        ledger: Ledger,
        *,
        space: Space | Telling,
        serving: Serving,
        least: int,
        patience: float = 0.1,
        max_bytes: int = 512 * MEBIBYTE,
    ) -> None:
        self._inner = inner
        self._ledger = ledger
        self._space = told(space)
        self._serving = serving
        self._least = least
        self._patience = patience
        self._shelves = Shelves(ledger, space=self._space, bound=max_bytes, plain=True)
        self._samples: dict[Partition, Sample] = {}
        self._resting = float("-inf")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def memory_used(self) -> int:
        """Bytes held in memory, about."""
        return self._inner.memory_used + self._shelves.nbytes

    async def search(
        self,
        sought: Sought,
        *,
        partitions: Sequence[Partition],
        limit: int,
        at: datetime | None,
        coming: Awaitable[bytes | None] | None = None,
        states: Sequence[PartitionState] | None = None,
    ) -> Hits:
        """See `ricordo.ports.VectorIndex`.

        Raises:
            SpaceMismatch: a partition was indexed with another model, transform or analyzer.
        """
        asked = tuple(dict.fromkeys(partitions))
        large = await self._large(asked, states) if limit > 0 else []
        if not large:
            return await self._inner.search(
                sought, partitions=asked, limit=limit, at=at, coming=coming, states=states
            )
        small = await self._inner.fresh([p for p in asked if p not in large], states=states)
        plain = await self._shelves.fresh(large, states=states)
        shelves = sorted((*small, *plain), key=lambda shelf: asked.index(shelf[0]))
        vector = sought.vector if coming is None else await coming
        if shelves:
            check_vector(vector, space=await self._space())
        view = View(shelves, at=at)
        if not view.visible:
            return Hits()
        search = Search(shelves, sought, view=view)
        near, tail, missing = await self._nearest(search, small, plain, vector, at=at, limit=limit)
        known = await self._known(search, shelves, near, tail, view, limit=limit)
        hits = search.hits(
            None if vector is None else np.frombuffer(vector, "<f4"),
            known,
            self._samples,
            limit=limit,
        )
        return replace(hits, missing=((MEANING, missing),)) if missing else hits

    async def similarity(
        self,
        pairs: Sequence[str],
        *,
        partitions: Sequence[Partition],
        states: Sequence[PartitionState] | None = None,
    ) -> Mapping[tuple[str, str], float]:
        """See `ricordo.ports.VectorIndex`."""
        asked = tuple(dict.fromkeys(partitions))
        if not await self._large(asked, states):
            return await self._inner.similarity(pairs, partitions=asked, states=states)
        ids = list(dict.fromkeys(pairs))
        found = await self._vectors({partition: ids for partition in asked})  # noqa: C420
        by_id = {one: vector for some in found.values() for one, vector in some.items()}
        ordered = [one for one in ids if one in by_id]
        return Likeness(ordered, [np.frombuffer(by_id[one], "<f4") for one in ordered])

    def drop(self, *, scope: Scope) -> None:
        """Let go of everything of a scope at once, as when it was erased."""
        self._inner.drop(scope=scope)
        self._shelves.drop(scope)
        for partition in [*self._samples]:
            if partition.scope == scope:
                del self._samples[partition]

    async def close(self) -> None:
        """Let go of everything; closing twice is not an error."""
        self._samples.clear()
        await self._shelves.close()

    async def _large(
        self, partitions: Sequence[Partition], states: Sequence[PartitionState] | None
    ) -> list[Partition]:
        scopes = tuple(dict.fromkeys(partition.scope for partition in partitions))

        async def look(tx: Reading) -> list[PartitionState]:
            return [state for scope in scopes for state in await tx.partitions(scope=scope)]

        if states is None:
            states = await self._ledger.read(look, scopes=scopes) if scopes else []
        sizes = {state.partition: state.size for state in states}
        return [p for p in partitions if p in sizes and sizes[p] >= self._least]

    async def _nearest(
        self,
        search: Search,
        small: Sequence[Shelf],
        plain: Sequence[Shelf],
        vector: bytes | None,
        *,
        at: datetime | None,
        limit: int,
    ) -> tuple[Numbers, Vectors, str]:
        """Rows among which the nearest are, the vectors of those that the view lacks, and why the
        view has no part in it; empty where it has."""
        if vector is None:
            return np.empty(0, np.intp), _NOTHING, ""
        here = search.numbers(await self._held(small, vector, at=at, limit=limit))
        try:
            near, tail = await self._near(search, plain, vector, limit=limit)
        except TimeoutError:
            return here, _NOTHING, LATE
        except Unavailable as error:
            return here, _NOTHING, type(error).__name__
        return np.union1d(here, near), tail, ""

    async def _held(
        self, small: Sequence[Shelf], vector: bytes, *, at: datetime | None, limit: int
    ) -> Mapping[Partition, list[str]]:
        """The nearest of those partitions whose vectors are in memory."""
        view = View(small, at=at)
        if not view.visible:
            return {}
        question = np.frombuffer(vector, "<f4")
        run = runner(view.size * len(question))
        numbers, _ = await run(lambda: nearest(view, question, limit=limit))
        found: dict[Partition, list[str]] = {}
        for number in numbers.tolist():
            found.setdefault(view.partition_of(number), []).append(view.id_of(number))
        return found

    async def _near(
        self, search: Search, shelves: Sequence[Shelf], vector: bytes, *, limit: int
    ) -> tuple[Numbers, Vectors]:
        """Rows among which the nearest are, and the vectors of those that the view lacks.

        Raises:
            Unavailable: the view is, or it lacks too much. TimeoutError: it takes too long.
        """
        if time.monotonic() < self._resting:
            raise Unavailable("the view failed a moment ago")
        view, build = self._serving()
        keys = {p.scope: await self._ledger.subject(scope=p.scope) for p, _ in shelves}
        parts = {p: part_key(keys[p.scope], p) for p, _ in shelves}
        # First how far the view is, then what it says: it can only have gone further since.
        known = await self._ledger.marks(build, marks=[(keys[p.scope], parts[p]) for p in parts])
        marks = {p: known.get((keys[p.scope], parts[p]), 0) for p in parts}
        tail = await self._tail(shelves, marks)
        fed = [p for p, mark in marks.items() if mark]
        ids = {p: [*some] for p, some in tail.items()}
        held = {p: loaded.size - loaded.dead for p, loaded in shelves}
        try:
            async with asyncio.timeout(self._patience):
                for depth in (limit, limit * DEEPER):
                    found = await asyncio.gather(
                        *(view.search(vector, part=parts[p], limit=depth) for p in fed)
                    )
                    for partition, hits in zip(fed, found, strict=True):
                        ids[partition] = [*hits, *tail.get(partition, ())]
                        if len(hits) < depth:
                            _require_most(ids[partition], of=held[partition])
                    near = search.numbers(ids)
                    if len(near) >= limit or all(len(hits) < depth for hits in found):
                        break
        except (RicordoError, TimeoutError) as error:
            self._resting = time.monotonic() + REST
            if isinstance(error, TimeoutError | Unavailable):
                raise
            raise Unavailable(f"the view {build.view} failed: {error}") from error
        return search.numbers(ids), tail

    async def _tail(self, shelves: Sequence[Shelf], marks: Mapping[Partition, int]) -> Vectors:
        """What changed since the view was fed."""
        tail: dict[Partition, Mapping[str, bytes]] = {}
        size = 4 * (await self._space()).dimension
        for partition, loaded in shelves:
            mark = marks[partition]
            if mark >= loaded.generation:
                continue
            if not mark and loaded.size - loaded.dead > TAIL:
                raise Unavailable("the view is being fed for the first time")
            rows = await self._rows(partition, since=mark or None)
            tail[partition] = {
                memory_id: rows.vectors[number * size : (number + 1) * size]
                for number, memory_id in enumerate(rows.ids)
            }
        return tail

    async def _known(
        self,
        search: Search,
        shelves: Sequence[Shelf],
        near: Numbers,
        tail: Vectors,
        view: View,
        *,
        limit: int,
    ) -> Known:
        """The vectors that ranking needs, from the ledger."""
        wanted = {p: list(ids) for p, ids in search.wanted(near, limit=limit).items()}
        unsampled = [
            (partition, loaded)
            for partition, loaded in shelves
            if partition not in self._samples or not self._samples[partition].fits(loaded)
        ]
        fresh = {partition: chosen(loaded) for partition, loaded in unsampled}
        known = {p: {**tail.get(p, {})} for p, _ in shelves}
        lacking = {
            p: list(dict.fromkeys((*wanted.get(p, ()), *fresh.get(p, ())))) for p, _ in shelves
        }
        read = await self._vectors({p: ids for p, ids in lacking.items() if ids})
        for partition, loaded in unsampled:
            mine = read.get(partition, {})
            vectors = {one: mine[one] for one in fresh[partition] if one in mine}
            self._samples[partition] = Sample(vectors, loaded=loaded)
        for partition, _ in shelves:
            known[partition] |= self._samples[partition].vectors
            known[partition] |= read.get(partition, {})
        return Known(view, shelves, known)

    async def _vectors(self, ids: Mapping[Partition, Sequence[str]]) -> Vectors:
        async def look(tx: Reading) -> Vectors:
            return {p: await tx.vectors(some, partition=p) for p, some in ids.items()}

        scopes = tuple(dict.fromkeys(partition.scope for partition in ids))
        return await self._ledger.read(look, scopes=scopes) if ids else {}

    async def _rows(self, partition: Partition, *, since: int | None) -> Rows:
        async def look(tx: Reading) -> Rows:
            return await tx.rows(partition=partition, since=since)

        return await self._ledger.read(look, scopes=(partition.scope,))


def _require_most(ids: Sequence[str], *, of: int) -> None:
    """Raise `Unavailable` where a view that told all that it has of a partition has too little.

    What was forgotten since the partition was read is missing, too, so it need not be everything.
    """
    if 2 * len(set(ids)) < of:
        raise Unavailable(f"the view has {len(set(ids))} of {of} memories of a partition")


_NOTHING: Vectors = {}
