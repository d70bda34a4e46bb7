"""`DatabaseIndex` keeps the promises of `VectorIndex`: pgvector and full-text search find, in the
transaction that the rows are read in."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.metadata import version

import pytest

from ricordo.adapters.local import LocalIndex
from ricordo.adapters.local.in_database import DatabaseIndex
from ricordo.adapters.postgres import PostgresLedger
from ricordo.model import Space
from ricordo.testing.index import IndexBench, VectorIndexSuite
from ricordo.testing.naive import NOON, SPACE
from tests.support.engines import runs_on
from tests.support.postgres import Server
from tests.support.searching import PreparedIndex


@pytest.fixture
async def bench(
    request: pytest.FixtureRequest, vectors_postgres: Server
) -> AsyncIterator[IndexBench]:
    server = vectors_postgres
    name = server.ledger()
    runs_on(
        request,
        port="VectorIndex",
        adapter=f"psycopg {version('psycopg')}, searching in the database",
        server=f"PostgreSQL {server.version}, pgvector {server.pgvector}",
    )
    async with AsyncExitStack() as opened:
        ledger, elsewhere = [
            await opened.enter_async_context(
                PostgresLedger.open(server.url(name), clock=lambda: NOON)
            )
            for _ in range(2)
        ]

        def make(space: Space) -> PreparedIndex:
            inner = LocalIndex(ledger, space=space)
            opened.push_async_callback(inner.close)
            index = DatabaseIndex(inner, ledger, ledger, space=space, least=1)
            opened.push_async_callback(index.close)
            return PreparedIndex(index, ledger)

        yield IndexBench(ledger=ledger, elsewhere=elsewhere, index=make(SPACE), make=make)
    server.give_back(name)


class TestDatabaseIndex(VectorIndexSuite):
    """All promises, with every partition searched in the database."""
