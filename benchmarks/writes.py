"""How fast memory takes in, forgets and opens, and whether recall stays quick meanwhile.

    python -m benchmarks.writes [--quick] [--memories 1000000] [--json FILE]

Every acknowledged write is durable: its commit has reached the disk. `floor` is a plain SQLite
file with the same settings and one commit per row, the least that one writer can wait. Vectors are
given, so that no embedding is in the figures; only recall beside extractions embeds for real.
"""

import argparse
import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.filling import fill
from benchmarks.material import (
    GivenVectors,
    question,
    sentence,
    turn,
    unit_vectors,
)
from benchmarks.report import Report
from benchmarks.timing import load, resident_mb, until
from ricordo import EntityClaim, Principal, RelationClaim, Ricordo, Settings, open_memory
from ricordo.ports import Candidate, Extraction, Instructions

TENANT = "bench"
WRITERS = (1, 8, 64)
FORGOTTEN = 2_500
IN_FLIGHT = 32


def person(name: str) -> Principal:
    return Principal(tenant=TENANT, user=name)


def commits_per_second(folder: Path, *, seconds: float) -> float:
    """Durable commits of one row each."""
    connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("create table t (row integer primary key, text text)")
    started, done = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        connection.execute("insert into t (text) values (?)", (sentence(done),))
        done += 1
    taken = time.perf_counter() - started
    connection.close()
    return done / taken


async def taking_in(folder: Path, *, seconds: float, report: Report) -> None:
    """Turns and memories, by so many writers at once, each a person of their own."""
    floor = commits_per_second(folder, seconds=seconds / 2)
    report.add("floor: SQLite, a commit per row", "per_second", floor, "1/s", n=1)
    settings = Settings(worker=False)
    path = folder / "writes.db"
    async with open_memory(path, settings=settings, embedder=GivenVectors()) as memory:

        async def observe(number: int) -> object:
            user = memory.user(person(f"u{number % 64}"), agent="coder")
            return await user.observe(turn(number, thread=f"t{number % 64}"))

        async def remember(number: int) -> object:
            user = memory.user(person(f"u{number % 64}"), agent="coder")
            return await user.remember(sentence(number))

        async def relate(number: int) -> object:
            user = memory.user(person(f"u{number % 64}"), agent="coder")
            return await user.remember(f"Also: {sentence(number)}", relations=(_claim(number),))

        await observe(-1)
        kinds: dict[str, Callable[[int], Awaitable[object]]] = {
            "turns": observe,
            "memories": remember,
            "memories with a relation": relate,
        }
        for kind, call in kinds.items():
            for writers in WRITERS:
                shift = writers * 1_000_000

                def shifted(
                    number: int,
                    call: Callable[[int], Awaitable[object]] = call,
                    shift: int = shift,
                ) -> Awaitable[object]:
                    return call(shift + number)

                found = await load(shifted, count=10**6, callers=writers, seconds=seconds)
                name, n = f"ricordo: {kind}, {writers} writers", len(found.times)
                report.add(name, "per_second", found.per_second, "1/s", n=n)
                report.add(name, "p50_ms", found.median, "ms", n=n)
                report.add(name, "loop_lag_p50_ms", statistics.median(found.late), "ms", n=n)
                report.add(name, "ratio_to_floor", found.per_second / floor, "x", n=n)


def _claim(number: int) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name="user", type="person"),
        relation="works on",
        target=EntityClaim(name=f"Project {number}", type="project"),
    )


async def forgetting(folder: Path, *, rounds: int, report: Report) -> None:
    """All memories of a person, with the relations of every fifth."""
    settings = Settings(worker=False)
    times: list[float] = []
    async with open_memory(
        folder / "forget.db", settings=settings, embedder=GivenVectors()
    ) as memory:
        for round_ in range(rounds):
            user = memory.user(person(f"u{round_}"), agent="coder")

            async def remember(number: int, user: object = user) -> None:
                relations = () if number % 5 else (_claim(number),)
                await user.remember(sentence(number), relations=relations)  # type: ignore[attr-defined]

            await load(remember, count=FORGOTTEN, callers=64)
            started = time.perf_counter()
            forgotten = await user.forget_where(everything=True)
            times.append((time.perf_counter() - started) * 1_000)
            if forgotten != FORGOTTEN:
                raise AssertionError(f"{forgotten} of {FORGOTTEN} memories were forgotten")
    name = f"ricordo: forget {FORGOTTEN}"
    report.add(name, "p50_ms", statistics.median(times), "ms", n=rounds)
    report.add(name, "best_ms", min(times), "ms", n=rounds)


async def opening(folder: Path, *, memories: int, report: Report) -> None:
    """A file with many memories of many people, a hundred each."""
    path, dimension = folder / "large.db", 16
    async with open_memory(
        folder / "space.db", settings=Settings(worker=False), embedder=GivenVectors(dimension)
    ) as memory:
        space = await memory.services.space()
    vectors = unit_vectors(100, dimension, seed=1)
    started = time.perf_counter()
    await fill(path, [100] * (memories // 100), space=space, vectors_of=lambda *_: vectors)
    rate = memories / (time.perf_counter() - started)
    report.add(f"ricordo: fill {memories:,} in bulk", "per_second", rate, "1/s", n=memories)
    name = f"ricordo: open {memories:,} memories"
    before = resident_mb()
    started = time.perf_counter()
    async with open_memory(
        path, settings=Settings(worker=False), embedder=GivenVectors(dimension)
    ) as memory:
        report.add(name, "open_ms", (time.perf_counter() - started) * 1_000, "ms", n=1)
        report.add(name, "resident_mb", resident_mb() - before, "MB", n=1)
        for number in (0, 1):
            started = time.perf_counter()
            found = await memory.user(person(f"u{number}"), agent="coder").recall(
                question(number), deadline=10.0
            )
            if found.visible != 100:
                raise AssertionError(f"{found.visible} of 100 memories are visible")
            which = "first_recall_ms" if number == 0 else "second_recall_ms"
            report.add(name, which, (time.perf_counter() - started) * 1_000, "ms", n=1)
    report.add(name, "file_mb", path.stat().st_size / 1e6, "MB", n=1)


class SlowModel:
    """An extractor that answers when it is told to, and finds one fact in every turn."""

    def __init__(self) -> None:
        self.in_flight = 0
        self._go = asyncio.Event()

    def hold(self) -> None:
        """Let nobody have an answer from now on."""
        self._go.clear()

    def answer(self) -> None:
        """Answer everybody."""
        self._go.set()

    async def extract(self, instructions: Instructions) -> Extraction:
        """Wait, then quote the material's first line."""
        self.in_flight += 1
        try:
            await self._go.wait()
        finally:
            self.in_flight -= 1
        said = next(line for line in instructions.material.splitlines() if line.startswith("U1>"))
        text = said.removeprefix("U1>").strip()
        found = Candidate(kind="fact", text=text, quote=text, turn=1)
        return Extraction(candidates=(found,), model="slow")


async def beside_extractions(folder: Path, *, rounds: int, report: Report) -> None:
    """Recall with the real embedding: idle, while slow extractions are in flight, and while all
    their answers, come at once, are embedded and stored."""
    model = SlowModel()
    settings = Settings(worker=True, model_concurrency=IN_FLIGHT, batch_size=1, batch_wait=0)
    times: dict[str, list[float]] = {"idle": [], "in flight": [], "being stored": []}
    async with open_memory(folder / "beside.db", settings=settings, extractor=model) as memory:
        alice = memory.user(person("alice"), agent="coder")
        for number in range(100):
            await alice.remember(sentence(number), kind="preference")
        await _recalls(memory, range(3))
        for round_ in range(rounds):
            first = 100 + round_ * 22
            times["idle"] += await _recalls(memory, range(first, first + 10))
            model.hold()
            for number in range(IN_FLIGHT):
                user = memory.user(person(f"b{number}"), agent="coder")
                await user.observe(turn(round_ * IN_FLIGHT + number))
            await until(lambda: _holds(model.in_flight == IN_FLIGHT))
            times["in flight"] += await _recalls(memory, range(first + 10, first + 20))
            model.answer()
            times["being stored"] += await _recalls(memory, range(first + 20, first + 22))
            await until(lambda: _idle(memory, model))
    for name, some in times.items():
        report.add(f"ricordo: recall, {name}", "p50_ms", statistics.median(some), "ms", n=len(some))
        report.add(f"ricordo: recall, {name}", "worst_ms", max(some), "ms", n=len(some))
    for name in ("in flight", "being stored"):
        worst = max(times[name]) / max(times["idle"])
        median = statistics.median(times[name]) / statistics.median(times["idle"])
        system, n = f"ricordo: {IN_FLIGHT} extractions {name}", len(times[name])
        report.add(system, "ratio_worst_to_idle", worst, "x", n=n)
        report.add(system, "ratio_p50_to_idle", median, "x", n=n)


async def _holds(condition: bool) -> bool:
    return condition


async def _idle(memory: Ricordo, model: SlowModel) -> bool:
    """Whether every turn has become memory."""
    backlog = await memory.ledger.backlog()
    return not (backlog.waiting or backlog.leased or model.in_flight)


async def _recalls(memory: Ricordo, numbers: range) -> list[float]:
    alice = memory.user(person("alice"), agent="coder")
    times: list[float] = []
    for number in numbers:
        started = time.perf_counter()
        # Every question is another one: the embedder knows the latest ones by heart.
        found = await alice.recall(question(number), deadline=10.0)
        times.append((time.perf_counter() - started) * 1_000)
        if found.degraded or not found.items:
            raise AssertionError(f"a recall was degraded: {found.degraded}")
    return times


async def main() -> None:
    """Each part on a fresh file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="shorter, with 10,000 memories")
    parser.add_argument("--memories", type=int, help="in the file that is opened")
    parser.add_argument("--only", choices=("in", "forget", "open", "beside"))
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    memories = asked.memories or (10_000 if asked.quick else 1_000_000)
    report = Report("writes")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], Awaitable[None]]] = {
            "in": lambda: taking_in(folder, seconds=0.6 if asked.quick else 4, report=report),
            "forget": lambda: forgetting(folder, rounds=1 if asked.quick else 5, report=report),
            "open": lambda: opening(folder, memories=memories, report=report),
            "beside": lambda: beside_extractions(
                folder, rounds=2 if asked.quick else 10, report=report
            ),
        }
        for part, run in parts.items():
            if asked.only in (None, part):
                await run()
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
