"""Questions go before documents: somebody waits for an answer, nobody for a document."""

import asyncio
import os
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

PATIENCE = 0.5
"""Seconds that documents let questions go before, each time; so they come through at last."""

NICE = 5
"""How much a thread steps back for others of this machine."""


class Precedence:
    """Tells those who embed documents whether a question is being embedded."""

    def __init__(self) -> None:
        self._asking = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    @contextmanager
    def question(self) -> Generator[None]:
        """While a question is being embedded."""
        self._asking += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._asking -= 1
            if not self._asking:
                self._quiet.set()

    async def give_way(self) -> None:
        """Return when no question is being embedded, or after `PATIENCE`."""
        try:
            async with asyncio.timeout(PATIENCE):
                await self._quiet.wait()
        except TimeoutError:
            return


def step_back() -> None:
    """Let the calling thread have the processor after others; where only a process can, nothing."""
    if sys.platform == "linux":
        with suppress(OSError):  # a sandbox may forbid it: then all threads are alike
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
