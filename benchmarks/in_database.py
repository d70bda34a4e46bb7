"""A partition too large for memory: the local index beside pgvector, exact and approximate.

    python -m benchmarks.in_database [--quick] [--size N] [--json FILE]

One person has that many memories in a PostgreSQL ledger on this machine, started for this with its
usual settings. The index is asked as recall asks it, by meaning, words and context at once.
`recall_at_10` counts how many of the ten nearest memories are found; `same_of_10` and `same_of_3`
how many of the best by all signals together are also the local index's. Vectors are sentences' in
kind: directions of 24 dimensions, spread over 384, with noise. Texts have twelve words of 30,000,
as often as words of a language are without its fifty most usual; a question has four of one
text's, and half of its direction. Five memories are of one thread. `resident_mb` is what this
process grew by until then; the server's memory is its own."""

import argparse
import asyncio
import statistics
import struct
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks.filling import PLACES, scope_of
from benchmarks.material import NOW, fact, sentence
from benchmarks.peers import postgres
from benchmarks.report import Report
from benchmarks.timing import percentile, resident_mb
from ricordo.adapters.local import LocalIndex
from ricordo.adapters.local.in_database import DatabaseIndex
from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.founding import found
from ricordo.adapters.postgres.near_indexes import tune
from ricordo.memory.ranking import WEIGHTS
from ricordo.model import Hits, Indexed, Kind, Origin, Partition, Sought, Space
from ricordo.ports import VectorIndex, Writing

DIMENSION, LATENT, NOISE = 384, 24, 0.05
SPACE = Space(model="given", dimension=DIMENSION, transform="none", words="given")
MINE = Partition(scope=scope_of(0), kind=Kind.FACT)
LIMIT = 50
"""What recall asks an index for."""

QUICK, FULL = (5_000,), (50_000, 200_000)
ROUNDS = 40

VOCABULARY, USUAL, LENGTH, ASKED = 30_000, 50, 12, 4
MINUTE = 60_000_000

Vectors = NDArray[np.float32]


def directions(count: int, *, seed: int) -> Vectors:
    """Unit vectors that differ in a few dimensions, as those of sentences do."""
    basis = np.random.default_rng(0).standard_normal((LATENT, DIMENSION), dtype=np.float32)
    drawn = np.random.default_rng(seed)
    latent = drawn.standard_normal((count, LATENT), dtype=np.float32)
    noise = drawn.standard_normal((count, DIMENSION), dtype=np.float32)
    vectors = latent @ basis / np.float32(np.sqrt(LATENT)) + NOISE * noise + np.float32(0.5)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def texts(count: int, *, seed: int) -> NDArray[np.int64]:
    """Words of texts, by number: the first ones are the most usual."""
    odds = 1 / (np.arange(VOCABULARY) + USUAL)
    drawn = np.random.default_rng(seed).random((count, LENGTH))
    return np.searchsorted(np.cumsum(odds / odds.sum()), drawn).clip(max=VOCABULARY - 1)


def term(word: int) -> int:
    """Its hash."""
    return (word + 1) * 0x9E3779B97F4A7C15 % (1 << 64)


def row(words: NDArray[np.int64], vector: Vectors) -> Indexed:
    """The row of one text."""
    known = sorted(Counter(term(word) for word in words.tolist()).items())
    return Indexed(
        vector=vector.astype("<f4").tobytes(),
        terms=struct.pack(f"<{len(known)}Q", *(each for each, _ in known)),
        counts=struct.pack(f"<{len(known)}H", *(often for _, often in known)),
        length=len(words),
    )


def questions(count: int, *, vectors: Vectors) -> list[Sought]:
    """Each about one of the texts: half its direction, and some of its words."""
    words = texts(len(vectors), seed=2)
    about = np.linspace(0, len(vectors) - 1, count).astype(np.int64)
    asked = vectors[about] + directions(count, seed=5)
    asked /= np.linalg.norm(asked, axis=1, keepdims=True)
    return [
        Sought(
            vector=asked[number].astype("<f4").tobytes(),
            words=tuple((term(word),) for word in words[text, :ASKED].tolist()),
            weights=WEIGHTS,
        )
        for number, text in enumerate(about)
    ]


async def fill(admin: str, ledger: PostgresLedger, vectors: Vectors) -> None:
    """One memory through the ledger, and its likes in bulk."""

    words = texts(len(vectors), seed=2)

    async def first(tx: Writing) -> None:
        origin = Origin(at=NOW, agent="coder", thread_id="t")
        told = replace(fact(0, MINE.scope), origins=(origin,))
        await tx.put(told, indexed=row(words[0], vectors[0]), space=SPACE)

    await ledger.write(first, scope=MINE.scope)
    with psycopg.connect(admin, options="-c search_path=ricordo") as connection:
        await asyncio.to_thread(_copies, connection, words, vectors)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("vacuum analyze")


def _copies(
    connection: psycopg.Connection[Any], words: NDArray[np.int64], vectors: Vectors
) -> None:
    count = len(vectors)
    for table in ("memories", "origins", "memory_index"):
        cursor = connection.execute(f"select * from {table}".encode())
        names = [column.name for column in cursor.description or ()]
        like = dict(zip(names, cursor.fetchone() or (), strict=True))
        sql = f"copy {table} ({', '.join(names)}) from stdin"
        with connection.cursor().copy(sql.encode()) as copy:
            for number in range(1, count):
                changed = {**like, **_changes(table, number, like, words, vectors)}
                copy.write_row([changed[name] for name in names])
    connection.execute(
        "update partitions set size = %s, next_place = %s, generation = generation + 1",
        (count, count + 1),
    )


def _changes(
    table: str,
    number: int,
    like: dict[str, Any],
    words: NDArray[np.int64],
    vectors: Vectors,
) -> dict[str, Any]:
    place = 1_000 + number
    if table == "origins":
        return {"row": place, "memory_row": place}
    if table == "memories":
        made = fact(number, MINE.scope)
        return {"row": place, "id": made.id, "text": sentence(number), "digest": made.digest}
    ready = row(words[number], vectors[number])
    return {
        "place": like["partition_id"] * PLACES + 1 + number,
        "memory_row": place,
        "memory_id": fact(number, MINE.scope).id,
        "vector": ready.vector,
        "terms": ready.terms,
        "counts": ready.counts,
        "length": ready.length,
        "thread": 1 + number // 5,
        "said_at": like["said_at"] + number * MINUTE,
    }


async def asked(index: VectorIndex, rounds: Sequence[Sought]) -> tuple[list[float], list[Hits]]:
    """Every question once to get warm, then again: times in ms, and answers."""
    times: list[float] = []
    answers: list[Hits] = []
    for number, sought in enumerate((*rounds[:5], *rounds)):
        started = time.perf_counter()
        hits = await index.search(sought, partitions=[MINE], limit=LIMIT, at=NOW)
        if number >= 5:
            times.append((time.perf_counter() - started) * 1_000)
            answers.append(hits)
    return times, answers


def best(hits: Hits, signal: str, count: int = 10) -> set[str]:
    ranked = sorted(hits.hits, key=lambda hit: (-getattr(hit, signal), hit.memory_id))
    return {hit.memory_id for hit in ranked[:count]}


async def measure(size: int, *, report: Report) -> None:
    """One partition of that size, searched in three ways."""
    vectors = directions(size, seed=1)
    rounds = questions(ROUNDS, vectors=vectors)
    nearest = [
        {f"m_{n:08}" for n in np.argsort(-(vectors @ np.frombuffer(q.vector or b"", "<f4")))[:10]}
        for q in rounds
    ]
    with postgres() as admin:
        await found(admin, password="bench")
        url = admin.replace("//postgres:@", "//ricordo_app:bench@")
        async with PostgresLedger.open(url, clock=lambda: NOW, patience=600) as ledger:
            await fill(admin, ledger, vectors)
            del vectors
            started = time.perf_counter()
            while not await ledger.prepare(partition=MINE):
                pass
            rate = size / (time.perf_counter() - started)
            report.add(f"{size:,}: made searchable", "rows_per_second", rate, "1/s", n=size)
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute("vacuum analyze")
            answers: dict[str, list[Hits]] = {}
            before = resident_mb()
            inner = LocalIndex(ledger, space=SPACE, max_bytes=1 << 34)
            large = DatabaseIndex(inner, ledger, ledger, space=SPACE, least=1)
            for name, index in (
                ("database, exact", large),
                ("database, HNSW", large),
                ("memory", inner),
            ):
                if name == "database, HNSW":
                    started = time.perf_counter()
                    await tune(admin, least=1)
                    taken = time.perf_counter() - started
                    report.add(f"{size:,}: HNSW", "made_in", taken, "s", n=1)
                times, answers[name] = await asked(index, rounds)
                system = f"{size:,}: {name}"
                for percent in (50, 95):
                    value = percentile(times, percent)
                    report.add(system, f"p{percent}_ms", value, "ms", n=ROUNDS)
                right = [
                    len(best(hits, "cosine") & near) / 10
                    for hits, near in zip(answers[name], nearest, strict=True)
                ]
                report.add(system, "recall_at_10", statistics.mean(right), "", n=ROUNDS)
                report.add(system, "resident_mb", resident_mb() - before, "MB", n=1)
            for name in ("database, exact", "database, HNSW"):
                for count in (3, 10):
                    same = [
                        len(best(ours, "fused", count) & best(theirs, "fused", count))
                        for ours, theirs in zip(answers[name], answers["memory"], strict=True)
                    ]
                    metric, value = f"same_of_{count}", statistics.mean(same)
                    report.add(f"{size:,}: {name}", metric, value, "", n=ROUNDS)
            await large.close()
            await inner.close()


async def main() -> None:
    """All sizes, each on a server of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", type=int, help="only this one")
    parser.add_argument("--json")
    given = parser.parse_args()
    report = Report("in_database")
    sizes = (given.size,) if given.size else QUICK if given.quick else FULL
    for size in sizes:
        await measure(size, report=report)
    report.finish(given.json)


if __name__ == "__main__":
    asyncio.run(main())
