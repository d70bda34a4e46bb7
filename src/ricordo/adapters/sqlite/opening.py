"""Opening a file: only a ledger of ours is touched; anything else is left as it is."""

import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from ricordo.adapters.sqlite.faults import translated
from ricordo.adapters.sqlite.rawfile import FILES, RawFile
from ricordo.adapters.sqlite.schema import (
    APPLICATION_ID,
    Migration,
    check_version,
    migrate,
    migrations,
    version_of,
)
from ricordo.columns.moved import MOVING, under_way
from ricordo.errors import (
    Corrupt,
    ForeignFile,
    Invalid,
    NotFound,
    Unavailable,
    WrongSchema,
)

_CACHED_STATEMENTS = 512
_LOOKS = 4
_WAL_KEPT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Opened:
    """Connections to one ledger, and its secret."""

    writer: sqlite3.Connection
    mover: sqlite3.Connection
    readers: tuple[sqlite3.Connection, ...]
    file: RawFile
    secret: bytes


def open_file(
    path: Path,
    *,
    create: bool,
    steps: Sequence[Migration],
    patience: float,
    readers: int,
    to_fill: bool = False,
) -> Opened:
    """Check, create or migrate the file, and connect to it. Blocks.

    Args:
        to_fill: also one that a move has not filled yet.
    """
    name = str(path)
    _check_path(path, create=create)
    with translated(name):
        _check_quietly(path, steps)
        _check_writable(path)
        try:
            file = FILES.hold(path)
        except OSError as error:
            raise Unavailable(f"the ledger {path} cannot be opened: {error.strerror}") from error
        try:
            return _connect_all(
                path, file, steps=steps, patience=patience, readers=readers, to_fill=to_fill
            )
        except BaseException:
            file.release()
            raise


def open_to_read(path: Path, *, patience: float) -> sqlite3.Connection:
    """Connect to a ledger of this version's schema, and change nothing. Blocks.

    Raises:
        WrongSchema: it is an older one; whoever opens it otherwise brings it up to date.
    """
    steps = migrations()
    _check_path(path, create=False)
    with translated(str(path)):
        _check_quietly(path, steps)
        with ExitStack() as opened:
            connection = opened.enter_context(closing(_connect(path, "ro", patience)))
            version = version_of(connection)
            if version != steps[-1].version:
                check_version(version, steps=steps, path=str(path))
                raise WrongSchema(
                    f"the ledger {path} has schema {version}; this version of Ricordo needs "
                    f"{steps[-1].version}. `ricordo doctor --db` brings it up to date"
                )
            opened.pop_all()
            return connection


def _connect_all(
    path: Path,
    file: RawFile,
    *,
    steps: Sequence[Migration],
    patience: float,
    readers: int,
    to_fill: bool,
) -> Opened:
    with ExitStack() as opened:

        def connect(mode: str) -> sqlite3.Connection:
            return opened.enter_context(closing(_connect(path, mode, patience)))

        writer = connect("rw")
        migrate(writer, steps=steps, path=str(path))
        _use_wal(writer, patience)
        secret = writer.execute("select value from meta where name = 'secret'").fetchone()
        if secret is None:
            raise Corrupt(f"the ledger {path} has lost its secret; restore it from a backup")
        if (
            not to_fill
            and writer.execute("select 1 from meta where name = ?", (MOVING,)).fetchone()
        ):
            raise Unavailable(under_way(str(path)))
        mover = connect("rw")
        for connection in (writer, mover):
            # They wait by themselves, on the writer's thread; see `begin`.
            connection.execute("pragma busy_timeout = 0")
        others = tuple(connect("ro") for _ in range(readers))
        opened.pop_all()
        return Opened(writer, mover, others, file, secret[0])


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
    if not all(os.access(each, os.W_OK) for each in (path, path.parent) if each.exists()):
        raise Unavailable(
            f"the ledger {path} may not be written; check the permissions of the file and of its "
            "directory"
        )


def _check_quietly(path: Path, steps: Sequence[Migration]) -> None:
    """Check the content; while another process moves its log, a file can look damaged."""
    for _ in range(_LOOKS - 1):
        try:
            return _check_content(path, steps)
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                raise
        time.sleep(0.05)
    return _check_content(path, steps)


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
        if pending:
            # A process killed while moving its log leaves a file shorter than its header says;
            # the log still has the rest. Without a log, SQLite reports that as the damage it is.
            peek.execute("pragma writable_schema = on")
        (mark,) = peek.execute("pragma application_id").fetchone()
        if mark != APPLICATION_ID:
            raise ForeignFile(f"{path} is not a Ricordo ledger; nothing was changed")
        if not pending:
            check_version(version_of(peek), steps=steps, path=str(path))
    finally:
        peek.close()


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
            "wal_autocheckpoint = 0",  # `Sweeper` does it, once the callers have their answers
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
