"""Wakes everybody who waits, and forgets that it rang."""

import asyncio
from contextlib import suppress


class Bell:
    """A nudge for any number of waiters.

    Take `listen` before looking for news and `wait` afterwards, then no ring is missed between.
    """

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def listen(self) -> asyncio.Event:
        """The next ring, not heard yet."""
        return self._rung

    def ring(self) -> None:
        """Wake everybody who listened before."""
        rung, self._rung = self._rung, asyncio.Event()
        rung.set()

    @staticmethod
    async def wait(rung: asyncio.Event, *, seconds: float) -> None:
        """Until it rings, at most that long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await rung.wait()
