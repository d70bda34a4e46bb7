"""Conformance of ledgers: one sealed suite; a backend adds only the fixture `another`.

@pytest.fixture
async def another(tmp_path, clock):  # an `OpenLedger`; it closes what it opened
    ...

class TestMyLedger(LedgerSuite):
    ...
"""

from ricordo.testing.ledger.making import HandClock
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.ledger.suite import LedgerSuite

__all__ = ["HandClock", "LedgerSuite", "OpenLedger"]
