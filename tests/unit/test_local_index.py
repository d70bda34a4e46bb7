"""The local index under concurrency, cancellation, faults and small memory."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ricordo.adapters.local import LocalIndex
from ricordo.adapters.local.postings import Entries, Postings
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import SpaceMismatch, Unavailable
from ricordo.model import Hits, Partition, Scope, Sought, Space, UserScope
from ricordo.ports import Look, Reading
from ricordo.testing.index import ALICE, DOCUMENTED, FACTS, HABITS, put, remove
from ricordo.testing.naive import NOON, SPACE, Doc, unit

SOUGHT = Sought(vector=unit((1, 2, 3, 4, 3, 2, 1, 1)), words=((1,), (2, 3)))


class Watched:
    """The real ledger, with a door before each read and a note of what was loaded in full."""

    def __init__(self, ledger: SqliteLedger) -> None:
        self.ledger = ledger
        self.loads: list[Partition] = []
        self.updates: list[Partition] = []
        self.held = asyncio.Event()
        self.door = asyncio.Event()
        self.passing: int | None = None
        self.fault: Exception | None = None

    def hold(self, *, after: int) -> None:
        """Let so many reads pass; those after them are held until `release`."""
        self.passing = after

    def release(self) -> None:
        self.passing = None
        self.door.set()

    async def read(self, look: Look[Any], *, scopes: Sequence[Scope]) -> Any:
        async def watched(tx: Reading) -> Any:
            return await look(_WatchedReading(tx, self))

        if self.passing is not None:
            self.passing -= 1
            if self.passing < 0:
                self.held.set()
                await self.door.wait()
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        return await self.ledger.read(watched, scopes=scopes)


class _WatchedReading:
    def __init__(self, tx: Reading, watched: Watched) -> None:
        self._tx = tx
        self._watched = watched

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def rows(self, *, partition: Partition, since: int | None) -> Any:
        (self._watched.loads if since is None else self._watched.updates).append(partition)
        return await self._tx.rows(partition=partition, since=since)


@pytest.fixture
async def watched(tmp_path: Path) -> AsyncIterator[Watched]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: NOON) as ledger:
        yield Watched(ledger)


def docs(first: int, last: int) -> list[Doc]:
    return [
        Doc(
            id=f"m_{i:05}",
            direction=(i % 7, i % 5, i % 3, 1, 2, i % 11, 0, i % 2),
            words={1: 1 + i % 2, 2 + i % 5: 1, 100 + i: 1},
        )
        for i in range(first, last)
    ]


async def ask(index: LocalIndex, *partitions: Partition, sought: Sought = SOUGHT) -> Hits:
    return await index.search(sought, partitions=partitions or (FACTS,), limit=5, at=NOON)


async def test_a_cold_partition_is_loaded_once_for_all_who_wait(watched: Watched) -> None:
    """Concurrent searches of a cold partition load it once."""
    await put(watched.ledger, FACTS, *docs(0, 100))
    async with LocalIndex(watched, space=SPACE) as index:
        answers = await asyncio.gather(*(ask(index) for _ in range(20)))
        assert watched.loads == [FACTS]
        assert all(answer == answers[0] for answer in answers)
        await put(watched.ledger, FACTS, *docs(100, 101))
        later = await asyncio.gather(*(ask(index) for _ in range(20)))
        assert watched.loads == [FACTS]
        assert watched.updates == [FACTS]
        assert {answer.visible for answer in later} == {101}


async def test_a_cancelled_search_leaves_its_load_to_the_next(watched: Watched) -> None:
    """A cancelled search (a recall's deadline) leaves the cache sound, and warm for the next."""
    await put(watched.ledger, FACTS, *docs(0, 100))
    async with LocalIndex(watched, space=SPACE) as index:
        watched.hold(after=1)
        searching = asyncio.create_task(ask(index))
        await watched.held.wait()
        searching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await searching
        watched.release()
        assert (await ask(index)).visible == 100
        assert watched.loads == [FACTS]


async def test_cancelled_anywhere_the_index_stays_sound(watched: Watched) -> None:
    """However far a search got before it was cancelled, the next answer is that of a cold index."""
    async with LocalIndex(watched, space=SPACE) as index:
        for turn in range(40):
            await put(watched.ledger, FACTS, *docs(turn * 3, turn * 3 + 3))
            if turn % 4 == 3:
                await remove(watched.ledger, FACTS, f"m_{turn * 3 - 4:05}")
            searching = asyncio.create_task(ask(index, FACTS, HABITS))
            for _ in range(turn % 10):
                await asyncio.sleep(0)
            searching.cancel()
            await asyncio.wait([searching])
            if turn % 3 == 0:
                async with LocalIndex(watched, space=SPACE) as cold:
                    assert await ask(index) == await ask(cold)


async def test_memory_is_bounded_and_the_least_recent_goes(watched: Watched) -> None:
    """Loaded partitions are kept up to the bound; the least recently asked goes first."""
    three = (FACTS, HABITS, DOCUMENTED)
    for number, partition in enumerate(three):
        await put(watched.ledger, partition, *docs(number * 100, number * 100 + 100))
    async with LocalIndex(watched, space=SPACE) as measuring:
        await ask(measuring)
        one = measuring.memory_used
    watched.loads.clear()
    async with LocalIndex(watched, space=SPACE, max_bytes=int(2.5 * one)) as index:
        for partition in (FACTS, HABITS, FACTS, DOCUMENTED, FACTS, HABITS):
            assert (await ask(index, partition)).visible == 100
            assert index.memory_used <= 2.5 * one
        assert watched.loads == [FACTS, HABITS, DOCUMENTED, HABITS]
        assert (await ask(index, *three)).visible == 300


async def test_a_partition_above_the_bound_is_answered(watched: Watched) -> None:
    """A partition bigger than the bound is loaded for each question and not kept."""
    await put(watched.ledger, FACTS, *docs(0, 100))
    async with LocalIndex(watched, space=SPACE, max_bytes=10) as index:
        for _ in range(2):
            assert (await ask(index)).visible == 100
            assert index.memory_used == 0
    assert watched.loads == [FACTS, FACTS]


async def test_a_dropped_scope_is_gone_even_while_it_loads(watched: Watched) -> None:
    """Promise 11: after an erasure nothing of a scope stays in memory, nor what was loading."""
    await put(watched.ledger, FACTS, *docs(0, 100))
    await put(watched.ledger, DOCUMENTED, *docs(200, 210))
    async with LocalIndex(watched, space=SPACE) as index:
        await ask(index, FACTS, DOCUMENTED)
        before = index.memory_used
        index.drop(scope=ALICE)
        after = index.memory_used
        assert 0 < after < before
        watched.hold(after=1)
        searching = asyncio.create_task(ask(index))
        await watched.held.wait()
        index.drop(scope=ALICE)
        watched.release()
        assert (await searching).visible == 100
        assert index.memory_used == after
        index.drop(scope=UserScope(tenant="acme", user="nobody"))
        assert index.memory_used == after


async def test_a_fault_while_loading_reaches_every_asker_and_passes(watched: Watched) -> None:
    """Ledger faults are not swallowed, and the next search works."""
    await put(watched.ledger, FACTS, *docs(0, 100))
    async with LocalIndex(watched, space=SPACE) as index:
        watched.fault = Unavailable("the disk is full")
        with pytest.raises(Unavailable, match="disk"):
            await ask(index)
        watched.hold(after=1)
        searching = asyncio.create_task(ask(index))
        await watched.held.wait()
        watched.fault = Unavailable("the disk is full again")
        watched.release()
        with pytest.raises(Unavailable, match="again"):
            await searching
        assert (await ask(index)).visible == 100


async def test_closing_ends_what_is_being_read(watched: Watched) -> None:
    """Whoever waits for a load of a closed index is told so; closing twice is no error."""
    await put(watched.ledger, FACTS, *docs(0, 10))
    index = LocalIndex(watched, space=SPACE)
    watched.hold(after=1)
    searching = asyncio.create_task(ask(index))
    await watched.held.wait()
    await index.close()
    with pytest.raises(Unavailable, match="closed"):
        await searching
    await index.close()


async def test_what_was_forgotten_is_packed_away(watched: Watched) -> None:
    """Rows of removed memories leave the arrays; answers stay those of a cold index."""
    await put(watched.ledger, FACTS, *docs(0, 1_200))
    async with LocalIndex(watched, space=SPACE) as index:
        await ask(index)
        before = index.memory_used
        await remove(watched.ledger, FACTS, *(f"m_{i:05}" for i in range(900)))
        warm = await ask(index)
        assert warm.visible == 300
        assert index.memory_used < before / 2
        async with LocalIndex(watched, space=SPACE) as cold:
            assert await ask(cold) == warm
        assert watched.loads == [FACTS, FACTS]


async def test_many_fresh_rows_are_merged(watched: Watched) -> None:
    """The tail of fresh words is merged when it is long; answers stay those of a cold index."""
    async with LocalIndex(watched, space=SPACE) as index:
        for start in range(0, 4_000, 1_000):
            await put(watched.ledger, FACTS, *docs(start, start + 1_000))
            warm = await ask(index)
        async with LocalIndex(watched, space=SPACE) as cold:
            assert await ask(cold) == warm


async def test_large_partitions_are_scanned_on_a_thread(watched: Watched) -> None:
    """The event loop goes on while a large partition is scanned; the answer is the same."""
    space = Space(model="wide", dimension=32_768, transform="none", words="test")
    wide = [Doc(id=f"m_{i:03}", direction=(i + 1, 130 - i) * 16_384) for i in range(130)]
    await put(watched.ledger, FACTS, *wide, space=space)
    async with LocalIndex(watched, space=space) as index:
        sought = Sought(vector=unit(wide[7].direction))
        hits = await ask(index, sought=sought)
        assert hits.hits[0].memory_id == "m_007"
        assert hits.hits[0].cosine == pytest.approx(1.0, abs=1e-6)


async def test_a_word_that_occurs_nowhere_changes_nothing(watched: Watched) -> None:
    """Issue, "Recall": an unknown word costs nothing."""
    await put(watched.ledger, FACTS, *docs(0, 50))
    async with LocalIndex(watched, space=SPACE) as index:
        known = await ask(index)
        more = Sought(vector=SOUGHT.vector, words=(*SOUGHT.words, (987_654_321,), ()))
        assert await ask(index, sought=more) == known


async def test_misuse_is_refused(watched: Watched) -> None:
    """A vector of another length is never compared; no limit finds nothing."""
    await put(watched.ledger, FACTS, *docs(0, 3))
    async with LocalIndex(watched, space=SPACE) as index:
        with pytest.raises(SpaceMismatch, match="3 dimensions"):
            await ask(index, sought=Sought(vector=unit((1, 2, 3))))
        assert await index.search(SOUGHT, partitions=[FACTS], limit=0, at=NOON) == Hits()
    with pytest.raises(ValueError, match="max_bytes"):
        LocalIndex(watched, space=SPACE, max_bytes=-1)


def test_the_largest_terms_are_found() -> None:
    """Terms use all 64 bits."""
    top = 2**64 - 1
    entries = Entries(
        terms=np.array([top, 0, top], np.uint64),
        rows=np.array([0, 0, 1], np.int32),
        counts=np.array([1, 2, 3], np.uint16),
    )
    found = Postings.build(entries).find([top, 0, 5])
    assert {term: sorted(rows.tolist()) for term, ((rows, _),) in found.items()} == {
        top: [0, 1],
        0: [0],
    }
