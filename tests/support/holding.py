"""Another process that holds a memory, so that nothing can be written meanwhile."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.sqlite import SqliteLedger

_WRITTEN = "ricordo.memories, ricordo.queue, ricordo.outbox, ricordo.audit"


@contextmanager
def held(file: Path) -> Iterator[None]:
    """Hold the write lock of an open memory: the file, or the database whose address is there."""
    administrator = file.parent / "administrator"
    if administrator.exists():
        with psycopg.connect(administrator.read_text()) as other:
            other.execute(f"lock table {_WRITTEN} in exclusive mode".encode())
            yield
        return
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("rollback")


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let memories opened from now on wait for others a moment only, not ten seconds."""
    monkeypatch.setattr(SqliteLedger, "open", partial(SqliteLedger.open, patience=0.05))
    opening = PostgresLedger.open
    monkeypatch.setattr(
        PostgresLedger,
        "open",
        lambda url, **more: opening(url, **{**more, "patience": 0.5}),
    )
