"""The local index and the local graph over PostgreSQL's rows: as over the embedded ledger's."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ricordo.adapters.local import LocalGraph, LocalIndex
from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import Sought, Space
from ricordo.testing.graph import ALICE, PLATFORM, Edge, GraphBench, GraphIndexSuite, relate
from ricordo.testing.index import (
    DOCUMENTED,
    EVERY,
    FACTS,
    HABITS,
    IndexBench,
    VectorIndexSuite,
    put,
    remove,
)
from ricordo.testing.naive import DIMENSION, NOON, SPACE, Doc, unit
from tests.support.engines import runs_on
from tests.support.postgres import Server


@pytest.fixture
async def ledger(postgres: Server, database: str) -> AsyncIterator[PostgresLedger]:
    async with PostgresLedger.open(postgres.url(database), clock=lambda: NOON) as opened:
        yield opened


@pytest.fixture
async def bench(
    request: pytest.FixtureRequest, postgres: Server, database: str, ledger: PostgresLedger
) -> AsyncIterator[IndexBench | GraphBench]:
    graph = issubclass(request.cls, GraphIndexSuite)
    port = "GraphIndex" if graph else "VectorIndex"
    runs_on(request, port=port, adapter="local", server=f"over PostgreSQL {postgres.version}")
    if graph:
        yield GraphBench(ledger=ledger, graph=LocalGraph(ledger))
        return
    async with (
        PostgresLedger.open(postgres.url(database), clock=lambda: NOON) as elsewhere,
        LocalIndex(ledger, space=SPACE) as index,
    ):

        def make(space: Space) -> LocalIndex:
            return LocalIndex(ledger, space=space)

        yield IndexBench(ledger=ledger, elsewhere=elsewhere, index=index, make=make)


class TestLocalIndexOverPostgres(VectorIndexSuite):
    """All promises, over the server's rows."""


class TestLocalGraphOverPostgres(GraphIndexSuite):
    """All promises, over the server's rows."""


async def test_both_ledgers_give_the_same_answers_in_the_same_order(
    ledger: PostgresLedger, tmp_path: Path
) -> None:
    """One history of writes in both, then many questions: every score, every place, every path."""
    drawn = random.Random(7)

    def doc(number: int, partition: str) -> Doc:
        return Doc(
            id=f"{partition}{number:03}",
            direction=tuple(drawn.randint(-3, 3) or 1 for _ in range(DIMENSION)),
            words={drawn.randint(1, 30): drawn.randint(1, 3) for _ in range(6)},
        )

    history = [
        (partition, [doc(number, name) for number in range(60)])
        for name, partition in (("f", FACTS), ("h", HABITS), ("d", DOCUMENTED))
    ]
    edges = [
        Edge(
            id=f"r{n:03}",
            source=f"e{drawn.randint(0, 25)}",
            target=f"e{drawn.randint(0, 25)}",
            scope=drawn.choice([ALICE, PLATFORM]),
        )
        for n in range(80)
    ]
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: NOON) as embedded:
        for each in (ledger, embedded):
            for partition, docs in history:
                await put(each, partition, *docs)
                await remove(each, partition, *(doc.id for doc in docs[::7]))
            await relate(each, *edges)
        async with (
            LocalIndex(ledger, space=SPACE) as here,
            LocalIndex(embedded, space=SPACE) as there,
        ):
            for _ in range(40):
                sought = Sought(
                    vector=unit([drawn.randint(-3, 3) or 1 for _ in range(DIMENSION)]),
                    words=tuple((drawn.randint(1, 30),) for _ in range(3)),
                    weights=EVERY,
                )
                asked = {"partitions": [FACTS, HABITS, DOCUMENTED], "limit": 12, "at": NOON}
                assert await here.search(sought, **asked) == await there.search(sought, **asked)
        for number in range(26):
            walked = [
                await LocalGraph(each).walk(
                    [f"e{number}"], scopes=[ALICE, PLATFORM], hops=3, at=NOON
                )
                for each in (ledger, embedded)
            ]
            assert walked[0] == walked[1]
