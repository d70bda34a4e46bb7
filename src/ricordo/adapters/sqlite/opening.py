"""Opening a file: only a ledger of ours is touched; anything else is left as it is."""

import os
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ricordo.adapters.sqlite.faults import translated
from ricordo.adapters.sqlite.schema import (
    APPLICATION_ID,
    Migration,
    check_version,
    migrate,
    version_of,
)
from ricordo.errors import Corrupt, ForeignFile, Invalid, NotFound, Unavailable

_CACHED_STATEMENTS = 512
_WAL_KEPT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Opened:
    """Connections to one ledger, and its secret."""

    writer: sqlite3.Connection
    readers: tuple[sqlite3.Connection, ...]
    secret: bytes


def open_file(
    path: Path, *, create: bool, steps: Sequence[Migration], patience: float, readers: int
) -> Opened:
    """Check, create or migrate the file, and connect to it. Blocks."""
    name = str(path)
    _check_path(path, create=create)
    with translated(name):
        _check_content(path, steps)
        writer = _connect(path, "rwc" if create else "rw", patience)
        try:
            _check_writable(path)
            migrate(writer, steps=steps, path=name)
            _use_wal(writer, patience)
            # The writer polls for its turn itself; see `Writer`.
            writer.execute("pragma busy_timeout = 0")
            secret = writer.execute("select value from meta where name = 'secret'").fetchone()
            if secret is None:
                raise Corrupt(f"the ledger {name} has lost its secret; restore it from a backup")
            others = tuple(_connect(path, "ro", patience) for _ in range(readers))
        except BaseException:
            writer.close()
            raise
    return Opened(writer, others, secret[0])


def _check_path(path: Path, *, create: bool) -> None:
    if "\0" in str(path):
        raise Invalid("the path of a ledger may not contain a NUL character")
    if path.is_dir():
        raise Invalid(f"{path} is a directory; name a file in it")
    if not path.parent.is_dir():
        raise Invalid(f"the directory {path.parent} does not exist; create it first")
    if not path.exists() and not create:
        raise NotFound(f"there is no ledger at {path}; `ricordo init` makes one")
    if path.exists() and not path.is_file():
        raise ForeignFile(f"{path} is not a regular file; nothing was changed")


def _check_writable(path: Path) -> None:
    # SQLite falls back to reading when it may not write, and would fail much later.
    if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
        raise Unavailable(
            f"the ledger {path} may not be written; check the permissions of the file and of its "
            "directory"
        )


def _check_content(path: Path, steps: Sequence[Migration]) -> None:
    """Look at the file as it lies there, before SQLite would recover, lock or create anything.

    Through SQLite, for opening and closing it ourselves would drop the locks that other
    connections of this process hold on it.
    """
    size = path.stat().st_size if path.exists() else 0
    log = Path(f"{path}-wal")
    pending = log.exists() and log.stat().st_size > 0
    if size == 0:
        if pending:
            raise Corrupt(f"{path} is empty, but its log {log} is not; restore it from a backup")
        return
    peek = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        (mark,) = peek.execute("pragma application_id").fetchone()
        if mark != APPLICATION_ID:
            raise ForeignFile(f"{path} is not a Ricordo ledger; nothing was changed")
        if not pending:
            check_version(version_of(peek), steps=steps, path=str(path))
            _check_size(peek, path)
    finally:
        peek.close()


def _check_size(peek: sqlite3.Connection, path: Path) -> None:
    pages = peek.execute("pragma page_count").fetchone()[0]
    page = peek.execute("pragma page_size").fetchone()[0]
    if path.stat().st_size < pages * page:
        raise Corrupt(f"the ledger {path} was cut short; restore it from a backup")


def _connect(path: Path, mode: str, patience: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    try:
        for setting in (
            "synchronous = full",
            "secure_delete = on",
            "foreign_keys = on",
            "temp_store = memory",  # no text in files that nobody wipes
            "trusted_schema = off",
            f"journal_size_limit = {_WAL_KEPT}",
            "cache_size = -16384",
            "wal_autocheckpoint = 0",  # `Writer` does it, once the callers have their answers
        ):
            connection.execute(f"pragma {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, patience: float) -> None:
    """Switch to write-ahead logging; while another process does so too, wait for it."""
    until = time.monotonic() + patience
    while True:
        try:
            mode = connection.execute("pragma journal_mode = wal").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
            continue
        if mode == "wal":
            return
        raise Unavailable(
            "the file system does not allow a write-ahead log; put the ledger on a local disk"
        )
