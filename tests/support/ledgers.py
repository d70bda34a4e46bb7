"""The ledger itself in a folder, whatever engine it is on, and what lies in its tables."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, closing
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.ports import Ledger
from tests.support.opening import address

CONNECTIONS = 4
"""Of a ledger on a server; several processes open one at once in these tests."""


def ledger(folder: Path, *, clock: Callable[[], datetime]) -> AbstractAsyncContextManager[Ledger]:
    """The ledger of the memory in `folder`, about to be open."""
    where = address(folder)
    if isinstance(where, Path):
        return SqliteLedger.open(where, clock=clock)
    return PostgresLedger.open(where, clock=clock, connections=CONNECTIONS)


def rows(folder: Path, sql: str) -> list[Any]:
    """What a query finds, asked beside the ledger, by somebody who sees every row."""
    administrator = folder / "administrator"
    if administrator.exists():
        with psycopg.connect(administrator.read_text()) as server:
            server.execute("set search_path to ricordo")
            return server.execute(sql.encode()).fetchall()
    with closing(sqlite3.connect(folder / "memory.db")) as file:
        return file.execute(sql).fetchall()


def quiet(folder: Path) -> None:
    """Wait until nobody has the ledger open on its server: of what a process had sent before it was
    killed, the server may still be carrying out the last. Files have no such afterlife."""
    administrator = folder / "administrator"
    if not administrator.exists():
        return
    with psycopg.connect(administrator.read_text(), autocommit=True) as server:
        until = time.monotonic() + 60
        while server.execute(_OTHERS).fetchone() != (0,):
            assert time.monotonic() < until, "somebody is still connected"
            time.sleep(0.005)


_OTHERS = (
    "select count(*) from pg_stat_activity where datname = current_database() "
    "and backend_type = 'client backend' and pid <> pg_backend_pid()"
)
