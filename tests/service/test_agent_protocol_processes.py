"""Hosts of the platform's protocol as processes: killed in the middle, told to end, at work."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from nats.js.errors import NotFoundError

from ricordo import Principal
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import Turn, UserScope
from ricordo.settings import Settings
from ricordo.wiring.messaging import prepare
from tests.support.agent_platform import PATIENCE, Platform, person
from tests.support.nats_server import NatsServer
from tests.support.opening import opened

ALICE = UserScope(tenant="acme", user="alice")
RUNS = 90
KILLED_AT = (40, 60)
_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as started:
        yield started


@pytest.fixture
async def platform(server: NatsServer) -> AsyncIterator[Platform]:
    async with Platform(server.url) as there:
        yield there


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.service.protocol_nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait()
    process.stdout.close()


class Hosts:
    """Processes that serve one platform from one ledger."""

    def __init__(
        self, nursery: subprocess.Popen[str], folder: Path, platform: Platform, ledger: SqliteLedger
    ) -> None:
        self._nursery = nursery
        self._platform = platform
        self.ledger = ledger
        self.prefix = f"h{next(_numbers)}"
        self._born = json.dumps(
            {
                "folder": str(folder),
                "url": platform.url,
                "prefix": self.prefix,
                "agent_class": platform.agent_class,
            }
        )
        self.alive: list[int] = []

    async def prepare(self) -> None:
        url, prefix = self._platform.url, self.prefix
        await prepare(self.ledger, Settings(nats_url=url, nats_prefix=prefix, nats_timeout=30))

    async def start(self) -> int:
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(f"{self._born}\n")
        self._nursery.stdin.flush()
        self.alive.append(int(await self.line()))
        return self.alive[-1]

    async def line(self) -> str:
        assert self._nursery.stdout is not None
        return (await asyncio.to_thread(self._nursery.stdout.readline)).strip()

    def kill(self, pid: int) -> None:
        os.kill(pid, signal.SIGKILL)
        self.alive.remove(pid)

    async def turns(self, least: int) -> list[Turn]:
        """What waits to become memory, as soon as it is so much."""
        async with asyncio.timeout(PATIENCE):
            while len(found := await self.ledger.waiting(scope=ALICE, limit=999)) < least:
                await asyncio.sleep(0.01)
        return list(found)

    async def serving(self) -> None:
        """Until the platform's messages are asked for: what came earlier is not."""
        for name in ("store", "recall"):
            await self.settled(name)

    async def settled(self, consumer: str) -> None:
        """Until nothing of that consumer waits, or will come again."""
        js, stream = self._platform.js, self._platform.stream
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(NotFoundError):
                    info = await js.consumer_info(stream, f"{self.prefix}_{consumer}")
                    if not info.num_pending and not info.num_ack_pending:
                        return
                await asyncio.sleep(0.02)


@pytest.fixture
async def hosts(
    nursery: subprocess.Popen[str], tmp_path: Path, platform: Platform
) -> AsyncIterator[Hosts]:
    def clock() -> datetime:
        return datetime.now(UTC)

    async with SqliteLedger.open(tmp_path / "memory.db", clock=clock) as ledger:
        found = Hosts(nursery, tmp_path, platform, ledger)
        await found.prepare()
        try:
            yield found
        finally:
            for pid in list(found.alive):
                found.kill(pid)


async def test_killed_hosts_lose_and_repeat_nothing(hosts: Hosts, platform: Platform) -> None:
    """Promise 4: `kill -9` in the middle of requests to store: each run that the platform handed
    over is queued, once, and those of a thread in their order."""
    for _ in range(2):
        await hosts.start()
    await hosts.serving()
    for number in range(RUNS):
        where = {"run": f"run-{number}", "thread": f"thread-{number % 3}"}
        await platform.store(f"Line {number}", **where)
        if number == RUNS // 3:
            hosts.kill(hosts.alive[0])
            await hosts.start()
    for least in KILLED_AT:
        await hosts.turns(least)
        hosts.kill(hosts.alive[0])
        await hosts.start()
    found = await hosts.turns(RUNS)
    await hosts.settled("store")
    assert await hosts.turns(RUNS) == found, "what came again changed nothing"
    assert sorted(int(turn.run_id[4:]) for turn in found) == list(range(RUNS))
    for thread in range(3):
        runs = [int(turn.run_id[4:]) for turn in found if turn.thread_id == f"thread-{thread}"]
        assert runs == sorted(runs)
    assert (await platform.js.stream_info(f"{hosts.prefix}_dead")).state.messages == 0


async def test_a_host_that_is_told_to_end_finishes_what_it_began(
    hosts: Hosts, platform: Platform, tmp_path: Path
) -> None:
    """It says that it is at work for as long as it is; then SIGTERM: the answer still comes, and
    nothing new is begun."""
    async with opened(tmp_path) as memory:
        await memory.user(Principal(tenant="acme", user="alice")).remember("Likes green tea")
    beats: asyncio.Queue[bytes] = asyncio.Queue()

    async def hear(received: Any) -> None:
        if received.data == b"+WPI":
            await beats.put(received.data)

    pid = await hosts.start()
    await hosts.serving()
    await platform.client.subscribe("$JS.ACK.>", cb=hear)
    await platform.client.flush()
    await platform.start(run="run-1")
    await platform.say("RecallMemoryEvent", {"query": "tea", "user": person()}, run="run-1")
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            await beats.get()
    assert not platform.told("MemoryRecalledEvent"), "it is at work still"
    os.kill(pid, signal.SIGTERM)
    assert await hosts.line() == "told"
    await platform.store("I like tea", run="run-2")
    (tmp_path / "gate").touch()
    ended, _, counts = (await hosts.line()).partition(" ")
    hosts.alive.remove(pid)
    assert ended == "ended"
    assert json.loads(counts)["answered"] == 1
    await platform.until(lambda: len(platform.told("MemoryRecalledEvent", run="run-1")) == 1)
    await hosts.settled("recall")
    await hosts.start()
    [turn] = await hosts.turns(1)
    assert turn.run_id == "run-2", "what was not begun is the next process's"
