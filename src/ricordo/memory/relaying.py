"""The relay: one process of many carries the outbox to a stream outside, in order."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime

from ricordo.errors import RicordoError
from ricordo.events import Event, UserMemoryErased
from ricordo.memory.readmitting import readmitted
from ricordo.model import pause_after
from ricordo.ports import EventStream, Ledger, Reached

_log = logging.getLogger(__name__)

RELAY = "relay:nats"
"""The office of the relay, and the consumer under which it acknowledges."""

LEASE = 5.0
"""Seconds after which another process takes over from one that is not heard of any more."""

AT_ONCE = 500
"""Events that are in flight together."""

_WORST = 5.0
"""Longest pause between attempts, in seconds."""


class Relay:
    """Carries events from the outbox to a stream, while it is elected.

    The stream itself says how far it is, and takes nothing from a writer that missed something. So
    a relay that was paused while another one took over can neither publish out of order nor
    acknowledge; and one that dies loses nothing and repeats nothing.

    Args:
        holder: who relays; of all processes one is elected.
        poll: seconds between looks at what was announced, where nobody rings.
    """

    def __init__(
        self,
        ledger: Ledger,
        stream: EventStream,
        *,
        holder: str,
        clock: Callable[[], datetime],
        lease: float = LEASE,
        poll: float = 0.1,
    ) -> None:
        self._ledger = ledger
        self._stream = stream
        self._holder = holder
        self._clock = clock
        self._lease = lease
        self._poll = poll
        self._term: int | None = None
        self._renewed = 0.0
        self._position: int | None = None

    async def run(self) -> None:
        """Relay until cancelled; what stands in the way is logged, and tried again."""
        failures = 0
        fault = ""
        try:
            while True:
                try:
                    carried = await self.turn()
                    if failures:
                        _log.info("events are relayed again")
                    failures, fault, wait = 0, "", 0.0 if carried else self._poll
                except RicordoError as error:
                    failures += 1
                    wait = pause_after(failures, first=self._poll, worst=_WORST)
                    if str(error) != fault:
                        fault = str(error)
                        _log.warning("events wait (%s: %s)", type(error).__name__, error)
                await asyncio.sleep(wait)
        finally:
            await self.resign()

    async def drain(self) -> int:
        """Relay everything that was announced before; how many events. Waits to be elected.

        Raises: as `ricordo.ports.EventStream.open`.
        """
        last = await self._ledger.latest()
        carried = 0
        while (await self._ledger.position(RELAY) or 0) < last:
            more = await self.turn()
            carried += more
            if not more and self._position is not None:
                break  # elected, and what was to come was erased
            if not more:
                await asyncio.sleep(self._poll)
        return carried

    async def turn(self) -> int:
        """Carry the next events, if elected; how many.

        Raises: as `ricordo.ports.EventStream.open`.
        """
        if not await self._elected():
            return 0
        if self._position is None:
            self._position = await self._resumed()
        events = await self._ledger.announced(after=self._position, limit=AT_ONCE)
        if not events:
            return 0
        self._position = None  # in doubt until it is known
        carried = await self._stream.append(events)
        await self._forget([event for _, event in events[:carried]])
        if carried and not await self._report(events[carried - 1][0]):
            return carried
        if carried == len(events):
            self._position = events[-1][0]
        return carried

    async def lag(self) -> tuple[int, float]:
        """Events that wait to be relayed, and for how many seconds the oldest has waited."""
        position = await self._ledger.position(RELAY) or 0
        behind = max(await self._ledger.latest() - position, 0)
        waiting = await self._ledger.announced(after=position, limit=1) if behind else []
        if not waiting:
            return 0, 0.0
        return behind, max((self._clock() - waiting[0][1].at).total_seconds(), 0.0)

    async def resign(self) -> None:
        """Let another process relay at once."""
        if self._term is not None:
            self._term = None
            try:
                await self._ledger.vacate(RELAY, holder=self._holder)
            except RicordoError as error:
                _log.warning("the relay's office ends by itself (%s)", type(error).__name__)

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        await self._stream.close()

    async def _elected(self) -> bool:
        """Whether this process relays; asked of the ledger long before the lease ends, and whenever
        it is in doubt what the stream has."""
        now = asyncio.get_running_loop().time()
        sure = self._term is not None and self._position is not None
        if sure and now - self._renewed < self._lease / 4:
            return True
        term = await self._ledger.hold(
            RELAY, holder=self._holder, at=self._clock(), seconds=self._lease
        )
        fresh = term != self._term
        self._term, self._renewed = term, now
        if fresh:
            self._position = None
        if fresh and term is not None:
            await readmitted(self._ledger, RELAY)
            # From the first time on, events wait for the relay, however long its stream is away.
            return await self._report(0)
        return term is not None

    async def _report(self, position: int) -> bool:
        term = self._term
        if term is not None and await self._ledger.report(RELAY, position=position, term=term):
            return True
        self._term = None
        return False

    async def _resumed(self) -> int:
        """Where to go on: after what the stream has, which may be more than was acknowledged."""
        acknowledged = await self._ledger.position(RELAY) or 0
        reached = await self._stream.open()
        if reached is None or reached.position <= acknowledged:
            return acknowledged
        if not await self._ours(reached):
            _log.warning("the stream is ahead of this ledger, as after a restored backup")
            return acknowledged
        await self._settle(acknowledged, reached.position)
        return reached.position

    async def _ours(self, reached: Reached) -> bool:
        """Whether the stream's newest event is this ledger's: one that was restored from a backup
        gives the same positions to other events."""
        if reached.position > await self._ledger.latest():
            return False
        found = await self._ledger.announced(after=reached.position - 1, limit=1)
        if not found or found[0][0] != reached.position:
            return True  # erased since
        return found[0][1].id == reached.event_id

    async def _settle(self, after: int, last: int) -> None:
        """Finish what a relay before this one had published and not acknowledged."""
        while events := await self._ledger.announced(after=after, limit=AT_ONCE):
            await self._forget([event for place, event in events if place <= last])
            after = events[-1][0]
            if after >= last:
                break
        await self._report(last)

    async def _forget(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, UserMemoryErased):
                await self._stream.forget(event)
