"""SQLite's errors in the words of `ricordo.errors`."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager

from ricordo.errors import Conflict, Corrupt, ForeignFile, Invalid, RicordoError, Unavailable

BY_CODE: dict[int, tuple[type[RicordoError], str]] = {
    sqlite3.SQLITE_BUSY: (Unavailable, "another process is writing to it; try again"),
    sqlite3.SQLITE_LOCKED: (Unavailable, "another transaction holds a lock on it; try again"),
    sqlite3.SQLITE_FULL: (Unavailable, "the disk is full; nothing was stored. Make room"),
    sqlite3.SQLITE_IOERR: (Unavailable, "the disk reported an error; nothing was stored"),
    sqlite3.SQLITE_READONLY: (Unavailable, "it may not be written; check the file's permissions"),
    sqlite3.SQLITE_CANTOPEN: (Unavailable, "it cannot be opened; check the path's permissions"),
    sqlite3.SQLITE_PERM: (Unavailable, "access was refused; check the file's permissions"),
    sqlite3.SQLITE_NOMEM: (Unavailable, "memory ran out; nothing was stored"),
    sqlite3.SQLITE_INTERRUPT: (Unavailable, "the call was interrupted"),
    sqlite3.SQLITE_PROTOCOL: (Unavailable, "its lock could not be had; try again"),
    sqlite3.SQLITE_CORRUPT: (Corrupt, "it is damaged; restore it from a backup"),
    sqlite3.SQLITE_FORMAT: (Corrupt, "it is damaged; restore it from a backup"),
    sqlite3.SQLITE_NOTADB: (ForeignFile, "it is not an SQLite file"),
    sqlite3.SQLITE_ERROR: (Corrupt, "a part of its schema is missing"),
    sqlite3.SQLITE_SCHEMA: (Corrupt, "its schema was changed from outside"),
    sqlite3.SQLITE_CONSTRAINT: (Conflict, "the change contradicts what is stored"),
    sqlite3.SQLITE_TOOBIG: (Invalid, "a value is too large"),
    sqlite3.SQLITE_MISMATCH: (Invalid, "a value has the wrong type"),
    sqlite3.SQLITE_RANGE: (Invalid, "a value has the wrong type"),
}
"""By SQLite's primary result code."""

BY_CLASS: tuple[tuple[type[Exception], type[RicordoError], str], ...] = (
    (sqlite3.IntegrityError, Conflict, "the change contradicts what is stored"),
    (sqlite3.DataError, Invalid, "a value is too large or of the wrong type"),
    (sqlite3.InterfaceError, Invalid, "a value has a type that cannot be stored"),
    (sqlite3.ProgrammingError, Unavailable, "it is closed, or its connection was misused"),
    (sqlite3.NotSupportedError, Unavailable, "this SQLite library lacks a needed function"),
    (sqlite3.InternalError, Corrupt, "SQLite lost track of its own state"),
    (sqlite3.OperationalError, Unavailable, "SQLite could not carry out the call"),
    (sqlite3.DatabaseError, Corrupt, "it is damaged; restore it from a backup"),
    (sqlite3.Error, Unavailable, "SQLite could not carry out the call"),
    (UnicodeEncodeError, Invalid, "a text holds a lone surrogate; decode it anew"),
    (OverflowError, Invalid, "a number is too large to be stored"),
)
"""Where there is no result code, by class; the first that fits."""


@contextmanager
def translated(path: str) -> Generator[None]:
    """Raise what SQLite raises as an error of ours that names the ledger, never its content."""
    try:
        yield
    except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
        kind, reason = _meaning(error)
        raise kind(f"the ledger {path}: {reason} ({_detail(error)})") from error


def _meaning(error: Exception) -> tuple[type[RicordoError], str]:
    code = getattr(error, "sqlite_errorcode", None)
    if code is not None and code & 0xFF in BY_CODE:
        return BY_CODE[code & 0xFF]
    return next((kind, why) for cls, kind, why in BY_CLASS if isinstance(error, cls))


def _detail(error: Exception) -> str:
    # SQLite's own messages can quote a value, its code's name cannot.
    return getattr(error, "sqlite_errorname", None) or type(error).__name__
