"""What tests of workers share: turns, a model that learns from them, and what came of it."""

import asyncio
import json
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from ricordo import Ricordo, Said, Settings, Speaker, Turn
from tests.support.fake_model import Reply, Request
from tests.support.opening import person

PATIENCE = 60.0
"""Seconds for what surely happens, on however slow a machine."""


def now() -> datetime:
    return datetime.now(UTC)


def worker_settings(url: str | None, *, prefix: str = "ricordo", **more: object) -> Settings:
    values: dict[str, object] = {"worker": False, "batch_wait": 0.0, "nats_timeout": 5} | more
    return Settings(nats_url=url, nats_prefix=prefix, **values)


def collects(name: str) -> Turn:
    said = Said(speaker=Speaker.USER, text=f"I collect {name}.")
    return Turn(thread_id="t", run_id=name, agent="coder", at=now(), said=(said,))


async def observe(memory: Ricordo, name: str, *, user: str = "alice", tenant: str = "acme") -> None:
    await memory.user(person(user, tenant=tenant), agent="coder").observe(collects(name))


async def learned(memory: Ricordo, *, user: str = "alice", tenant: str = "acme") -> list[str]:
    """What was learned of a user, in order."""
    page = await memory.user(person(user, tenant=tenant)).list()
    return [m.text.removeprefix("Collects ") for m in page.memories]


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what surely happens."""
    async with asyncio.timeout(PATIENCE):
        while not await condition():
            await asyncio.sleep(0.02)


def collecting(request: Request) -> Reply:
    """Extracts "I collect X" from every line of the user's."""
    return learning(heard(request))


def heard(request: Request) -> list[tuple[int, str]]:
    """Turns that a model was shown: number and name."""
    lines = re.findall(r"U(\d+)> I collect (\S+)\.", request.last_user_text)
    return [(int(number), name) for number, name in lines]


def learning(found: list[tuple[int, str]]) -> Reply:
    items = [
        {
            "kind": "fact",
            "turn": number,
            "quote": f"I collect {name}.",
            "text": f"Collects {name}",
            "confidence": "high",
            "replaces": [],
            "relations": [],
        }
        for number, name in found
    ]
    return Reply(text=json.dumps({"items": items}))


class Gate:
    """A model that answers nothing until it is let."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.open = threading.Event()

    def __call__(self, request: Request) -> Reply:
        self.asked.set()
        self.open.wait(PATIENCE)
        return collecting(request)


@asynccontextmanager
async def at_work(memory: Ricordo) -> AsyncIterator[asyncio.Task[None]]:
    """A worker that goes on in the background, as the wiring has it."""
    task = asyncio.create_task(memory.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def crowd_settings(url: str) -> Settings:
    """Of workers that are killed again and again: dying often is no reason to give a turn up."""
    return worker_settings(
        url, batch_wait=0.05, batch_size=4, lease_seconds=10, model_timeout=2, max_attempts=50
    )
