"""Views for the tests: a graph that is fed before it is walked, and no other way to find."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Any

from ricordo.memory.viewing.feeding import Feeder
from ricordo.model import Hits, Partition, Scope, Sought
from ricordo.ports import GraphIndex, PartitionState, VectorIndex, Walk


class Nobody:
    """Stands where the ledger's own search would help out: here the view alone must do."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"the view did not answer; the ledger was asked to {name}")


class FedGraph:
    """A graph index after catching up: before each question the view is fed."""

    def __init__(self, graph: GraphIndex, feeder: Feeder) -> None:
        self._graph = graph
        self._feeder = feeder
        self._lock = asyncio.Lock()

    async def walk(self, names: Sequence[str], **asked: Any) -> Walk:
        await self._feed(asked["scopes"])
        return await self._graph.walk(names, **asked)

    async def paths(self, start: str, end: str, **asked: Any) -> Walk:
        await self._feed(asked["scopes"])
        return await self._graph.paths(start, end, **asked)

    async def _feed(self, scopes: Sequence[Scope]) -> None:
        async with self._lock:
            for scope in scopes:  # those that hold nothing yet too, so that the view is asked
                await self._feeder.sync.sync(scope)


class FedIndex:
    """A vector index after catching up: before each question the view is fed."""

    def __init__(self, index: VectorIndex, feeder: Feeder) -> None:
        self._index = index
        self._feeder = feeder
        self._lock = asyncio.Lock()

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
        async with self._lock:
            await self._feeder.sweep()
        hits = await self._index.search(
            sought, partitions=partitions, limit=limit, at=at, coming=coming, states=states
        )
        assert not hits.missing, "the view did not answer"
        return hits

    async def similarity(self, pairs: Sequence[str], **asked: Any) -> Any:
        return await self._index.similarity(pairs, **asked)

    @property
    def memory_used(self) -> int:
        return self._index.memory_used

    def drop(self, *, scope: Scope) -> None:
        self._index.drop(scope=scope)
