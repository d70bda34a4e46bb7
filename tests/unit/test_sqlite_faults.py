"""Every exception of `sqlite3` becomes an error of ours that names no content."""

import sqlite3
from collections.abc import Iterator

import pytest

from ricordo.adapters.sqlite.faults import BY_CODE, translated
from ricordo.errors import Conflict, Corrupt, ForeignFile, Invalid, RicordoError, Unavailable


def classes(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from classes(each)


CODES = {
    name: value
    for name, value in vars(sqlite3).items()
    if name.startswith("SQLITE_")
    and isinstance(value, int)
    and name
    in {
        "SQLITE_ERROR",
        "SQLITE_PERM",
        "SQLITE_BUSY",
        "SQLITE_LOCKED",
        "SQLITE_NOMEM",
        "SQLITE_READONLY",
        "SQLITE_INTERRUPT",
        "SQLITE_IOERR",
        "SQLITE_CORRUPT",
        "SQLITE_FULL",
        "SQLITE_CANTOPEN",
        "SQLITE_PROTOCOL",
        "SQLITE_SCHEMA",
        "SQLITE_TOOBIG",
        "SQLITE_CONSTRAINT",
        "SQLITE_MISMATCH",
        "SQLITE_FORMAT",
        "SQLITE_RANGE",
        "SQLITE_NOTADB",
    }
}


@pytest.mark.parametrize("kind", sorted(set(classes(sqlite3.Error)), key=lambda k: k.__name__))
def test_every_class_is_translated(kind: type[Exception]) -> None:
    """A class that a later Python adds fails here until it has a meaning."""
    original = kind("UNIQUE constraint failed: 'what Alice said'")
    with pytest.raises(RicordoError) as caught, translated("memory.db"):
        raise original
    assert caught.value.__cause__ is original
    assert "memory.db" in str(caught.value)
    assert "Alice" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(CODES))
def test_every_result_code_is_translated(name: str) -> None:
    assert CODES[name] in BY_CODE


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Unavailable),
        (sqlite3.SQLITE_FULL, Unavailable),
        (sqlite3.SQLITE_IOERR_WRITE, Unavailable),
        (sqlite3.SQLITE_READONLY_DIRECTORY, Unavailable),
        (sqlite3.SQLITE_CANTOPEN_ISDIR, Unavailable),
        (sqlite3.SQLITE_CORRUPT_INDEX, Corrupt),
        (sqlite3.SQLITE_NOTADB, ForeignFile),
        (sqlite3.SQLITE_CONSTRAINT_UNIQUE, Conflict),
        (sqlite3.SQLITE_TOOBIG, Invalid),
    ],
)
def test_a_code_decides_over_the_class(code: int, kind: type[Exception]) -> None:
    error = sqlite3.OperationalError("text")
    error.sqlite_errorcode = code
    error.sqlite_errorname = "SQLITE_NAME"
    with pytest.raises(RicordoError) as caught, translated("memory.db"):
        raise error
    assert type(caught.value) is kind
    assert "SQLITE_NAME" in str(caught.value)


def test_a_lone_surrogate_is_the_caller_s_fault() -> None:
    connection = sqlite3.connect(":memory:")
    for value in ("\ud800", 2**64):
        with pytest.raises(Invalid), translated("memory.db"):
            connection.execute("select ?", (value,))
    connection.close()


def test_other_errors_pass() -> None:
    with pytest.raises(LookupError), translated("memory.db"):
        raise LookupError("not ours")
    with pytest.raises(Conflict, match="as it was"), translated("memory.db"):
        raise Conflict("as it was")
