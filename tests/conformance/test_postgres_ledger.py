"""`PostgresLedger` keeps the promises of `Ledger`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.testing.ledger import HandClock, LedgerSuite, OpenLedger
from tests.support.postgres import Server


@pytest.fixture
async def another(postgres: Server, database: str, clock: HandClock) -> AsyncIterator[OpenLedger]:
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
