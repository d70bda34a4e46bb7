"""A worker goes on hearing signs, whatever one of them brings about."""

import asyncio
import logging
from collections import deque
from datetime import UTC, datetime

import pytest

from ricordo.memory.heeding import Heeding
from ricordo.memory.measuring import Measures
from ricordo.model import Turn, UserScope
from ricordo.ports import Sign

NOW = datetime(2026, 3, 1, tzinfo=UTC)


class Due:
    """A sign of a turn that waits for nobody any more."""

    due = NOW

    async def working(self) -> None:
        """Nobody else asks for it."""

    async def done(self) -> None:
        """Nobody else asks for it."""

    async def later(self, *, seconds: float) -> None:
        """Nobody else asks for it."""


class Faulty:
    """Signs of which the first ones break what hears them."""

    heard = True

    def __init__(self, *come: Exception | Sign) -> None:
        self._come = deque(come)

    def tell(self, turn: Turn, *, scope: UserScope, due: datetime) -> None:
        """Nobody tells anything."""

    async def take(self) -> Sign:
        """The next one; in the end there are no more."""
        if not self._come:
            await asyncio.Event().wait()
        come = self._come.popleft()
        if isinstance(come, Exception):
            raise come
        return come

    async def close(self) -> None:
        """There is no connection."""


async def test_an_unforeseen_error_ends_no_hearing(caplog: pytest.LogCaptureFixture) -> None:
    """Signs come from outside: one that breaks the worker's ear must not leave it deaf for good.
    The log names the error's type, never what it says."""
    rung = asyncio.Event()
    signs = Faulty(OverflowError("secret words"), KeyError("more of them"), Due())
    heeding = Heeding(signs, clock=lambda: NOW, ring=rung.set, room=lambda: 1, measures=Measures())
    hearing = asyncio.create_task(heeding.run())
    with caplog.at_level(logging.ERROR):
        async with asyncio.timeout(60):
            await rung.wait()
    hearing.cancel()
    await asyncio.gather(hearing, return_exceptions=True)
    assert heeding.next() is not None
    assert [record.getMessage().split("(")[1] for record in caplog.records] == [
        "OverflowError)",
        "KeyError)",
    ]
