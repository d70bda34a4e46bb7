"""Two processes, several agents each, one cache, one durable history; and the bad days of each.

Whatever happens to the cache, and when the history itself is killed: no acknowledged message is
lost, kept twice or out of order, no reader sees a state that is older than the bound, and nobody
sees another room's or another person's messages.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ricordo.access import user_scope
from ricordo.adapters.histories import open_redis
from ricordo.model import Conversation
from tests.service.history_nursery import PEOPLE
from tests.support.redis_server import RedisServer

ROOT = Path(__file__).parents[2]
SECONDS = 3.0


@contextmanager
def processes(
    durable: RedisServer, cache: RedisServer, *, staleness: float, folder: Path
) -> Iterator[dict[Path, "subprocess.Popen[bytes]"]]:
    """Two of them, at work; each writes what it did into a file."""
    running: dict[Path, subprocess.Popen[bytes]] = {}
    for name in ("P", "Q"):
        out = folder / name
        command = [sys.executable, "-m", "tests.service.history_nursery", name]
        command += [durable.url, cache.url, str(SECONDS), str(staleness)]
        with out.open("wb") as file:
            running[out] = subprocess.Popen(command, cwd=ROOT, stdout=file)
    try:
        end = time.monotonic() + 60
        while not all(out.read_text() for out in running):
            assert time.monotonic() < end
            time.sleep(0.02)
        yield running
    finally:
        for process in running.values():
            process.kill()
            process.wait()


def calm(durable: RedisServer, cache: RedisServer) -> None:
    """Nothing happens."""


def killed(durable: RedisServer, cache: RedisServer) -> None:
    for _ in range(3):
        time.sleep(0.6)
        cache.kill()
        time.sleep(0.4)
        cache.start()


def stopped(durable: RedisServer, cache: RedisServer) -> None:
    for _ in range(3):
        time.sleep(0.6)
        cache.stop()
        time.sleep(0.5)
        cache.go_on()


def history_killed(durable: RedisServer, cache: RedisServer) -> None:
    """What cannot be stored then is refused, not acknowledged."""
    for _ in range(3):
        time.sleep(0.6)
        durable.kill()
        time.sleep(0.2)
        durable.start()


@pytest.mark.parametrize(
    ("disturb", "staleness"),
    [(calm, 3_600.0), (killed, 0.5), (stopped, 0.5), (history_killed, 0.5)],
    ids=["calm", "killed", "stopped", "history-killed"],
)
def test_nothing_acknowledged_is_lost_and_nobody_reads_beyond_the_bound(
    tmp_path: Path, disturb: Callable[[RedisServer, RedisServer], None], staleness: float
) -> None:
    # Saved to disk and loaded again after a kill: copies from the past must not be believed.
    keeps = {"appendonly": "yes", "appendfsync": "always"} if disturb is killed else {}
    with (
        RedisServer(tmp_path / "durable", durable=True) as durable,
        RedisServer(tmp_path / "cache", **keeps) as cache,
        processes(durable, cache, staleness=staleness, folder=tmp_path) as running,
    ):
        disturb(durable, cache)
        assert [process.wait(timeout=60) for process in running.values()] == [0, 0]
        final = asyncio.run(kept(durable.url))
    lines = [json.loads(line) for out in running for line in out.read_text().splitlines()]
    said = [line for line in lines if "acknowledged" in line]
    read = [line for line in lines if "read" in line]
    assert said
    assert read
    assert disturb is history_killed or not [line for line in lines if "failed" in line]
    # With the cache there all the time, every acknowledged message is seen at once, but for a
    # reading that joined another caller's, which began at most that reading's time before.
    check(said, read, final, bound=1.0 if disturb is calm else staleness)


async def kept(url: str) -> dict[str, list[str]]:
    """By place, what the durable history has, read by the framework's own provider."""
    found: dict[str, list[str]] = {}
    async with open_redis(url) as store:
        for who, person in enumerate(PEOPLE):
            for room in ("group:one", "group:two", "agent:outside"):
                place = Conversation(scope=user_scope(person), room=room, thread="same thread")
                messages = await store.provider.get_messages(place.key)
                found[f"{who}/{room}"] = [message.text for message in messages]
    return found


def check(
    said: list[dict[str, Any]],
    read: list[dict[str, Any]],
    final: dict[str, list[str]],
    *,
    bound: float,
) -> None:
    for line in said:
        assert final[line["place"]].count(line["acknowledged"]) == 1, "lost, or kept twice"
    for line in read:
        place, texts = line["place"], line["read"]
        assert all(text.startswith(f"{place} ") for text in texts), "another room's message"
        assert texts == final[place][: len(texts)], "a state that never was"
        due = {
            s["acknowledged"]
            for s in said
            if s["place"] == place and s["at"] + bound < line["began"]
        }
        assert due <= set(texts), f"older than the bound: {sorted(due - set(texts))[:3]}"
    for name in {s["acknowledged"].rsplit(" ", 1)[0] for s in said}:
        place = name.split(" ")[0]
        numbers = [int(t.rsplit(" ", 1)[1]) for t in final[place] if t.rsplit(" ", 1)[0] == name]
        assert numbers == sorted(numbers), "out of order"
