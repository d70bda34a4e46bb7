"""Whose turn it is: found at a cost that does not grow with what waits (promise 14)."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.queue import next_scope
from ricordo.testing.ledger.making import START, HandClock

PEOPLE = 20
STEPS = 10
"""Instructions of the engine between two counts."""


def fill(connection: sqlite3.Connection, *, each: int) -> None:
    people = [(n, f"tenant-{n % 3}", f"user-{n}") for n in range(1, PEOPLE + 1)]
    connection.executemany(
        "insert into scopes (id, kind, tenant, owner) values (?, 'user', ?, ?)", people
    )
    connection.executemany(
        "insert into queue (scope_id, sort, state, thread_id, run_id, at, queued_at, payload) "
        "values (?, 'turn', 'waiting', 't', ?, 0, 0, '{}')",
        [(person, f"r{turn}") for turn in range(each) for person, *_ in people],
    )


async def cost(file: Path, *, each: int, number: int | None) -> int:
    """Instructions that a look takes, in tens."""
    async with SqliteLedger.open(file, clock=HandClock()):
        pass
    with closing(sqlite3.connect(file)) as connection:
        fill(connection, each=each)
        connection.commit()
        counted = 0

        def count() -> None:
            nonlocal counted
            counted += 1

        connection.set_progress_handler(count, STEPS)
        found = next_scope(connection, at=START + timedelta(1), size=8, patience=30, number=number)
        assert found == (number or 1)
    return counted


@pytest.mark.parametrize("number", [None, 7], ids=["of all", "one"])
async def test_a_long_queue_costs_no_more_than_a_short_one(
    tmp_path: Path, number: int | None
) -> None:
    short = await cost(tmp_path / "short.db", each=10, number=number)
    long = await cost(tmp_path / "long.db", each=500, number=number)
    assert long <= short * 1.1 + 1
