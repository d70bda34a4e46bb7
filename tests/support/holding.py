"""Another process that holds a memory's file, so that nothing can be written meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold the write lock of an open memory."""
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let memories opened from now on wait for others a moment only, not ten seconds."""
    monkeypatch.setattr(SqliteLedger, "open", partial(SqliteLedger.open, patience=0.05))
