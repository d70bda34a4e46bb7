"""`SqliteLedger` keeps the promises of `Ledger`."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.testing.ledger import HandClock, LedgerSuite, OpenLedger


@pytest.fixture
async def another(tmp_path: Path, clock: HandClock) -> AsyncIterator[OpenLedger]:
    async with AsyncExitStack() as opened:

        async def open_ledger() -> SqliteLedger:
            opening = SqliteLedger.open(tmp_path / "memory.db", clock=clock)
            return await opened.enter_async_context(opening)

        yield open_ledger


class TestSqliteLedger(LedgerSuite):
    """All promises, on one file."""
