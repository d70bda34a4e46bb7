"""One subscriber's way through the outbox."""

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ricordo.adapters.local.bell import Bell
from ricordo.errors import Retired
from ricordo.events import Event
from ricordo.ports import Outbox

_AT_ONCE = 256


class Subscription:
    """An asynchronous iterator of events; also a context, which closes it.

    It begins to find its place when it is made. What is written after it was entered, or after its
    first event was asked for, is surely delivered. An event is done with when the next one is asked
    for; a named consumer's progress is stored when it has caught up or closes, so after a crash
    some events come again. For one reader at a time.

    A consumer that was retired raises `Retired`, unless it came back; one that is retired meanwhile
    does when its progress is stored.

    Attributes:
        missed: events that were pruned while the consumer was retired, and that it never had.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        kinds: tuple[type[Event], ...],
        consumer: str | None,
        come_back: bool,
        bell: Bell,
        poll: float,
        leave: Callable[["Subscription"], None],
    ) -> None:
        self.consumer = consumer
        self.missed = 0
        self._come_back = come_back
        self._outbox = outbox
        self._kinds = kinds or (Event,)
        self._bell = bell
        self._poll = poll
        self._leave = leave
        self._read: deque[tuple[int, Event]] = deque()
        self._read_to = self._given = self._done = self._stored = -1
        self._closed = False
        self._placing = asyncio.create_task(self._place())

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        await asyncio.shield(self._placing)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def __anext__(self) -> Event:
        if not self._closed:
            await asyncio.shield(self._placing)
            self._done = max(self._done, self._given)
        while not self._closed:
            event = self._next_read()
            if event is not None:
                return event
            self._done = self._read_to
            await self._store()
            await self._read_on()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Store the progress and end; whoever waits for an event is told that there is no more."""
        if self._closed:
            return
        self._closed = True
        self._leave(self)
        self._read.clear()
        self._bell.ring()
        await asyncio.wait([self._placing])
        if self._placing.exception() is None:
            await self._store()

    def _next_read(self) -> Event | None:
        while self._read:
            position, event = self._read.popleft()
            if isinstance(event, self._kinds):
                self._given = position
                return event
        return None

    async def _place(self) -> None:
        """Find where to begin: where the consumer was, or at the end."""
        known = None if self.consumer is None else await self._outbox.position(self.consumer)
        start = await self._outbox.latest() if known is None else known
        if self.consumer is not None:
            if self._come_back:
                self.missed = await self._outbox.readmit(self.consumer) or 0
            await self._acknowledge(self.consumer, start)  # which a retired one may not
        self._read_to = self._done = self._stored = start

    async def _read_on(self) -> None:
        """Read more, or wait a little for more."""
        rung = self._bell.listen()
        more = await self._outbox.announced(after=self._read_to, limit=_AT_ONCE)
        if self._closed:
            return
        if more:
            self._read.extend(more)
            self._read_to = more[-1][0]
        else:
            await self._bell.wait(rung, seconds=self._poll)

    async def _store(self) -> None:
        if self.consumer is not None and self._done > self._stored:
            await self._acknowledge(self.consumer, self._done)
            self._stored = self._done

    async def _acknowledge(self, consumer: str, position: int) -> None:
        try:
            await self._outbox.acknowledge(consumer, position)
        except Retired:
            self._closed = True
            self._leave(self)
            raise
