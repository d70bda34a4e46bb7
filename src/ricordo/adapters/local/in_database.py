"""The index for partitions too large for memory, on a ledger that can search by itself."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.context import Context
from ricordo.adapters.local.index import MEBIBYTE, LocalIndex, runner
from ricordo.adapters.local.likeness import Likeness
from ricordo.adapters.local.loaded import load
from ricordo.adapters.local.ranking import Search
from ricordo.adapters.local.sampling import SAMPLE
from ricordo.adapters.local.shelves import Telling, check_space, check_vector, told
from ricordo.adapters.local.view import Unseen, View, instant
from ricordo.adapters.local.wording import in_company
from ricordo.errors import RicordoError
from ricordo.model import Hits, Partition, Scope, Sought, Space
from ricordo.ports import (
    Drawn,
    Excerpt,
    Ledger,
    PartitionState,
    Reading,
    Rows,
    Searchable,
    Searching,
    SearchingLedger,
)

WORDY = 450
"""Bytes that a memory takes in this process beside its vector, about."""

_DRIFT = 8
"""A sample is drawn anew when the partition grew or shrank by one part in so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usual:
    """What is usual in a partition: some of its rows, as of one generation."""

    generation: int
    size: int
    vectors: NDArray[np.float32]
    since: NDArray[np.int64]
    until: NDArray[np.int64]
    company: float

    def of_size(self, state: PartitionState) -> bool:
        """Whether it still tells of the partition, as far as its size goes."""
        if state.size <= SAMPLE:
            return self.generation == state.generation
        return abs(state.size - self.size) * _DRIFT <= self.size

    def sample(self, at: datetime | None) -> NDArray[np.float64]:
        """The vectors of those that are visible at the instant."""
        if at is None:
            return self.vectors.astype(np.float64)
        shown = (self.since <= instant(at)) & (instant(at) < self.until)
        return self.vectors[shown].astype(np.float64)


class DatabaseIndex:
    """Implements `ricordo.ports.VectorIndex`: small partitions by `LocalIndex`, and those that are
    larger than a size, or than this process has memory for, in the ledger's own store.

    Of a large partition the store finds the best by meaning, by words and by date, with the figures
    of all of it, in one transaction; what is ranked is read with them. What is usual in it is told
    by a sample that is kept here. A partition that has grown large is made ready in the background,
    and searched in memory meanwhile.

    Args:
        inner: for small partitions; not closed with this.
        ledger: where the rows are, which can search by itself.
        space: the space that questions are asked in, or what tells it when it is needed.
        least: memories from which a partition is large.
        max_bytes: what a partition may take in memory before it is large, too.
    """

    def __init__(
        self,
        inner: LocalIndex,
        ledger: Ledger,
        searching: SearchingLedger,
        *,
        space: Space | Telling,
        least: int,
        max_bytes: int = 512 * MEBIBYTE,
    ) -> None:
        self._inner = inner
        self._ledger = ledger
        self._searching = searching
        self._space = told(space)
        self._least = least
        self._max_bytes = max_bytes
        self._usual: dict[Partition, _Usual] = {}
        self._preparing: dict[Partition, asyncio.Task[None]] = {}
        self._closed = False

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
        return self._inner.memory_used + sum(kept.vectors.nbytes for kept in self._usual.values())

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
        vector = sought.vector if coming is None else await coming
        check_vector(vector, space=await self._space())
        question = replace(sought, vector=vector)
        # Those of this process first: what the store is asked later may only be newer.
        small = [each for each in asked if each not in large]
        shelves = await self._inner.fresh(small, states=states)
        found = await self._found(question, large, limit=limit, at=at)
        unseen: dict[Partition, Unseen] = {}
        for partition, (excerpt, usual) in found.items():
            shelves.append((partition, load(excerpt.rows, dimension=_dimension(excerpt.rows))))
            unseen[partition] = Unseen(
                visible=excerpt.visible,
                words=excerpt.words,
                held=excerpt.held,
                company=usual.company,
                sample=usual.sample(at),
            )

        if not shelves:
            return Hits()
        run = runner(sum(loaded.size for _, loaded in shelves) * len(vector or b"") // 4)
        return await run(
            lambda: Search(shelves, question, at=at, unseen=unseen).hits(vector, limit=limit)
        )

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

        async def look(tx: Reading) -> Mapping[str, bytes]:
            found: dict[str, bytes] = {}
            for partition in asked:
                found |= await tx.vectors(ids, partition=partition)
            return found

        scopes = tuple(dict.fromkeys(partition.scope for partition in asked))
        found = await self._ledger.read(look, scopes=scopes)
        known = [one for one in ids if one in found]
        return Likeness(known, [np.frombuffer(found[one], "<f4") for one in known])

    def drop(self, *, scope: Scope) -> None:
        """Let go of everything of a scope at once, as when it was erased."""
        self._inner.drop(scope=scope)
        for partition in [*self._usual]:
            if partition.scope == scope:
                del self._usual[partition]

    async def settled(self) -> None:
        """Wait until every partition that was found large is ready, or was given up."""
        while self._preparing:
            await asyncio.wait(self._preparing.values())
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Let go of everything; what was being made ready goes on with the next question."""
        self._closed = True
        self._usual.clear()
        tasks = list(self._preparing.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _large(
        self, partitions: Sequence[Partition], known: Sequence[PartitionState] | None
    ) -> list[Partition]:
        """Those that are large and ready; whatever is large and not ready is being made so."""
        scopes = tuple(dict.fromkeys(partition.scope for partition in partitions))
        if known is not None:  # small ones need not be asked about
            large_ones = {each.partition for each in known if each.size >= self._bound(each)}
            scopes = tuple(dict.fromkeys(p.scope for p in partitions if p in large_ones))
        if not scopes:
            return []

        async def look(tx: Searching) -> list[Searchable]:
            return [each for scope in scopes for each in await tx.searchable(scope=scope)]

        large: list[Partition] = []
        for each in await self._searching.search(look, scopes=scopes):
            state = each.state
            if state.partition not in partitions or state.size < self._bound(state):
                continue
            if not each.ready:
                self._prepare(state.partition)
                continue
            check_space(state.partition, state.space, asked=await self._space())
            large.append(state.partition)
        return large

    def _bound(self, state: PartitionState) -> int:
        """Memories from which the partition is large."""
        if state.space is None:
            return self._least
        room = self._max_bytes // (4 * state.space.dimension + WORDY)
        return max(1, min(self._least, room + 1))

    def _prepare(self, partition: Partition) -> None:
        if partition in self._preparing or self._closed:
            return
        task = asyncio.create_task(self._prepared(partition))
        self._preparing[partition] = task
        task.add_done_callback(lambda _: self._preparing.pop(partition, None))

    async def _prepared(self, partition: Partition) -> None:
        try:
            while not await self._searching.prepare(partition=partition):
                pass
        except RicordoError:
            return  # it is searched in memory as before, and the next question begins again

    async def _found(
        self, sought: Sought, partitions: Sequence[Partition], *, limit: int, at: datetime | None
    ) -> dict[Partition, tuple[Excerpt, _Usual]]:
        async def look(tx: Searching) -> dict[Partition, tuple[Excerpt, _Usual]]:
            states = {
                each.state.partition: each.state
                for scope in scopes
                for each in await tx.searchable(scope=scope)
            }
            return {
                each: (
                    await tx.found(sought, partition=each, limit=limit, at=at),
                    await self._told(tx, states[each]),
                )
                for each in partitions
                if each in states
            }

        scopes = tuple(dict.fromkeys(partition.scope for partition in partitions))
        space = await self._space()
        found = await self._searching.search(look, scopes=scopes)
        for partition, (excerpt, usual) in found.items():
            check_space(partition, excerpt.rows.space, asked=space)
            self._usual[partition] = usual
        return found

    async def _told(self, tx: Searching, state: PartitionState) -> _Usual:
        """What is usual in the partition: as it was kept, while it tells of nothing that went."""
        kept = self._usual.get(state.partition)
        if kept is not None and kept.of_size(state):
            moved = kept.generation != state.generation
            if not moved or not await tx.disturbed(
                partition=state.partition, since=kept.generation
            ):
                return kept
        drawn = await tx.drawn(partition=state.partition, count=SAMPLE)
        return self._usual_of(drawn, state)

    def _usual_of(self, drawn: Drawn, state: PartitionState) -> _Usual:
        around = load(drawn.rows, dimension=_dimension(drawn.rows))
        view = View([(state.partition, around)], at=None)
        mine = np.array([each in drawn.ids for each in around.ids], np.bool_)
        words = in_company(Context(view), view.lengths())[mine]
        # In an order that depends on nothing but the rows, as do sums then.
        order = sorted(np.flatnonzero(mine).tolist(), key=around.ids.__getitem__)
        return _Usual(
            generation=state.generation,
            size=state.size,
            vectors=around.vectors.values[order],
            since=around.valid_from.values[order],
            until=around.valid_until.values[order],
            company=float(words.mean()) if len(words) else 0.0,
        )


def _dimension(rows: Rows) -> int:
    return 0 if rows.space is None else rows.space.dimension
