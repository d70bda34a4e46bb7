"""What a worker does about signs: it looks at the queue, and keeps a sign until that has an end."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime

from ricordo.errors import RicordoError
from ricordo.memory.measuring import Measures
from ricordo.model import pause_after
from ricordo.ports import Count, Sign, Signs

_log = logging.getLogger(__name__)

BEAT = 5.0
"""Seconds between two words that a sign is being worked on."""

_WORST = 5.0
"""Longest pause between attempts to hear signs, in seconds."""

_STEP = 0.25
"""Looks that are due within as many seconds are one look."""


class Heeding:
    """The signs in the hands of one worker.

    Args:
        ring: makes the worker look at the queue.
        room: how many batches more the worker could begin with.
    """

    def __init__(
        self,
        signs: Signs,
        *,
        clock: Callable[[], datetime],
        ring: Callable[[], None],
        room: Callable[[], int],
        measures: Measures,
    ) -> None:
        self._signs = signs
        self._clock = clock
        self._ring = ring
        self._room = room
        self._measures = measures
        self._held: deque[Sign] = deque()
        self._settled = asyncio.Event()
        self._looks: set[int] = set()

    @property
    def heard(self) -> bool:
        """Whether signs can be heard at present; if not, the queue must be looked at more often."""
        return self._signs.heard

    async def run(self) -> None:
        """Take signs until cancelled; where none can be heard, that is logged, and tried again."""
        faults = 0
        while True:
            try:
                await self._take_on()
            except Exception as error:  # noqa: BLE001 - whatever a sign from outside brings about,
                # the next one is heard; by name only, for its message may quote anything.
                name = type(error).__name__
                _log.error("signs are not heard for a reason that nobody foresaw (%s)", name)
                faults += 1
                await asyncio.sleep(pause_after(faults, first=0.1, worst=_WORST))

    async def _take_on(self) -> None:
        failures, fault = 0, ""
        while True:
            self._settled.clear()
            if len(self._held) >= self._room():
                await self._settled.wait()
                continue
            try:
                sign = await self._signs.take()
            except RicordoError as error:
                failures += 1
                if str(error) != fault:
                    fault = str(error)
                    _log.warning("no signs are heard (%s: %s)", type(error).__name__, error)
                await asyncio.sleep(pause_after(failures, first=0.1, worst=_WORST))
                continue
            if failures:
                _log.info("signs are heard again")
            failures, fault = 0, ""
            await self._heed(sign)

    def next(self) -> Sign | None:
        """A sign to be kept while a batch is worked on, if one is at hand."""
        return self._held.popleft() if self._held else None

    async def nothing_waits(self) -> None:
        """The queue was looked at, and has nothing more for now: every sign has done its part."""
        while self._held:
            await self._held.popleft().done()
        self.settled()

    def settled(self) -> None:
        """There may be room for signs again."""
        self._settled.set()

    async def give_back(self) -> None:
        """Let others have the signs that were not acted on."""
        while self._held:
            await self._held.popleft().later(seconds=0.0)

    @asynccontextmanager
    async def kept(self, sign: Sign | None) -> AsyncGenerator[None]:
        """Say now and then that a sign is being worked on, for the time of the ``async with``."""
        if sign is None:
            yield
            return
        task = asyncio.create_task(_beat(sign))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _heed(self, sign: Sign) -> None:
        self._measures.add(Count.SIGNS, by="taken")
        wait = (sign.due - self._clock()).total_seconds()
        if wait > 0:
            # Others may join the turn until then; the look by the clock finds it if they do not.
            self._look_in(wait)
            await sign.done()
        else:
            self._held.append(sign)
        self._ring()

    def _look_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        step = int((loop.time() + seconds) / _STEP) + 1
        if step not in self._looks:
            self._looks.add(step)
            loop.call_at(step * _STEP, self._look, step)

    def _look(self, step: int) -> None:
        self._looks.discard(step)
        self._ring()


async def _beat(sign: Sign) -> None:
    while True:
        await asyncio.sleep(BEAT)
        await sign.working()
