"""Promise 4 over NATS: two relays and four workers, killed at random again and again.

RICORDO_KILL_SECONDS sets for how long (15 unless set).
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from ricordo import Listing, Ricordo
from ricordo.access import user_scope
from ricordo.errors import Unavailable
from ricordo.events import UserMemoryStored
from ricordo.wiring.messaging import prepare
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.nats_server import NatsServer
from tests.support.opening import opened, person
from tests.support.relaying import check_whole, outbox, relayed
from tests.support.workers import collecting, crowd_settings, now, observe, until

SECONDS = float(os.environ.get("RICORDO_KILL_SECONDS", "15"))
ROLES = ["relay"] * 2 + ["worker"] * 4
USERS = [("acme", "alice"), ("acme", "bob"), ("globex", "carol"), ("globex", "dora")]


class Nursery:
    """Relays and workers, each a process of its own."""

    def __init__(self, folder: Path, model_url: str, nats_url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.workers_nursery", folder, model_url, nats_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.children = [(role, self._born(role)) for role in ROLES]

    def replace_one(self, chance: random.Random) -> str:
        """Kill one, as `kill -9` does, and begin another of its role."""
        number = chance.randrange(len(self.children))
        role, pid = self.children[number]
        os.kill(pid, signal.SIGKILL)
        self.children[number] = (role, self._born(role))
        return role

    def close(self) -> None:
        for _, pid in self.children:
            os.kill(pid, signal.SIGKILL)
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _born(self, role: str) -> int:
        self._process.stdin.write(f"{role}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@pytest.mark.timeout(SECONDS + 240)
async def test_every_acknowledged_turn_is_extracted_exactly_once(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)

    def slowly(request: Request) -> Reply:
        time.sleep(random.uniform(0.0, 0.1))  # so that calls are in flight when a worker dies
        return collecting(request)

    with NatsServer(tmp_path / "nats") as server, FakeModel(slowly) as model:
        settings = crowd_settings(server.url)
        async with opened(tmp_path, clock=now, settings=settings) as memory:
            await prepare(memory.ledger, settings)
            nursery = await asyncio.to_thread(Nursery, tmp_path, model.base_url, server.url)
            try:
                acknowledged, killed = await killing(memory, nursery, chance)
                await until(lambda: idle(memory))
                await relayed(memory.ledger)
            finally:
                await asyncio.to_thread(nursery.close)
            await extracted_exactly_once(memory, acknowledged)
            await check_whole(memory.ledger, settings)
            await announced_once(memory, acknowledged)
    print(f"{len(acknowledged)} turns acknowledged, killed {dict(killed)}, 0 lost, 0 twice")
    assert acknowledged
    assert killed


async def killing(
    memory: Ricordo, nursery: Nursery, chance: random.Random
) -> tuple[dict[str, tuple[str, str]], Counter[str]]:
    """Observe while relays and workers die; what was acknowledged, and how many died."""
    acknowledged: dict[str, tuple[str, str]] = {}
    killed: Counter[str] = Counter()
    end = time.monotonic() + SECONDS
    strike = time.monotonic() + 1.0
    while time.monotonic() < end:
        tenant, user = USERS[len(acknowledged) % len(USERS)]
        name = f"n{len(acknowledged)}"
        try:
            await observe(memory, name, user=user, tenant=tenant)
        except Unavailable:
            continue  # not acknowledged: others held the file for too long
        acknowledged[name] = (tenant, user)
        if time.monotonic() >= strike:
            killed[await asyncio.to_thread(nursery.replace_one, chance)] += 1
            strike = time.monotonic() + chance.uniform(0.1, 0.8)
        await asyncio.sleep(chance.uniform(0.0, 0.04))
    return acknowledged, killed


async def idle(memory: Ricordo) -> bool:
    backlog = await memory.ledger.backlog()
    assert backlog.parked == 0
    return (backlog.waiting, backlog.leased) == (0, 0)


async def extracted_exactly_once(memory: Ricordo, said: dict[str, tuple[str, str]]) -> None:
    for tenant, user in USERS:
        mine = [name for name, whose in said.items() if whose == (tenant, user)]
        page = await memory.user(person(user, tenant=tenant)).list(Listing(limit=1_000))
        assert page.cursor is None or len(mine) > 1_000
        found = {m.text.removeprefix("Collects "): m for m in page.memories}
        assert sorted(found) == sorted(mine)
        times = [found[name].recorded_at for name in mine]
        assert times == sorted(times)  # a person's turns are learned in order
        for name, each in found.items():
            assert [origin.run_id for origin in each.origins] == [name]


async def announced_once(memory: Ricordo, said: dict[str, tuple[str, str]]) -> None:
    """Each memory was announced once, on behalf of the person whose it is."""
    stored = [e for _, e in await outbox(memory.ledger) if isinstance(e, UserMemoryStored)]
    assert len({event.memory_id for event in stored}) == len(stored) == len(said)
    whose = Counter(event.scope for event in stored)
    for tenant, user in USERS:
        mine = [name for name, owner in said.items() if owner == (tenant, user)]
        assert whose[user_scope(person(user, tenant=tenant))] == len(mine)
