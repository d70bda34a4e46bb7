"""`HybridHistory`: a cache in front of a durable history, which stays the truth.

What keeps a copy honest:

- A message is acknowledged when the durable history has it; no copy counts for that.
- A reader that finds no copy gets a lease, reads the durable history, and fills the copy with that
  lease. A writer takes copy and lease away before *and* after it writes, and between the two nobody
  gets a lease. So a state that was read before a writing cannot get in after it, in whatever order
  two writers and a loader meet, and a writer that dies halfway leaves no copy behind.
- A copy is dropped, never amended: only the durable history knows in which order two writers came,
  and what it kept of a repetition. It is filled again by reading, in the background.
- What remains is the writer that cannot reach the cache at all. Its own process then passes by the
  cache for that conversation, and keeps trying to take the copy away. For everybody else a copy
  counts for `staleness` seconds from when its reading began, by the cache's own clock, and no
  longer: that is the bound.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agent_framework import HistoryProvider, InMemoryHistoryProvider, Message

from ricordo.errors import RicordoError
from ricordo.hosts.maf.owned import OwnedHistory
from ricordo.hosts.maf.packing import pack, unpack
from ricordo.model import Conversation, new_id
from ricordo.ports import Glance, HistoryCache

logger = logging.getLogger("ricordo.maf")

T = TypeVar("T")

REST = 1.0
"""Seconds for which reading passes by a cache that did not answer."""

LARGEST = 2_000_000
"""Bytes of a copy; a longer conversation is read from the durable history."""

POLL = (0.002, 0.05)
"""Seconds between looks at what another process is loading: the first, and at most."""


@dataclass(slots=True, kw_only=True)
class Flight:
    """A reading that others of this process may share."""

    task: asyncio.Task[list[Message]]
    began: float


@dataclass(slots=True)
class HybridCounts:
    """What the cache did since the provider was made.

    Args:
        hits: copies that were served.
        loads: readings of the durable history.
        shared: readings that another caller's reading answered.
        faults: calls of the cache that failed.
        rubbish: copies that were no copies.
    """

    hits: int = 0
    loads: int = 0
    shared: int = 0
    faults: int = 0
    rubbish: int = 0


class HybridHistory(OwnedHistory):
    """Reads through a cache, writes to the durable history first; one loader per conversation.

    Args:
        durable: one of the framework's histories, or any other; it stays open when this closes.
        cache: copies in front of it.
        staleness: seconds that a copy may be old. Only a writing that could not reach the cache can
            be missing in it.
        wait: seconds to wait for another process that is loading the same conversation.
        refill: after a writing, fill the copy again in the background.
        options: of `OwnedHistory`.
    """

    def __init__(
        self,
        durable: HistoryProvider,
        cache: HistoryCache,
        *,
        staleness: float = 60.0,
        wait: float = 1.0,
        refill: bool = True,
        **options: Any,
    ) -> None:
        if staleness < 0:
            raise ValueError("staleness must not be negative")
        if isinstance(durable, InMemoryHistoryProvider):
            raise ValueError(  # noqa: TRY004 - of the right type, and yet of no use here
                "a history that the session carries is not durable; name another one"
            )
        super().__init__(**options)
        self._durable = durable
        self._cache = cache
        self._staleness = staleness
        self._wait = wait
        self._refill = refill
        self._flights: dict[str, Flight] = {}
        self._owed: dict[str, tuple[Conversation, float]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._resting = [0.0]
        self.counts = HybridCounts()

    async def load(self, conversation: Conversation, *, state: dict[str, Any]) -> list[Message]:
        """The stored messages, oldest first: from the copy, or from the durable history."""
        del state  # neither copy nor durable history is in the session
        flight = self._flights.get(conversation.key)
        if flight is None or time.monotonic() - flight.began >= self._staleness:
            flight = self._begin(conversation)
        else:
            self.counts.shared += 1
        # Shielded: a caller that gives up must not take the reading from the others.
        return list(await asyncio.shield(flight.task))

    async def store(
        self, conversation: Conversation, messages: Sequence[Message], *, state: dict[str, Any]
    ) -> None:
        """Append messages to the durable history; the copy goes before and after."""
        del state
        writer = new_id("w")
        self._flights.pop(conversation.key, None)
        told = not self._rests and await self._told(self._cache.hold(conversation, writer=writer))
        try:
            await self._durable.save_messages(conversation.key, messages)
        finally:
            # A reading that began before the end of the writing answers nobody who comes later.
            self._flights.pop(conversation.key, None)
            # While the cache rests nobody waits for it, unless it holds the copy for this writing.
            released = (told or not self._rests) and await self._told(
                self._cache.release(conversation, writer=writer)
            )
            if not told and not released:
                self._owe(conversation)
        if self._refill and released:
            self._begin(conversation)

    async def drop(self, conversation: Conversation) -> None:
        """Let go of the copy; what cannot be let go of now is passed by until it is."""
        self._flights.pop(conversation.key, None)
        if not await self._told(self._cache.release(conversation, writer="")):
            self._owe(conversation)

    async def close(self) -> None:
        """End what goes on in the background."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, conversation: Conversation) -> Flight:
        key = conversation.key
        task = self._spawn(self._read(conversation))
        flight = self._flights[key] = Flight(task=task, began=time.monotonic())
        task.add_done_callback(lambda _: self._landed(key, flight))
        return flight

    async def _read(self, conversation: Conversation) -> list[Message]:
        glance = await self._glance(conversation)
        if glance.payload is not None:
            messages = unpack(glance.payload, key=conversation.key)
            if messages is not None:
                self.counts.hits += 1
                return messages
            self.counts.rubbish += 1
            logger.warning(
                "thread %r: its copy was unreadable, and is dropped", conversation.thread
            )
            await self._told(self._cache.release(conversation, writer=""))
            glance = await self._look(conversation) or Glance()
        self.counts.loads += 1
        try:
            messages = await self._durable.get_messages(conversation.key)
        except Exception:
            if glance.lease is not None:  # let others try at once
                await self._told(self._cache.release(conversation, writer=""))
            raise
        if glance.lease is not None:
            payload = pack(messages, key=conversation.key)
            if len(payload) <= LARGEST:
                lease = glance.lease
                await self._told(self._cache.fill(conversation, payload=payload, lease=lease))
        return messages

    async def _glance(self, conversation: Conversation) -> Glance:
        """A copy or a lease; nothing when there is neither, in the time that waiting may take."""
        pause, end = POLL[0], time.monotonic() + self._wait
        while not self._rests and conversation.key not in self._owed:
            glance = await self._look(conversation)
            if glance is None or not glance.loading or time.monotonic() >= end:
                return glance or Glance()
            await asyncio.sleep(pause)
            pause = min(2 * pause, POLL[1])
        return Glance()

    async def _look(self, conversation: Conversation) -> Glance | None:
        began = time.monotonic()
        try:
            glance = await self._cache.look(conversation, within=self._staleness)
        except RicordoError as error:
            self._failed(error)
            return None
        # The answer itself took time, in which the copy grew older.
        late = glance.age + time.monotonic() - began > self._staleness
        return Glance() if glance.payload is not None and late else glance

    async def _told(self, call: Coroutine[Any, Any, object]) -> bool:
        """Whether the cache did what it was told."""
        try:
            await call
        except RicordoError as error:
            self._failed(error)
            return False
        return True

    def _failed(self, error: RicordoError) -> None:
        self.counts.faults += 1
        if not self._rests:
            logger.warning("the cache of histories is passed by: %s", error)
        self._resting[0] = time.monotonic() + REST

    @property
    def _rests(self) -> bool:
        return time.monotonic() < self._resting[0]

    def _owe(self, conversation: Conversation) -> None:
        """Remember a copy that must go; a copy that is older than its lifetime is gone anyway."""
        start = not self._owed
        self._owed[conversation.key] = (conversation, time.monotonic() + self._cache.lifetime)
        if start:
            self._spawn(self._pay())

    async def _pay(self) -> None:
        while self._owed:
            await asyncio.sleep(REST / 2)
            for key, debt in list(self._owed.items()):
                gone = time.monotonic() >= debt[1]
                if not gone and not await self._told(self._cache.release(debt[0], writer="")):
                    break
                if self._owed.get(key) is debt:  # else a writing since then owes it anew
                    del self._owed[key]

    def _landed(self, key: str, flight: Flight) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:  # whoever waits for it hears it too; nobody may have waited
            logger.info("a reading of a history failed (%s)", type(error).__name__)
