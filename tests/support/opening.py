"""Opens a real memory on a real file for a test, with a clock that the test turns."""

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from ricordo import Principal, Ricordo, Settings, grants_of, open_memory
from ricordo.testing.embedding import HashingEmbedder


class Clock:
    """Tells the time that it was set to; each look is a microsecond later."""

    def __init__(self, at: datetime = datetime(2026, 3, 1, 9, tzinfo=UTC)) -> None:
        self.at = at

    def __call__(self) -> datetime:
        self.at += timedelta(microseconds=1)
        return self.at

    def pass_by(self, **units: float) -> None:
        self.at += timedelta(**units)


class Ticking(Clock):
    """The same, but time goes on by itself as well, for what waits for a while."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = time.monotonic()

    def __call__(self) -> datetime:
        return super().__call__() + timedelta(seconds=time.monotonic() - self._begun)


def address(folder: Path) -> str | Path:
    """What is opened in `folder`: the database whose address lies there, else a file."""
    server = folder / "address"
    return server.read_text() if server.exists() else folder / "memory.db"


def kept(folder: Path) -> bytes:
    """Everything that the ledger in `folder` keeps: the bytes of its files; of a server, what its
    administrator reads, for what its files keep until they are vacuumed is the server's."""
    administrator = folder / "administrator"
    if not administrator.exists():
        return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))
    with psycopg.connect(administrator.read_text()) as connection:
        tables = connection.execute(
            "select tablename from pg_tables where schemaname = 'ricordo'"
        ).fetchall()
        rows = [
            connection.execute(f"select t::text from ricordo.{name} t".encode()).fetchall()
            for (name,) in tables
        ]
    return repr(rows).encode()


def opened(
    folder: Path, *, clock: Callable[[], datetime] | None = None, **more: Any
) -> AbstractAsyncContextManager[Ricordo]:
    """A memory in `folder`, without a background worker unless settings say otherwise."""
    settings = more.pop("settings", None) or Settings(worker=False)
    more.setdefault("embedder", HashingEmbedder())
    return open_memory(address(folder), settings=settings, clock=clock or Clock(), **more)


def person(user: str = "alice", tenant: str = "acme", **roles: Any) -> Principal:
    """A principal with `reader=`, `curator=`, `admin=` namespaces."""
    return Principal(tenant=tenant, user=user, grants=grants_of(**roles))
