"""The whole suite, put together from its parts."""

import pytest

from ricordo.ports import Ledger
from ricordo.testing.ledger.feeding import FeedingTests
from ricordo.testing.ledger.graphs import GraphTests, MergeTests
from ricordo.testing.ledger.index import IndexTests
from ricordo.testing.ledger.making import HandClock
from ricordo.testing.ledger.memories import MemoryTests
from ricordo.testing.ledger.offices import OfficeTests
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.ledger.passes import MergedTests, PassTests, TendingTests
from ricordo.testing.ledger.queues import QueueTests, RequestTests
from ricordo.testing.ledger.readers import ReaderTests
from ricordo.testing.ledger.removals import ErasureTests, RemovalTests
from ricordo.testing.ledger.walks import WalkTests
from ricordo.testing.ledger.whole import OutboxTests, TransactionTests
from ricordo.testing.ledger.withdrawals import WithdrawalTests


class LedgerSuite(
    MemoryTests,
    IndexTests,
    GraphTests,
    MergeTests,
    WalkTests,
    RemovalTests,
    ErasureTests,
    PassTests,
    MergedTests,
    TendingTests,
    QueueTests,
    RequestTests,
    WithdrawalTests,
    TransactionTests,
    OutboxTests,
    FeedingTests,
    OfficeTests,
    ReaderTests,
):
    """Every promise of `ricordo.ports.Ledger`, on the store that `another` opens."""

    @pytest.fixture
    def clock(self) -> HandClock:
        """The time of the ledger under test."""
        return HandClock()

    @pytest.fixture
    def wipes(self) -> bool:
        """Whether `scrub` vouches for the engine's files, where nobody is in its way."""
        return True

    @pytest.fixture
    def copies(self) -> frozenset[str]:
        """Places that the engine fills with copies when it is asked to, which has its own tests."""
        return frozenset()

    @pytest.fixture
    async def ledger(self, another: OpenLedger) -> Ledger:
        """An empty ledger."""
        return await another()
