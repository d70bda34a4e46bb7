"""Partitions kept in memory, brought up to date by their generation, bounded by bytes."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from ricordo.adapters.local.loaded import Loaded, load
from ricordo.errors import SpaceMismatch, Unavailable
from ricordo.model import Partition, Scope, Space
from ricordo.ports import Ledger, PartitionState, Reading, Rows

Telling = Callable[[], Awaitable[Space]]
"""Tells the space that questions are asked in; raises `Unavailable` while nobody knows it."""

_AT_ONCE = 64
"""Changed rows up to which an update is quicker done here than handed to a thread."""


class Shelves:
    """Gives partitions as the ledger knows them at the time of the call.

    One task at a time reads a partition, whoever asks; it goes on when the asker is cancelled, so
    that the next one finds it warm. What is on a shelf is never changed, only replaced.

    Args:
        space: tells the space that questions are asked in.
        bound: bytes that stay loaded, about.
        plain: without vectors.
    """

    def __init__(self, ledger: Ledger, *, space: Telling, bound: int, plain: bool = False) -> None:
        self._ledger = ledger
        self._space = space
        self._bound = bound
        self._plain = plain
        self._kept: OrderedDict[Partition, Loaded] = OrderedDict()
        self._loading: dict[Partition, asyncio.Task[Loaded]] = {}

    async def fresh(
        self, partitions: Sequence[Partition], *, states: Sequence[PartitionState] | None = None
    ) -> list[tuple[Partition, Loaded]]:
        """Those of the partitions that hold something, with everything acknowledged so far.

        Args:
            states: as the caller has just read them; what was acknowledged before that is there.

        Raises:
            SpaceMismatch: one was indexed in another space.
        """
        seen = {s.partition: s for s in states or ()}
        if states is None:
            seen = await self._states(partitions)
        known = [seen[p] for p in partitions if p in seen and seen[p].size]
        asked = await self._space() if known else None
        held = {state.partition for state in known if state.space == asked}
        for partition in partitions:
            if partition not in held:
                self._discard(partition)
        for state in known:
            check_space(state.partition, state.space, asked=asked)
        found = {state.partition: self._current(state) for state in known}
        late = [state for state in known if found[state.partition] is None]
        if late:
            read = await asyncio.gather(*(self._reach(state) for state in late))
            found |= {state.partition: loaded for state, loaded in zip(late, read, strict=True)}
        return [(partition, loaded) for partition, loaded in found.items() if loaded is not None]

    def drop(self, scope: Scope) -> None:
        """Let go of everything of a scope, what is being read included."""
        for partition in [*self._kept, *self._loading]:
            if partition.scope == scope:
                self._discard(partition)

    @property
    def nbytes(self) -> int:
        """Bytes held, about."""
        return sum(loaded.nbytes for loaded in self._kept.values())

    async def close(self) -> None:
        """Stop reading and let go of everything."""
        tasks = list(self._loading.values())
        self._loading.clear()
        self._kept.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _states(self, partitions: Sequence[Partition]) -> dict[Partition, PartitionState]:
        scopes = tuple(dict.fromkeys(partition.scope for partition in partitions))

        async def look(tx: Reading) -> list[PartitionState]:
            return [state for scope in scopes for state in await tx.partitions(scope=scope)]

        states = await self._ledger.read(look, scopes=scopes)
        return {state.partition: state for state in states}

    def _current(self, state: PartitionState) -> Loaded | None:
        """What is kept of the partition, if it is at the generation that was seen or later."""
        kept = self._kept.get(state.partition)
        if kept is None or kept.generation < state.generation:
            return None
        self._kept.move_to_end(state.partition)
        return kept

    async def _reach(self, state: PartitionState) -> Loaded:
        """The partition at the generation that was seen, or a later one."""
        kept = self._current(state)
        if kept is not None:
            return kept
        running = self._loading.get(state.partition)
        if running is not None:
            loaded = await _result(running)
            if loaded.generation >= state.generation:
                return loaded
        # Whatever runs now was begun after the state was read, and so is new enough.
        running = self._loading.get(state.partition)
        if running is None:
            running = asyncio.create_task(self._load(state.partition))
            running.add_done_callback(_seen)
            self._loading[state.partition] = running
        return await _result(running)

    async def _load(self, partition: Partition) -> Loaded:
        try:
            kept = self._kept.get(partition)
            rows = await self._rows(partition, since=None if kept is None else kept.generation)
            check_space(partition, rows.space, asked=await self._space())
            loaded = await self._made(rows, kept)
            if self._loading.get(partition) is asyncio.current_task():
                self._keep(partition, loaded)
            return loaded
        finally:
            if self._loading.get(partition) is asyncio.current_task():
                del self._loading[partition]

    async def _rows(self, partition: Partition, *, since: int | None) -> Rows:
        async def look(tx: Reading) -> Rows:
            rows = tx.plain_rows if self._plain else tx.rows
            return await rows(partition=partition, since=since)

        return await self._ledger.read(look, scopes=(partition.scope,))

    async def _made(self, rows: Rows, kept: Loaded | None) -> Loaded:
        def make() -> Loaded:
            if kept is None or rows.complete:
                dimension = 0 if self._plain or rows.space is None else rows.space.dimension
                return load(rows, dimension=dimension)
            return kept.changed(rows)

        if len(rows.ids) + len(rows.removed) <= _AT_ONCE:
            return make()
        return await asyncio.to_thread(make)

    def _keep(self, partition: Partition, loaded: Loaded) -> None:
        self._kept[partition] = loaded
        self._kept.move_to_end(partition)
        held = self.nbytes
        while held > self._bound:
            _, oldest = self._kept.popitem(last=False)
            held -= oldest.nbytes

    def _discard(self, partition: Partition) -> None:
        self._kept.pop(partition, None)
        self._loading.pop(partition, None)


def check_space(partition: Partition, space: Space | None, *, asked: Space | None) -> None:
    """Raise `SpaceMismatch` for a partition that was indexed in another space."""
    if space is not None and asked is not None and space != asked:
        raise SpaceMismatch(
            f"{partition.kind.value}s of {partition.scope} are indexed with {_words(space)}, "
            f"but this index uses {_words(asked)}; run `ricordo reindex`, "
            "or set the former model again"
        )


async def _result(task: asyncio.Task[Loaded]) -> Loaded:
    """What another task reads; its asker may be cancelled without harm to it."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError as cancelled:
        if task.cancelled():
            raise Unavailable("the index was closed while it was reading") from cancelled
        raise


def _seen(task: asyncio.Task[Loaded]) -> None:
    # Whoever still waits gets the error; when all were cancelled, nobody is left to read it.
    if not task.cancelled():
        task.exception()


def told(space: Space | Telling) -> Telling:
    """What tells the space, of the space itself as well."""
    if not isinstance(space, Space):
        return space
    known = space

    async def tell() -> Space:
        return known

    return tell


def check_vector(vector: bytes | None, *, space: Space) -> None:
    """Raise `SpaceMismatch` where a question's vector is of another length than the space's."""
    if vector is not None and len(vector) != 4 * space.dimension:
        raise SpaceMismatch(
            f"the question's vector has {len(vector) // 4} dimensions, "
            f"this index {space.dimension}; run `ricordo reindex`, or set the former model again"
        )


def _words(space: Space) -> str:
    return (
        f"{space.model} ({space.dimension} dimensions, transform {space.transform}, "
        f"words {space.words})"
    )
