"""Every test of a promise runs on each ledger."""

import pytest


@pytest.fixture(autouse=True)
def _on_each_ledger(engine: str) -> None:
    """Nothing more than to ask for it."""
