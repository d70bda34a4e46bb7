"""How many requests of a platform that speaks the Swiss AI Agent Protocol one host works off.

A part of `benchmarks.events`. Requests to store are taken one at a time from each of the platform's
streams, so that the order of every thread is kept; requests to recall eight at a time. Vectors are
given, so that no embedding is in the figures. The floor is nats-py alone: as many messages, pulled
and settled one at a time.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from nats.js.errors import NotFoundError
from tests.support.agent_platform import Platform, person, running
from tests.support.nats_server import NatsServer

from benchmarks.material import GivenVectors
from benchmarks.report import Report
from ricordo import Principal, Ricordo, open_memory
from ricordo.hosts.swiss import AgentProtocol
from ricordo.settings import Settings
from ricordo.wiring.messaging import prepare
from ricordo.wiring.protocol import open_protocol

STREAMS = 4
AT_ONCE = 50
_PATIENCE = 300.0


async def protocol(folder: Path, *, quick: bool, report: Report) -> None:
    """Requests to store, from one stream and from four; requests to recall."""
    count = 200 if quick else 2_000
    with NatsServer(folder / "nats") as server:
        least = await floor(server.url, count=count)
        report.add("floor: one message at a time", "per_second", least, "1/s", n=count)
        for streams in (1, STREAMS):
            async with platforms(server.url, streams) as served:
                name = f"ricordo protocol: store, {streams} of its streams"
                rate = await storing(folder / f"{streams}.db", served, count=count)
                report.add(name, "per_second", rate, "1/s", n=count)
                report.add(name, "ratio_to_floor", rate / least, "x", n=count)
        async with platforms(server.url, 1) as served:
            rate = await recalling(folder / "recall.db", served, count=count)
            report.add("ricordo protocol: recall", "per_second", rate, "1/s", n=count)


async def floor(url: str, *, count: int) -> float:
    """Messages a second by nats-py alone, one out at a time."""
    async with platforms(url, 1) as [platform]:
        await platform.listening.unsubscribe()
        await handed_over(platform, count)
        reader = await platform.js.pull_subscribe("", durable="floor", stream=platform.stream)
        began = time.perf_counter()
        for _ in range(count):
            [message] = await reader.fetch(1, timeout=30)
            json.loads(message.data)
            await message.ack()
        return count / (time.perf_counter() - began)


async def storing(path: Path, served: list[Platform], *, count: int) -> float:
    """Requests to store a second, all of which wait already."""
    each = count // len(served)
    async with serving(path, served) as (_, settings):
        for platform in served:  # what comes before the first host is not asked for
            await asked(platform, settings)
    for platform in served:
        await platform.listening.unsubscribe()
        await handed_over(platform, each)
    began = time.perf_counter()
    async with serving(path, served) as (host, _):
        await reached(lambda: host.counts.stored >= each * len(served))
        return each * len(served) / (time.perf_counter() - began)


async def recalling(path: Path, served: list[Platform], *, count: int) -> float:
    """Requests to recall a second, of somebody of whom a hundred things are remembered."""
    [platform] = served
    async with serving(path, served, known=100) as (host, settings):
        await asked(platform, settings)
        await platform.listening.unsubscribe()
        began = time.perf_counter()
        for first in range(0, count, AT_ONCE):
            fields = {"query": "Which stamps does Alice collect?", "user": person()}
            await asyncio.gather(
                *(
                    platform.say("RecallMemoryEvent", fields, run=f"run-{number}")
                    for number in range(first, first + AT_ONCE)
                )
            )
        await reached(lambda: host.counts.answered >= count)
        return count / (time.perf_counter() - began)


async def handed_over(platform: Platform, count: int) -> None:
    """So many requests to store, in the platform's stream."""
    for first in range(0, count, AT_ONCE):
        await asyncio.gather(
            *(
                platform.store(
                    f"I collect stamps of the series n{n}", run=f"{platform.agent_class}-{n}"
                )
                for n in range(first, min(first + AT_ONCE, count))
            )
        )


async def asked(platform: Platform, settings: Settings) -> None:
    """Until the host has its consumers on the platform's stream."""
    for name in ("store", "recall"):
        while True:
            try:
                await platform.js.consumer_info(platform.stream, f"{settings.nats_prefix}_{name}")
                break
            except NotFoundError:
                await asyncio.sleep(0.01)


async def reached(when: Callable[[], bool]) -> None:
    async with asyncio.timeout(_PATIENCE):
        while not when():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def platforms(url: str, count: int) -> AsyncIterator[list[Platform]]:
    """Classes of agents, each with a stream of its own."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Platform(url)) for _ in range(count)]


@asynccontextmanager
async def serving(
    path: Path, served: list[Platform], *, known: int = 0
) -> AsyncIterator[tuple[AgentProtocol, Settings]]:
    """A host on that file.

    Args:
        known: so many things are remembered of Alice.
    """
    settings = Settings(
        worker=False,
        nats_url=served[0].url,
        nats_prefix=f"bench_{path.stem}",
        nats_timeout=30,
        protocol="swiss-ai-agent",
        protocol_trust={platform.agent_class: "acme" for platform in served},
        protocol_deadline=30,
        recall_deadline=30,
    )
    async with open_memory(path, settings=settings, embedder=GivenVectors()) as memory:
        await remembered(memory, known)
        await prepare(memory.ledger, settings)
        async with open_protocol(memory, settings) as host, running(host.run()):
            yield host, settings


async def remembered(memory: Ricordo, count: int) -> None:
    alice = memory.user(Principal(tenant="acme", user="alice"))
    for number in range(count):
        await alice.remember(f"Collects stamps of the series n{number}")
