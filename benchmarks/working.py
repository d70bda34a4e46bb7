"""How long it takes from an observed turn to a stored memory, with a model that answers at once.

    python -m benchmarks.working [--quick] [--nats URL] [--json FILE]

One turn at a time, from the call to the commit of what was learned: by a worker in the same
process, and by one in another process on the same file that hears of it over NATS, or (without
NATS) finds it when it looks at the file. Vectors are given, so that no embedding is in the figures.
Without `--nats`, a server of its own is started.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.material import GivenVectors
from benchmarks.report import Report
from benchmarks.timing import percentile, until
from ricordo import Principal, Ricordo, Said, Settings, Speaker, Turn, open_memory
from ricordo.events import UserMemoryStored
from ricordo.ports import Candidate, Extraction, Instructions
from ricordo.wiring.messaging import prepare

PATIENCE = 300.0


class InstantModel:
    """Quotes every line that the user said, at once."""

    async def extract(self, instructions: Instructions) -> Extraction:
        """One fact for each turn."""
        said = [line for line in instructions.material.splitlines() if line.startswith("U")]
        found = []
        for line in said:
            number, _, text = line[1:].partition("> ")
            found.append(Candidate(kind="fact", text=text, quote=text, turn=int(number)))
        return Extraction(candidates=tuple(found), model="instant")


def turn(number: int) -> Turn:
    said = Said(speaker=Speaker.USER, text=f"I collect stamps of the series n{number}.")
    return Turn(
        thread_id="t", run_id=f"r{number}", agent="coder", at=datetime.now(UTC), said=(said,)
    )


def settings_for(url: str | None, *, worker: bool = False) -> Settings:
    return Settings(worker=worker, batch_wait=0, nats_url=url)


async def stored(memory: Ricordo, *, after: int) -> int:
    """How many memories were stored since that place in the outbox."""
    events = await memory.ledger.announced(after=after, limit=10_000)
    return sum(isinstance(event, UserMemoryStored) for _, event in events)


async def one_by_one(memory: Ricordo, *, count: int, system: str, report: Report) -> None:
    """Each turn from the call to its memory."""
    user = memory.user(Principal(tenant="bench", user="alice"), agent="coder")
    times: list[float] = []
    acknowledged: list[float] = []
    for number in range(-1, count):
        after = await memory.ledger.latest()
        began = time.perf_counter()
        await user.observe(turn(number))
        told = time.perf_counter()
        async with asyncio.timeout(PATIENCE):
            while not await stored(memory, after=after):
                await asyncio.sleep(0.001)
        if number >= 0:  # the first one finds nothing warm
            acknowledged.append((told - began) * 1_000)
            times.append((time.perf_counter() - began) * 1_000)
    report.add(system, "observe_p50", statistics.median(acknowledged), "ms", n=count)
    report.add(system, "stored_p50", statistics.median(times), "ms", n=count)
    report.add(system, "stored_p95", percentile(times, 95), "ms", n=count)


@asynccontextmanager
async def worker(path: Path, url: str | None) -> AsyncIterator[None]:
    """A worker in a process of its own, at work."""
    command = [sys.executable, "-m", "benchmarks.working", "--work", str(path)]
    process = await asyncio.create_subprocess_exec(
        *command, *(() if url is None else ("--nats", url)), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    assert await process.stdout.readline() == b"working\n"
    try:
        yield
    finally:
        process.kill()
        await process.wait()


async def work(path: Path, url: str | None) -> None:
    """What such a process does until it is killed."""
    parts = {"settings": settings_for(url), "embedder": GivenVectors()}
    async with open_memory(path, extractor=InstantModel(), **parts) as memory:
        running = asyncio.create_task(memory.run())
        if url is not None:

            async def hearing() -> bool:
                heeding = memory.intake._heeding
                return heeding is not None and heeding.heard

            await until(hearing)
        print("working", flush=True)
        await running


async def latency(folder: Path, url: str, *, quick: bool, report: Report) -> None:
    """The three ways to a memory."""
    count = 30 if quick else 200
    own = {"embedder": GivenVectors(), "extractor": InstantModel()}
    async with open_memory(
        folder / "here.db", settings=settings_for(None, worker=True), **own
    ) as memory:
        await one_by_one(memory, count=count, system="worker in the same process", report=report)
    for name, address, many in (
        ("worker in another process, over NATS", url, count),
        ("worker in another process, no NATS", None, count // 10),
    ):
        path = folder / ("alone.db" if address is None else "nats.db")
        async with open_memory(
            path, settings=settings_for(address), embedder=GivenVectors()
        ) as memory:
            if address is not None:
                await prepare(memory.ledger, settings_for(address))
            async with worker(path, address):
                await one_by_one(memory, count=many, system=name, report=report)


@contextmanager
def server(given: str | None, folder: Path) -> Iterator[str]:
    """The address of a NATS server."""
    if given is not None:
        yield given
        return
    from tests.support.nats_server import NatsServer

    with NatsServer(folder / "nats") as started:
        yield started.url


async def main() -> None:
    """Every part on a fresh file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    parser.add_argument("--nats", metavar="URL", help="a server with JetStream")
    parser.add_argument("--work", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    if asked.work is not None:
        await work(Path(asked.work), asked.nats)
        return
    report = Report("working")
    with tempfile.TemporaryDirectory() as name, server(asked.nats, Path(name)) as url:
        await latency(Path(name), url, quick=asked.quick, report=report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
