"""An index that searches in the database, once everything that is asked for is ready there."""

from collections.abc import Awaitable, Sequence
from datetime import datetime
from typing import Any

from ricordo.adapters.local.in_database import DatabaseIndex
from ricordo.adapters.postgres import PostgresLedger
from ricordo.model import Hits, Partition, Scope, Sought
from ricordo.ports import PartitionState, Searching


class PreparedIndex:
    """A database index after getting ready: before each question whatever is large is made so."""

    def __init__(self, index: DatabaseIndex, ledger: PostgresLedger) -> None:
        self._index = index
        self._ledger = ledger

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
        await ready(self._ledger, *partitions)
        return await self._index.search(
            sought, partitions=partitions, limit=limit, at=at, coming=coming, states=states
        )

    async def similarity(self, pairs: Sequence[str], **asked: Any) -> Any:
        await ready(self._ledger, *asked["partitions"])
        return await self._index.similarity(pairs, **asked)

    @property
    def memory_used(self) -> int:
        return self._index.memory_used

    def drop(self, *, scope: Scope) -> None:
        self._index.drop(scope=scope)


async def ready(ledger: PostgresLedger, *partitions: Partition) -> None:
    """Make those of the partitions searchable that hold something."""
    for partition in dict.fromkeys(partitions):

        async def look(tx: Searching, asked: Partition = partition) -> bool:
            known = await tx.searchable(scope=asked.scope)
            return any(each.state.partition == asked for each in known)

        if await ledger.search(look, scopes=(partition.scope,)):
            while not await ledger.prepare(partition=partition):
                pass


async def prepared(ledger: PostgresLedger, scope: Scope) -> None:
    """Make everything of a scope searchable."""

    async def look(tx: Searching) -> list[Partition]:
        return [each.state.partition for each in await tx.searchable(scope=scope)]

    await ready(ledger, *await ledger.search(look, scopes=(scope,)))
