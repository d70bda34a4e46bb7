"""How fast the local index loads a cold partition and searches a warm one; prints JSON.

    python benchmarks/index_load.py [--sizes 1000 10000] [--rounds 15]

Times are medians in milliseconds. `scan` is one product of the partition's contiguous matrix with
the question, the least that exact search can cost; `beyond_scan` is what a warm search takes above
it. `cold` begins with a new index and ends with the first answer, the ledger's reading included.
"""

import argparse
import asyncio
import json
import os
import platform
import statistics
import struct
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

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


async def median_ms(call: Callable[[], Awaitable[object]], *, rounds: int) -> float:
    """Median time of a call after one warm-up."""
    await call()
    times: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        await call()
        times.append((time.perf_counter() - started) * 1_000)
    return round(statistics.median(times), 3)


async def measure(ledger: SqliteLedger, size: int, *, rounds: int) -> dict[str, Any]:
    """All figures for one partition of that size."""
    random = np.random.default_rng(size)
    vectors = random.standard_normal((size, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    partition = Partition(scope=UserScope(tenant="bench", user=f"u{size}"), kind=Kind.FACT)
    await fill(ledger, partition, vectors)
    question = vectors[size // 2]
    sought = Sought(vector=question.tobytes(), words=ANALYZER.words(QUESTION))
    warm = LocalIndex(ledger, space=SPACE)

    async def ask(index: LocalIndex, about: Sought = sought) -> object:
        return await index.search(about, partitions=[partition], limit=50, at=NOW)

    async def cold() -> object:
        return await ask(LocalIndex(ledger, space=SPACE))

    async def scan() -> object:
        return np.einsum("ij,j->i", vectors, question)

    async def read() -> object:
        async def look(tx: Reading) -> object:
            return await tx.rows(partition=partition, since=None)

        return await ledger.read(look, scopes=[partition.scope])

    async def states() -> object:
        async def look(tx: Reading) -> object:
            return await tx.partitions(scope=partition.scope)

        return await ledger.read(look, scopes=[partition.scope])

    unknown = Sought(vector=sought.vector, words=(*sought.words, (1,), (2,)))
    result = {
        "memories": size,
        "terms_per_memory": round(np.mean([len(ANALYZER.terms(text_of(i))[0]) for i in range(99)])),
        "cold": await median_ms(cold, rounds=max(3, rounds // 3)),
        "of_it_ledger": await median_ms(read, rounds=max(3, rounds // 3)),
        "warm": await median_ms(lambda: ask(warm), rounds=rounds),
        "warm_two_unknown_words_more": await median_ms(lambda: ask(warm, unknown), rounds=rounds),
        "of_it_generations": await median_ms(states, rounds=rounds),
        "scan": await median_ms(scan, rounds=rounds),
        "megabytes": round(warm.memory_used / 1e6, 1),
    }
    result["beyond_scan"] = round(result["warm"] - result["scan"], 3)
    return result


async def main() -> None:
    """Measure each size in a fresh ledger and print everything as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    started = time.perf_counter()
    for number in range(2_000):
        ANALYZER.terms(text_of(number))
    texts_per_second = round(2_000 / (time.perf_counter() - started))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        async with SqliteLedger.open(path, clock=lambda: NOW) as ledger:
            sizes = [await measure(ledger, size, rounds=asked.rounds) for size in asked.sizes]
    machine: dict[str, Any] = {"python": platform.python_version(), "cores": os.cpu_count()}
    machine["load"] = os.getloadavg()
    print(json.dumps({"machine": machine, "texts_per_second": texts_per_second, "sizes": sizes}))


if __name__ == "__main__":
    asyncio.run(main())
