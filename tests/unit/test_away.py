"""A stream that is away for hours is waited for."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Unavailable
from ricordo.events import Event, UserMemoryErased
from ricordo.memory.relaying import Relay
from ricordo.ports import Reached

TRIES = 1_040
"""More than the powers of two that are numbers of a machine."""


class Away:
    """A stream that does not answer so many times."""

    def __init__(self) -> None:
        self.tries = 0
        self.back = asyncio.Event()

    async def open(self) -> Reached | None:
        """Reach it, in the end."""
        self.tries += 1
        if self.tries <= TRIES:
            raise Unavailable("nobody answers")
        self.back.set()
        return None

    async def append(self, events: Sequence[tuple[int, Event]]) -> int:
        """There is nothing to carry."""
        return len(events)

    async def forget(self, event: UserMemoryErased) -> None:
        """There is nothing to forget."""

    async def close(self) -> None:
        """There is no connection."""


async def test_the_relay_outlives_any_number_of_failures(tmp_path: Path) -> None:
    """Design promise 4: while NATS is away events wait, and leave when it is back. The pause is
    nothing here, and reckoned as ever."""
    stream = Away()

    def clock() -> datetime:
        return datetime.now(UTC)

    async with SqliteLedger.open(tmp_path / "memory.db", clock=clock) as ledger:
        relay = Relay(ledger, stream, holder="one", clock=clock, poll=0.0)
        relaying = asyncio.create_task(relay.run())
        back = asyncio.create_task(stream.back.wait())
        async with asyncio.timeout(120):
            await asyncio.wait({relaying, back}, return_when=asyncio.FIRST_COMPLETED)
        assert not relaying.done()
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
    assert stream.tries > TRIES
