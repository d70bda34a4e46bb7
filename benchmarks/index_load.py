"""How fast the local index loads a cold partition and searches a warm one.

    python -m benchmarks.index_load [--sizes 1000 10000] [--rounds 30] [--json FILE]

`scan` is one product of the partition's contiguous matrix with the question, the least that exact
search can cost. `cold` begins with a new index and ends with the first answer, the ledger's reading
included. On a busy machine look at the best times.
"""

import argparse
import asyncio
import statistics
import struct
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from ricordo.adapters.local import LocalIndex
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.words import SnowballAnalyzer
from ricordo.model import Indexed, Kind, Memory, Partition, Sought, Space, UserScope
from ricordo.ports import Reading, Writing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSION = 384
ANALYZER = SnowballAnalyzer()
SPACE = Space(model="random", dimension=DIMENSION, transform="none", words=ANALYZER.name)
QUESTION = "Which project requires the service mesh in Zürich?"
SUBJECTS = "the project|our team|Alice Müller|the customer|the database|my manager".split("|")
VERBS = "requires|prefers|replaces|documents|works on|was moved to|reports to".split("|")
OBJECTS = "a service mesh|concise examples|PostgreSQL 18|the office in Zürich|ISO-27001".split("|")


def text_of(number: int) -> str:
    """A sentence of some twelve words, different for each number."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    verb = VERBS[number // 7 % len(VERBS)]
    thing = OBJECTS[number // 3 % len(OBJECTS)]
    return f"{subject} {verb} {thing} since sprint {number} of stream {number % 97}"


def indexed(text: str, vector: np.ndarray) -> Indexed:
    """The row that is stored beside the text."""
    terms, length = ANALYZER.terms(text)
    ordered = sorted(terms)
    return Indexed(
        vector=vector.astype("<f4").tobytes(),
        terms=struct.pack(f"<{len(ordered)}Q", *ordered),
        counts=struct.pack(f"<{len(ordered)}H", *(terms[term] for term in ordered)),
        length=length,
    )


async def fill(ledger: SqliteLedger, partition: Partition, vectors: np.ndarray) -> None:
    """Write one memory per vector."""
    for start in range(0, len(vectors), 1_000):

        async def work(tx: Writing, start: int = start) -> None:
            for number in range(start, min(start + 1_000, len(vectors))):
                text = text_of(number)
                memory = Memory(
                    id=f"m_{number:08}",
                    scope=partition.scope,
                    kind=partition.kind,
                    text=text,
                    recorded_at=NOW,
                    updated_at=NOW,
                )
                await tx.put(memory, indexed=indexed(text, vectors[number]), space=SPACE)

        await ledger.write(work, scope=partition.scope)


async def times_of(call: Callable[[], Awaitable[object]], *, rounds: int) -> list[float]:
    """Milliseconds of each call, after one warm-up."""
    await call()
    times: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        await call()
        times.append((time.perf_counter() - started) * 1_000)
    return times


async def measure(ledger: SqliteLedger, size: int, *, rounds: int, report: Report) -> None:
    """All figures for one partition of that size."""
    random = np.random.default_rng(size)
    vectors = random.standard_normal((size, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    partition = Partition(scope=UserScope(tenant="bench", user=f"u{size}"), kind=Kind.FACT)
    await fill(ledger, partition, vectors)
    question = vectors[size // 2]
    words = ANALYZER.words(QUESTION)
    sought = Sought(vector=question.tobytes(), words=words)
    unknown = Sought(vector=sought.vector, words=(*words, (1,), (2,)))
    warm = LocalIndex(ledger, space=SPACE)

    async def ask(index: LocalIndex, about: Sought = sought, limit: int = 10) -> object:
        return await index.search(about, partitions=[partition], limit=limit, at=NOW)

    async def scan() -> object:
        return np.einsum("ij,j->i", vectors, question)

    async def rows(tx: Reading) -> object:
        return await tx.rows(partition=partition, since=None)

    async def states(tx: Reading) -> object:
        return await tx.partitions(scope=partition.scope)

    few = max(3, rounds // 3)
    calls: dict[str, tuple[Callable[[], Awaitable[object]], int]] = {
        "cold: load and first answer": (lambda: ask(LocalIndex(ledger, space=SPACE)), few),
        "cold: of it, the ledger": (lambda: ledger.read(rows, scopes=[partition.scope]), few),
        "scan": (scan, rounds),
        "warm": (lambda: ask(warm), rounds),
        "warm, limit 50": (lambda: ask(warm, limit=50), rounds),
        "warm, two unknown words more": (lambda: ask(warm, unknown), rounds),
        "warm: of it, generations": (lambda: ledger.read(states, scopes=[partition.scope]), rounds),
    }
    best: dict[str, float] = {}
    for name, (call, times) in calls.items():
        taken = await times_of(call, rounds=times)
        best[name] = min(taken)
        system = f"{size:,} memories: {name}"
        report.add(system, "p50_ms", statistics.median(taken), "ms", n=times)
        report.add(system, "best_ms", min(taken), "ms", n=times)
    beyond = best["warm"] - best["scan"]
    report.add(f"{size:,} memories: warm beyond scan", "best_ms", beyond, "ms", n=rounds)
    report.add(f"{size:,} memories", "memory_mb", warm.memory_used / 1e6, "MB", n=1)


async def main() -> None:
    """Measure each size in a fresh ledger."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--json", help="write the figures there")
    asked = parser.parse_args()
    report = Report("index_load")
    started = time.process_time()
    for number in range(2_000):
        ANALYZER.terms(text_of(number))
    rate = 2_000 / (time.process_time() - started)
    report.add("analyzer: texts", "per_cpu_second", rate, "1/s", n=2_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        async with SqliteLedger.open(path, clock=lambda: NOW) as ledger:
            for size in asked.sizes:
                await measure(ledger, size, rounds=asked.rounds, report=report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
