"""Fills a ledger with very many memories in minutes: one is stored as ever, the rest are its likes.

A memory through the ledger costs a third of a millisecond, so a million take the better part of an
hour on a busy machine. Here one memory is stored through the ledger; rows of the others are copies
with their own numbers, words and vectors, written in bulk. `doctor`'s check is run on what is small
enough to be checked soon.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.material import NOW, fact, indexed, sentence
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import Origin, Space, UserScope
from ricordo.ports import Writing

TENANT = "bench"
PLACES = 1 << 32
"""Places of `memory_index` that belong to one partition."""

TABLES = ("scopes", "partitions", "memories", "origins", "memory_index")

CHECKED = 20_000
"""Memories up to which the whole file is checked afterwards."""

Vectors = NDArray[np.float32]


def scope_of(number: int) -> UserScope:
    """The scope of one of many persons."""
    return UserScope(tenant=TENANT, user=f"u{number}")


async def fill(
    path: Path, sizes: Sequence[int], *, space: Space, vectors_of: Callable[[int, int], Vectors]
) -> None:
    """Give person number `n` so many memories as `sizes[n]`, each of another sentence."""
    async with SqliteLedger.open(path, clock=lambda: NOW) as ledger:

        async def first(tx: Writing) -> None:
            vector = np.zeros(space.dimension, np.float32)
            row = indexed(sentence(0), vector)
            origin = Origin(at=NOW, agent="coder")
            told = replace(fact(0, scope_of(0)), origins=(origin,))
            await tx.put(told, indexed=row, space=space)

        await ledger.write(first, scope=scope_of(0))
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        _Copies(connection).write(sizes, vectors_of)
    finally:
        connection.close()
    if sum(sizes) <= CHECKED:
        async with SqliteLedger.open(path, clock=lambda: NOW) as ledger:
            problems = [each.problem for each in await ledger.check() if each.problem]
            if problems:
                raise AssertionError(f"the filled ledger is not sound: {problems}")


class _Copies:
    """Rows like those of the first memory."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._likes: dict[str, dict[str, Any]] = {}
        for table in TABLES:
            found = connection.execute(f"select * from {table}")
            names = [each[0] for each in found.description]
            self._likes[table] = dict(zip(names, found.fetchone(), strict=True))

    def write(self, sizes: Sequence[int], vectors_of: Callable[[int, int], Vectors]) -> None:
        """Replace the first memory by all of them, and say how far it is."""
        for setting in ("journal_mode = wal", "synchronous = off", "cache_size = -262144"):
            self._connection.execute(f"pragma {setting}")
        total, done, row, said = sum(sizes), 0, 1, time.perf_counter()
        self._connection.execute("begin")
        for table in reversed(TABLES):
            self._connection.execute(f"delete from {table}")
        for number, size in enumerate(sizes):
            self._person(number, size, row, vectors_of(number, size))
            row += size
            done += size
            if time.perf_counter() - said > 10:
                said = time.perf_counter()
                print(f"filled {done:,} of {total:,}", flush=True)
            if number % 200 == 199:
                self._connection.execute("commit")
                self._connection.execute("begin")
        self._connection.execute("commit")
        self._connection.execute("pragma wal_checkpoint(truncate)")

    def _person(self, number: int, size: int, row: int, vectors: Vectors) -> None:
        place = number + 1
        ours = {"scope_id": place, "partition_id": place}
        self._insert("scopes", [{"id": place, "owner": scope_of(number).user}])
        counted = {"size": size, "next_place": size + 1}
        self._insert("partitions", [{"id": place, "scope_id": place, **counted}])
        rows = [_row(n) for n in range(size)]
        blobs = [each.tobytes() for each in vectors.astype("<f4")]
        self._insert(
            "memories",
            (
                {"row": row + n, "id": f"m_{n:08}", **ours, "text": text, "digest": digest}
                for n, (text, digest, _) in enumerate(rows)
            ),
        )
        numbers = range(row, row + size)
        self._insert("origins", ({"row": r, "memory_row": r, "scope_id": place} for r in numbers))
        self._insert(
            "memory_index",
            (
                {
                    "place": place * PLACES + 1 + n,
                    "memory_row": row + n,
                    "memory_id": f"m_{n:08}",
                    **ours,
                    "vector": blobs[n],
                    **told,
                }
                for n, (_, _, told) in enumerate(rows)
            ),
        )

    def _insert(self, table: str, changes: Iterator[dict[str, Any]] | list[dict[str, Any]]) -> None:
        like = self._likes[table]
        names, marks = ", ".join(like), ", ".join(f":{name}" for name in like)
        sql = f"insert into {table} ({names}) values ({marks})"
        self._connection.executemany(sql, ({**like, **each} for each in changes))


@cache
def _row(number: int) -> tuple[str, str, dict[str, Any]]:
    """Text, digest and words of a sentence; as many people say the same hundred."""
    text = sentence(number)
    made = indexed(text, np.zeros(1, np.float32))
    told = {"terms": made.terms, "counts": made.counts, "length": made.length}
    return text, fact(number, scope_of(0)).digest, told
