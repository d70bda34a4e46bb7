"""`PostgresLedger` keeps the promises of `Ledger`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from importlib.metadata import version

import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.testing.ledger import HandClock, LedgerSuite, OpenLedger
from tests.support.engines import runs_on
from tests.support.postgres import Server


@pytest.fixture
async def another(
    request: pytest.FixtureRequest, postgres: Server, database: str, clock: HandClock
) -> AsyncIterator[OpenLedger]:
    runs_on(
        request,
        port="Ledger",
        adapter=f"psycopg {version('psycopg')}",
        server=f"PostgreSQL {postgres.version}",
    )
    async with AsyncExitStack() as opened:

        async def open_ledger() -> PostgresLedger:
            opening = PostgresLedger.open(postgres.url(database), clock=clock)
            return await opened.enter_async_context(opening)

        yield open_ledger


class TestPostgresLedger(LedgerSuite):
    """All promises, in one database."""

    @pytest.fixture
    def wipes(self) -> bool:
        """What is deleted stays in the server's files until the server gets to it."""
        return False

    @pytest.fixture
    def copies(self) -> frozenset[str]:
        """Of partitions that are searched in the database: tests/service/test_in_database.py."""
        return frozenset({"search_rows", "search_partitions", "search_totals"})
