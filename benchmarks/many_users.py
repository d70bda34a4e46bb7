"""Two hundred people at once on PostgreSQL, each recalling and observing; beside it, in a file.

    python -m benchmarks.many_users [--quick] [--users 200] [--json FILE]

A turn is what an agent does with a memory: a recall before the answer, a durable observation after
it. Two loads: *at once*, where everybody begins the next turn when the last one has ended, which
shows what one process can do; and *paced*, where everybody has a turn every so many seconds, which
shows how long one waits. Everything is counted: what was refused, who waited how long for one of
the connections, whether anybody saw another's memory, and whether every acknowledged turn is there.

One process of Python serves all; the server is another. Both ledgers wait for the disk. Vectors are
given, so that no embedding is in the figures.
"""

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from tests.support.postgres import running

from benchmarks.material import NOW, GivenVectors, question, sentence, turn
from benchmarks.report import Report
from benchmarks.timing import load, percentile, resident_mb
from ricordo import Kind, Memory, Origin, Principal, Ricordo, Settings, open_memory
from ricordo.errors import RicordoError
from ricordo.model import UserScope
from ricordo.ports import Writing

TENANT = "bench"
LONG = 60.0
"""A deadline that nothing misses: what is measured is the time, not the patience."""

USUAL_MS = 250.0
"""The deadline of a recall where nothing else is set."""

FILE, SERVER = "in a file", "on PostgreSQL"


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Args:
        own: memories of each person.
        seconds: of each load.
        pause: seconds between the beginnings of a person's turns, where they are paced.
    """

    users: int
    own: int
    seconds: float
    pause: float


QUICK = Sizes(users=200, own=5, seconds=3, pause=10)
FULL = Sizes(users=200, own=25, seconds=20, pause=10)


def mark(number: int) -> str:
    """What every text of a person holds, and no other person's."""
    return f"[file of person {number}]"


def scope_of(number: int) -> UserScope:
    return UserScope(tenant=TENANT, user=f"u{number}")


@dataclass
class Seen:
    """What happened under one load."""

    recalls: list[float] = field(default_factory=list)
    observations: list[float] = field(default_factory=list)
    turns: dict[int, set[str]] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    degraded: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    foreign: int = 0
    seconds: float = 0.0
    own_cpu: float = 0.0
    server_cpu: float = 0.0


@dataclass
class Pool:
    """How long each wait for a connection took, in ms; empty in a file."""

    waits: list[float] = field(default_factory=list)

    def watch(self, ledger: Any) -> None:
        """Time every hand-out of a connection."""
        lanes: Any = ledger._lanes
        inner = lanes._lane

        async def timed() -> Any:
            started = time.perf_counter()
            try:
                return await inner()
            finally:
                self.waits.append((time.perf_counter() - started) * 1_000)

        lanes._lane = timed


@dataclass(frozen=True)
class Engine:
    """One of the two, open."""

    name: str
    memory: Ricordo
    pool: Pool
    disk: Callable[[], int]
    cpu: Callable[[], float]


async def furnish(memory: Ricordo, number: int, *, own: int) -> None:
    """Give a person so many memories, in one transaction."""
    scope, services = scope_of(number), memory.services
    texts = [f"{sentence(n)} {mark(number)}" for n in range(own)]
    rows, space = await services.indexed(texts), await services.space()
    made = [
        Memory(
            id=f"m_{number:05}_{n:05}",
            scope=scope,
            kind=Kind.FACT,
            text=text,
            agent="coder",
            recorded_at=NOW,
            updated_at=NOW,
            origins=(Origin(at=NOW, agent="coder", thread_id=f"t{n // 20}"),),
        )
        for n, text in enumerate(texts)
    ]

    async def work(tx: Writing) -> None:
        for each, row in zip(made, rows, strict=True):
            await tx.put(each, indexed=row, space=space)

    await services.ledger.write(work, scope=scope)


async def one_turn(memory: Ricordo, who: int, number: int, seen: Seen, *, own: int) -> None:
    """Recall, then observe; look at every answer."""
    user = memory.user(Principal(tenant=TENANT, user=f"u{who}"), agent="coder")
    said = turn(number, thread=f"t{who}")
    try:
        started = time.perf_counter()
        found = await user.recall(question(number), deadline=LONG)
        answered = time.perf_counter()
        seen.recalls.append((answered - started) * 1_000)
        await user.observe(said)
        seen.observations.append((time.perf_counter() - answered) * 1_000)
        seen.turns.setdefault(who, set()).add(said.run_id)
    except RicordoError as error:
        seen.refused[type(error).__name__] += 1
        return
    seen.answers += len(found.items)
    seen.foreign += sum(mark(who) not in item.memory.text for item in found.items)
    seen.degraded.update(f"{stage}: {found.faults.get(stage)}" for stage in found.degraded)
    if not found.degraded and (not found.items or found.visible != own):
        raise AssertionError(f"{found.visible} of {own} memories are visible")


async def at_once(engine: Engine, sizes: Sizes) -> Seen:
    """Everybody goes on as soon as the last turn has ended."""
    seen = Seen()

    async def go(number: int) -> None:
        await one_turn(engine.memory, number % sizes.users, number, seen, own=sizes.own)

    done = await load(go, count=10**7, callers=sizes.users, seconds=sizes.seconds)
    seen.seconds = done.seconds
    return seen


async def paced(engine: Engine, sizes: Sizes) -> Seen:
    """Everybody has a turn each `pause` seconds, and began at a time of their own."""
    seen, chance = Seen(), random.Random(1)
    began = time.perf_counter()

    async def live(who: int, first: float) -> None:
        at, number = first, who + 10**8
        while at < sizes.seconds:
            await asyncio.sleep(max(0.0, began + at - time.perf_counter()))
            await one_turn(engine.memory, who, number, seen, own=sizes.own)
            at, number = at + sizes.pause, number + sizes.users

    await asyncio.gather(*(live(who, chance.uniform(0, sizes.pause)) for who in range(sizes.users)))
    seen.seconds = time.perf_counter() - began
    return seen


async def alone(engine: Engine, sizes: Sizes) -> Seen:
    """One person after another, nobody else at work."""
    seen, began = Seen(), time.perf_counter()
    for number in range(3 * sizes.users):
        if time.perf_counter() - began > sizes.seconds:
            break
        await one_turn(engine.memory, number % sizes.users, number + 10**9, seen, own=sizes.own)
    seen.seconds = time.perf_counter() - began
    return seen


LOADS: dict[str, Callable[[Engine, Sizes], Awaitable[Seen]]] = {
    "one after another": alone,
    "at once": at_once,
    "paced": paced,
}


async def measure(engine: Engine, sizes: Sizes, report: Report) -> dict[str, Seen]:
    """All loads on one engine, which holds everybody's memories then."""
    started = time.perf_counter()
    numbers = range(sizes.users)

    async def fill(number: int) -> None:
        await furnish(engine.memory, number, own=sizes.own)

    before = engine.disk()
    await load(fill, count=sizes.users, callers=8)
    count = sizes.users * sizes.own
    name = f"ricordo {engine.name}"
    report.add(name, "filled_per_second", count / (time.perf_counter() - started), "1/s", n=count)
    report.add(name, "disk_bytes_per_memory", (engine.disk() - before) / count, "bytes", n=count)
    first = Seen()

    async def begin(number: int) -> None:
        await one_turn(engine.memory, number, number + 10**10, first, own=sizes.own)

    # Everybody once before anything is timed: the first recall of a person loads the index.
    await load(begin, count=sizes.users, callers=4)
    all_seen: dict[str, Seen] = {}
    for kind, run in LOADS.items():
        engine.pool.waits.clear()
        own, server = time.process_time(), engine.cpu()
        seen = all_seen[kind] = await run(engine, sizes)
        seen.own_cpu, seen.server_cpu = time.process_time() - own, engine.cpu() - server
        tell(f"{name}: {kind}", seen, engine.pool, report)
    index = engine.memory.services.index.memory_used
    report.add(name, "index_bytes_per_memory", index / count, "bytes", n=count)
    report.add(name, "resident_mb", resident_mb(), "MB", n=1)
    lost = 0
    for who in numbers:
        kept = await engine.memory.ledger.waiting(scope=scope_of(who), limit=10**6)
        acknowledged = set().union(*(s.turns.get(who, set()) for s in (first, *all_seen.values())))
        lost += len(acknowledged - {each.run_id for each in kept})
    said = sum(len(runs) for s in (first, *all_seen.values()) for runs in s.turns.values())
    report.add(name, "acknowledged_turns_lost", lost, "", n=said)
    return all_seen


def tell(name: str, seen: Seen, pool: Pool, report: Report) -> None:
    """The figures of one load."""
    n = len(seen.observations)
    report.add(name, "turns_per_second", n / seen.seconds, "1/s", n=n)
    # Unlike waits, these hardly depend on what else the machine does.
    report.add(name, "cpu_ms_per_turn", 1_000 * seen.own_cpu / n, "ms", n=n)
    if seen.server_cpu:
        report.add(name, "server_cpu_ms_per_turn", 1_000 * seen.server_cpu / n, "ms", n=n)
    for what, times in (("recall", seen.recalls), ("observe", seen.observations)):
        report.add(name, f"{what}_p50_ms", statistics.median(times), "ms", n=len(times))
        report.add(name, f"{what}_p95_ms", percentile(times, 95), "ms", n=len(times))
    late = sum(each > USUAL_MS for each in seen.recalls)
    report.add(name, "recalls_over_250_ms", 100 * late / len(seen.recalls), "%", n=n)
    report.add(name, "refused", sum(seen.refused.values()), "", n=n)
    report.add(name, "stages_missing", sum(seen.degraded.values()), "", n=n)
    for what, count in (seen.degraded + seen.refused).items():
        print(f"{name}: {count} times {what}", flush=True)
    report.add(name, "foreign_memories_seen", seen.foreign, "", n=max(seen.answers, 1))
    if pool.waits:
        waited = [each for each in pool.waits if each >= 1.0]
        report.add(name, "waited_for_connection", 100 * len(waited) / len(pool.waits), "%", n=n)
        report.add(name, "connection_wait_p95_ms", percentile(pool.waits, 95), "ms", n=n)
        report.add(name, "connection_wait_max_ms", max(pool.waits), "ms", n=n)


def compare(file: dict[str, Seen], server: dict[str, Seen], report: Report) -> None:
    """The server beside the file, in the same run."""
    for kind in LOADS:
        name, n = f"ratio of PostgreSQL to a file: {kind}", len(server[kind].observations)
        rates = [len(seen[kind].observations) / seen[kind].seconds for seen in (server, file)]
        report.add(name, "turns_per_second", rates[0] / rates[1], "x", n=n)
        work = [seen[kind].own_cpu / len(seen[kind].observations) for seen in (server, file)]
        report.add(name, "cpu_per_turn", work[0] / work[1], "x", n=n)
        for what in ("recalls", "observations"):
            p50, p95 = (
                percentile(getattr(server[kind], what), percent)
                / percentile(getattr(file[kind], what), percent)
                for percent in (50, 95)
            )
            verb = what.removesuffix("s").replace("observation", "observe")
            report.add(name, f"{verb}_p50", p50, "x", n=n)
            report.add(name, f"{verb}_p95", p95, "x", n=n)


def cpu_seconds(parent: int) -> float:
    """Processor time of a process and of its children, those that ended included; Linux only."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            told = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        if parent in (int(stat.parent.name), int(told[1])):
            own, ended = sum(map(int, told[11:13])), sum(map(int, told[13:15]))
            ticks += own + (ended if int(stat.parent.name) == parent else 0)
    return ticks / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def in_a_file(folder: Path) -> AsyncGenerator[Engine]:
    path = folder / "memory.db"
    async with open_memory(path, settings=Settings(worker=False), embedder=GivenVectors()) as one:

        def disk() -> int:
            return sum(each.stat().st_size for each in folder.glob("memory.db*"))

        yield Engine(FILE, one, Pool(), disk, lambda: 0.0)


@asynccontextmanager
async def on_postgres(connections: int) -> AsyncGenerator[Engine]:
    server_running = running("pgserver", safe=True)
    server = await asyncio.to_thread(server_running.__enter__)
    try:
        database, pool = server.ledger(), Pool()
        settings = Settings(worker=False, postgres_connections=connections)
        async with open_memory(
            server.url(database), settings=settings, embedder=GivenVectors()
        ) as memory:

            def disk() -> int:
                with psycopg.connect(server.admin(database), autocommit=True) as asked:
                    asked.execute("vacuum")
                    found = asked.execute("select pg_database_size(current_database())")
                    return int((found.fetchone() or (0,))[0])

            pool.watch(memory.ledger)
            postmaster = server.process
            if postmaster is None:
                raise AssertionError("the server does not run")
            yield Engine(SERVER, memory, pool, disk, lambda: cpu_seconds(postmaster.pid))
    finally:
        await asyncio.to_thread(server_running.__exit__, None, None, None)


async def main() -> None:
    """Both engines, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer memories, shorter loads")
    parser.add_argument("--users", type=int, help="people at once")
    parser.add_argument("--connections", type=int, default=10, help="of the process to the server")
    parser.add_argument("--only", choices=("file", "server"), help="one of the two, uncompared")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else FULL
    if asked.users:
        sizes = Sizes(asked.users, sizes.own, sizes.seconds, sizes.pause)
    report = Report("many_users")
    found: dict[str, dict[str, Seen]] = {}
    if asked.only != "server":
        with tempfile.TemporaryDirectory() as name:
            async with in_a_file(Path(name)) as engine:
                found["file"] = await measure(engine, sizes, report)
    if asked.only != "file":
        async with on_postgres(asked.connections) as engine:
            found["server"] = await measure(engine, sizes, report)
    if len(found) == 2:
        compare(found["file"], found["server"], report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
