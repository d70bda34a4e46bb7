"""Feeding a view of vectors: the indexed rows of every partition."""

import struct
from collections.abc import Iterator, Mapping, Sequence

from ricordo.memory.viewing.syncing import cut, signature
from ricordo.model import Partition, Scope, Space, is_of_part, part_key, point_version
from ricordo.ports import Ledger, PartitionState, Point, Reading, Rows, VectorView, ViewBuild


class VectorSync:
    """Implements `ricordo.memory.viewing.syncing.Sync` for vectors of one space."""

    def __init__(self, ledger: Ledger, view: VectorView, build: ViewBuild, *, space: Space) -> None:
        self.build = build
        self._ledger = ledger
        self._view = view
        self._space = space

    @property
    def view(self) -> VectorView:
        """What is fed."""
        return self._view

    async def sync(self, scope: Scope) -> None:
        """See `Sync`. A partition of another space is left out until it is reindexed."""
        states = await self._states(scope)
        if not states:
            return
        key = await self._ledger.subject(scope=scope)
        parts = {state.partition: part_key(key, state.partition) for state in states}
        marks = [(key, part) for part in parts.values()]
        known = await self._ledger.marks(self.build, marks=marks)
        for state in states:
            part = parts[state.partition]
            mark = known.get((key, part))
            if mark is None and not state.size:
                continue
            if mark is None or mark < state.generation:
                await self._feed(state.partition, key=key, part=part, since=mark)

    async def expected(self, scope: Scope) -> Mapping[str, str]:
        """See `Sync`."""
        key = await self._ledger.subject(scope=scope)
        versions: dict[str, str] = {}
        for state in await self._states(scope):
            rows = await self._rows(state.partition, since=None)
            part = part_key(key, state.partition)
            versions |= {p.memory_id: p.version for p in _points(rows, part, self._space)}
        return versions

    async def mend(self, scope: Scope, ids: Sequence[str]) -> None:
        """See `Sync`."""
        key = await self._ledger.subject(scope=scope)
        await self._view.remove(ids, scope=key)
        for state in await self._states(scope):
            part = part_key(key, state.partition)
            for some in cut(ids):
                vectors = await self._vectors(state.partition, some)
                points = [_point(one, part, vector) for one, vector in vectors.items()]
                if points:
                    await self._view.upsert(points, scope=key, fresh=True)

    async def sign(self) -> None:
        """See `Sync`."""
        key = await signature(self._ledger, self.build)
        vector = struct.pack(
            f"<{self._space.dimension}f", 1.0, *(self._space.dimension - 1) * [0.0]
        )
        await self._view.upsert([_point("build", key, vector)], scope=key, fresh=False)

    async def signed(self) -> bool:
        """See `Sync`."""
        return bool(await self._view.inventory(await signature(self._ledger, self.build)))

    async def removed(self, scope: Scope, memory_ids: Sequence[str]) -> None:
        """See `Sync`."""
        await self._view.remove(memory_ids, scope=await self._ledger.subject(scope=scope))

    async def _states(self, scope: Scope) -> list[PartitionState]:
        async def look(tx: Reading) -> list[PartitionState]:
            return await tx.partitions(scope=scope)

        states = await self._ledger.read(look, scopes=(scope,))
        return [state for state in states if state.space == self._space]

    async def _rows(self, partition: Partition, *, since: int | None) -> Rows:
        async def look(tx: Reading) -> Rows:
            return await tx.rows(partition=partition, since=since)

        return await self._ledger.read(look, scopes=(partition.scope,))

    async def _vectors(self, partition: Partition, ids: Sequence[str]) -> Mapping[str, bytes]:
        async def look(tx: Reading) -> Mapping[str, bytes]:
            return await tx.vectors(ids, partition=partition)

        return await self._ledger.read(look, scopes=(partition.scope,))

    async def _feed(self, partition: Partition, *, key: str, part: str, since: int | None) -> None:
        """Bring one partition up to date, and note how far it is."""
        if since is None:
            # Noted before anything is sent: so the ledger knows that something may be there.
            await self._ledger.mark(self.build, marks={(key, part): 0})
        rows = await self._rows(partition, since=since or None)
        if rows.space is not None and rows.space != self._space:
            return
        removed, fresh = list(rows.removed), False
        if rows.complete:
            there = await self._view.inventory(key)
            mine = {one for one, version in there.items() if is_of_part(version, part)}
            removed = sorted(mine.difference(rows.ids))
            fresh = not mine
        if removed:
            await self._view.remove(removed, scope=key)
        points = list(_points(rows, part, self._space))
        for some in cut(points):
            await self._view.upsert(some, scope=key, fresh=fresh)
        await self._ledger.mark(self.build, marks={(key, part): rows.generation})


def _points(rows: Rows, part: str, space: Space) -> Iterator[Point]:
    size = 4 * space.dimension
    for number, memory_id in enumerate(rows.ids):
        yield _point(memory_id, part, rows.vectors[number * size : (number + 1) * size])


def _point(memory_id: str, part: str, vector: bytes) -> Point:
    version = point_version(part, vector)
    return Point(memory_id=memory_id, part=part, vector=vector, version=version)
