"""Relays as processes: killed at any time, put to sleep over a takeover, on one ledger."""

import asyncio
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.memory.relaying import RELAY
from ricordo.settings import Settings
from tests.support.nats_server import NatsServer
from tests.support.relaying import (
    PATIENCE,
    check_whole,
    make_streams,
    now,
    relayed,
    settings_for,
    tell,
)

LEASE = "1.0"
_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    return settings_for(server.url, prefix=f"q{next(_numbers)}")


@pytest.fixture
async def ledger(tmp_path: Path, settings: Settings) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as opened:
        await make_streams(opened, settings)
        yield opened


class Relays:
    """Processes that relay from one ledger."""

    def __init__(self, file: Path, settings: Settings) -> None:
        self._file = file
        self._settings = settings
        self._numbers = count()
        self.processes: list[subprocess.Popen[str]] = []

    async def start(self) -> subprocess.Popen[str]:
        process = self._spawned()
        self.processes.append(process)
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == "ready\n"
        return process

    def _spawned(self) -> subprocess.Popen[str]:
        settings = self._settings
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.service.relay_nursery", str(self._file)),
                *(settings.nats_url or "", settings.nats_prefix),
                *(f"relay-{next(self._numbers)}", LEASE),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self, process: subprocess.Popen[str]) -> None:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        self.processes.remove(process)


@pytest.fixture
def relays(tmp_path: Path, settings: Settings) -> Iterator[Relays]:
    running = Relays(tmp_path / "memory.db", settings)
    yield running
    for process in list(running.processes):
        running.kill(process)


async def beyond(ledger: SqliteLedger, position: int) -> int:
    """Until the relay is further than that; how far it is."""
    async with asyncio.timeout(PATIENCE):
        while (reached := await ledger.position(RELAY) or 0) <= position:
            await asyncio.sleep(0.01)
    return reached


async def put_to_sleep(process: subprocess.Popen[str], ledger: SqliteLedger) -> None:
    """Stop it anywhere but inside a commit: there it would hold the file's lock, and whoever
    writes to the file would wait for it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            process.send_signal(signal.SIGSTOP)
            try:
                async with asyncio.timeout(3):
                    await ledger.vacate("nothing", holder="nobody")
                return
            except TimeoutError:
                process.send_signal(signal.SIGCONT)
                await asyncio.sleep(0.05)


async def test_two_relays_killed_at_random_lose_and_repeat_nothing(
    ledger: SqliteLedger, settings: Settings, relays: Relays
) -> None:
    """Promise 4 for events: each was announced once, in order, whoever died when."""
    dice = random.Random(7)
    one, other = await relays.start(), await relays.start()
    for _ in range(4):
        before = await ledger.latest()
        await tell(ledger, 150)
        await beyond(ledger, before)
        victim = dice.choice([one, other])
        relays.kill(victim)
        survivor = other if victim is one else one
        one, other = survivor, await relays.start()
    await tell(ledger, 150)
    await relayed(ledger)
    found = await check_whole(ledger, settings)
    assert [seen.seq for seen in found] == list(range(1, 751))


async def test_a_relay_that_is_put_to_sleep_and_woken_breaks_no_order(
    ledger: SqliteLedger, settings: Settings, relays: Relays
) -> None:
    """SIGSTOP while it relays; another one takes over; then it wakes, with events in its hands."""
    enough = asyncio.Event()

    async def go_on_telling() -> None:
        while not enough.is_set():
            await tell(ledger, 20, at_once=5)

    telling = asyncio.create_task(go_on_telling())
    sleeper = await relays.start()
    await beyond(ledger, 50)
    await put_to_sleep(sleeper, ledger)
    asleep_at = await ledger.position(RELAY) or 0
    await relays.start()
    reached = await beyond(ledger, asleep_at)
    sleeper.send_signal(signal.SIGCONT)
    await beyond(ledger, reached + 50)
    enough.set()
    await telling
    await relayed(ledger)
    found = await check_whole(ledger, settings)
    assert [seen.seq for seen in found] == list(range(1, len(found) + 1))
