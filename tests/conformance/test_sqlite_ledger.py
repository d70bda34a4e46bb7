"""`SqliteLedger` keeps the promises of `Ledger`."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.testing.ledger import HandClock, LedgerSuite, OpenLedger
from tests.support.engines import runs_on


@pytest.fixture
async def another(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> AsyncIterator[OpenLedger]:
    runs_on(request, port="Ledger", adapter="sqlite3", server=f"SQLite {sqlite3.sqlite_version}")
    async with AsyncExitStack() as opened:

        async def open_ledger() -> SqliteLedger:
            opening = SqliteLedger.open(tmp_path / "memory.db", clock=clock)
            return await opened.enter_async_context(opening)

        yield open_ledger


class TestSqliteLedger(LedgerSuite):
    """All promises, on one file."""
