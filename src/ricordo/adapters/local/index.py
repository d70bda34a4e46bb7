"""The local index: exact cosine and BM25 over rows that a ledger stores ready to use."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.likeness import Likeness
from ricordo.adapters.local.loaded import Loaded
from ricordo.adapters.local.ranking import Search
from ricordo.adapters.local.shelves import Shelves, Telling, check_vector, told
from ricordo.model import Hits, Partition, Scope, Sought, Space
from ricordo.ports import Ledger, PartitionState

T = TypeVar("T")

MEBIBYTE = 1 << 20

_SCANNED_AT_ONCE = 4_000_000
"""Numbers up to which a scan is done here: a millisecond or two, less than a busy host may take to
wake a thread."""


class LocalIndex:
    """Implements `ricordo.ports.VectorIndex` over any ledger, in memory.

    Partitions are loaded when they are first asked for and followed by their generation, so that
    every search sees what any process acknowledged before it. A word's document frequency is the
    number of visible memories that hold any of its alternatives.

    Args:
        ledger: where the rows are; not closed with the index.
        space: the space that questions are asked in, or what tells it when it is needed;
            partitions of another are refused.
        max_bytes: how much stays loaded, about; the least recently asked partition goes first.
            A single partition above it is loaded anew for every question.
    """

    def __init__(
        self, ledger: Ledger, *, space: Space | Telling, max_bytes: int = 512 * MEBIBYTE
    ) -> None:
        if max_bytes < 0:
            raise ValueError("max_bytes must not be negative")
        self._space = told(space)
        self._shelves = Shelves(ledger, space=self._space, bound=max_bytes)

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
        """Bytes of loaded partitions, about."""
        return self._shelves.nbytes

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
        """See `ricordo.ports.VectorIndex`. Nothing is found for a limit below 1.

        Raises:
            SpaceMismatch: a partition was indexed with another model, transform or analyzer.
        """
        if limit < 1 or not partitions:
            return Hits()
        shelves = await self._shelves.fresh(tuple(dict.fromkeys(partitions)), states=states)
        size = sum(loaded.size for _, loaded in shelves)
        if not size:
            return Hits()
        space = await self._space()
        check_vector(sought.vector, space=space)
        run = runner(size * space.dimension)
        search = await run(lambda: Search(shelves, sought, at=at))
        vector = sought.vector
        if coming is not None:
            vector = await coming
            check_vector(vector, space=space)
        return await run(lambda: search.hits(vector, limit=limit))

    async def similarity(
        self,
        pairs: Sequence[str],
        *,
        partitions: Sequence[Partition],
        states: Sequence[PartitionState] | None = None,
    ) -> Mapping[tuple[str, str], float]:
        """See `ricordo.ports.VectorIndex`. A pair is found in either order; ids that are not in
        the partitions are left out."""
        shelves = await self._shelves.fresh(tuple(dict.fromkeys(partitions)), states=states)
        vectors: dict[str, NDArray[np.float32]] = {}
        for memory_id in dict.fromkeys(pairs):
            vector = _vector_of(memory_id, shelves)
            if vector is not None:
                vectors[memory_id] = vector
        return Likeness(list(vectors), list(vectors.values()))

    async def fresh(
        self, partitions: Sequence[Partition], *, states: Sequence[PartitionState] | None = None
    ) -> list[tuple[Partition, Loaded]]:
        """Those of the partitions that hold something, loaded; for who searches more than these.

        Raises:
            SpaceMismatch: one was indexed with another model, transform or analyzer.
        """
        if not partitions:
            return []
        return await self._shelves.fresh(tuple(dict.fromkeys(partitions)), states=states)

    def drop(self, *, scope: Scope) -> None:
        """Let go of everything of a scope at once, as when it was erased."""
        self._shelves.drop(scope)

    async def close(self) -> None:
        """Stop reading and let go of everything; closing twice is not an error."""
        await self._shelves.close()


def runner(numbers: int) -> Callable[[Callable[[], T]], Awaitable[T]]:
    """Where to scan so many numbers: here, or on a thread."""
    return _here if numbers <= _SCANNED_AT_ONCE else asyncio.to_thread


async def _here(work: Callable[[], T]) -> T:
    return work()


def _vector_of(
    memory_id: str, shelves: Sequence[tuple[Partition, Loaded]]
) -> NDArray[np.float32] | None:
    found = (loaded.vector_of(memory_id) for _, loaded in shelves)
    return next((vector for vector in found if vector is not None), None)
