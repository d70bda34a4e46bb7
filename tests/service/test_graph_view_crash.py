"""Promise 4, as far as a graph view goes: `kill -9` of its server in the middle of being fed.

What is acknowledged does not depend on the view: it is written while the server is dead, too. When
the server is back, on what it had stored, the view catches up, and `ricordo verify` finds nothing
missing, extra or stale.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ricordo import EntityClaim, RelationClaim, Ricordo, Settings
from ricordo.errors import Unavailable
from ricordo.memory.viewing.feeding import Feeder
from tests.support import bolt
from tests.support.bolt import Bolt
from tests.support.opening import opened, person

USERS = ("alice", "bob", "carol")
DEATHS = 1
FIRST = 4
"""Calls of a death's feeding after which the server is killed; each user's takes two at least."""


@pytest.fixture(params=bolt.KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Bolt]:
    """One of this test's own, for it is killed."""
    with bolt.own(request.param) as running:
        yield running


def view_settings(server: Bolt, *, patience: float) -> dict[str, Any]:
    return {
        "graph_view_url": server.url,
        "graph_view_user": server.user,
        "graph_view_password": server.password,
        **({"graph_view_database": server.database} if server.database else {}),
        "view_timeout": patience,
        "view_deadline": 30,
    }


async def write(memory: Ricordo, user: str, name: str) -> str:
    """One memory with a relation; its id once it was acknowledged."""
    uses = RelationClaim(
        source=EntityClaim(name="user"), relation="uses", target=EntityClaim(name=name)
    )
    stored = await memory.user(person(user), agent="coder").remember(
        f"Uses {name}", relations=[uses]
    )
    return stored.memory.id


async def caught_up(memory: Ricordo) -> Feeder:
    """Feed until everything is there; the server may need a while until it answers again."""
    async with asyncio.timeout(120):
        while True:
            try:
                feeder = await memory.services.views.named("graph").feeder()
                if await feeder.turn() and await feeder.lag() == 0:
                    return feeder
            except Unavailable:
                await asyncio.sleep(0.2)


async def die_while_fed(feeder: Feeder, server: Bolt) -> None:
    """Feed; beside one of the calls, wherever in it that is, the server is killed."""
    view: Any = feeder.sync.view
    upsert = view.upsert
    calls, killed = 0, False

    async def dying(*nodes: Any, **more: Any) -> None:
        nonlocal calls, killed
        calls += 1
        if calls != FIRST:
            return await upsert(*nodes, **more)
        killing = asyncio.create_task(asyncio.to_thread(server.program.kill))
        try:
            return await upsert(*nodes, **more)
        finally:
            await killing
            killed = True

    view.upsert = dying
    async with asyncio.timeout(120):
        while not killed:  # a slow server may miss a deadline before it is killed
            with suppress(Unavailable):
                await feeder.turn()
    view.upsert = upsert


def verified(folder: Path, server: Bolt) -> Any:
    """What the command says, as a process of its own."""
    config = folder / "ricordo.toml"
    told = view_settings(server, patience=60).items()
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in told))
    command = [sys.executable, "-c", "from ricordo.wiring import main; main()", "verify", "--json"]
    command += ["--config", str(config), "--db", str(folder / "memory.db")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.timeout(600)
async def test_a_view_catches_up_after_its_server_was_killed(tmp_path: Path, server: Bolt) -> None:
    settings = Settings(worker=False, recall_deadline=60, **view_settings(server, patience=5))
    known: dict[str, dict[str, str]] = {user: {} for user in USERS}
    async with opened(tmp_path, settings=settings) as memory:
        for user in USERS:
            known[user][f"{user} 0 0"] = await write(memory, user, f"{user} 0 0")
        for death in range(1, DEATHS + 1):
            feeder = await caught_up(memory)
            for number in range(8):
                for user in USERS:
                    name = f"{user} {death} {number}"
                    known[user][name] = await write(memory, user, name)
            # Forgotten while others are being told of: that must not stay either.
            mine = memory.user(person(USERS[0]), agent="coder")
            gone = known[USERS[0]].pop(f"{USERS[0]} {death - 1} 0")
            assert await mine.forget(gone) == 1
            await die_while_fed(feeder, server)
            for user in USERS:
                name = f"{user} {death} dead"
                known[user][name] = await write(memory, user, name)
            await asyncio.to_thread(server.program.start)
        await caught_up(memory)
        assert await asyncio.to_thread(verified, tmp_path, server) == {
            "sound": True,
            "differences": [],
        }
        for user in USERS:
            mine = memory.user(person(user), agent="coder")
            walk = await mine.explore("user", hops=1)
            assert {path.end for path in walk.paths} == set(known[user])
