"""How a suite opens the ledger under test."""

from collections.abc import Awaitable, Callable

from ricordo.ports import Ledger

OpenLedger = Callable[[], Awaitable[Ledger]]
"""Opens one more ledger on the test's own store, as another process would."""
