"""PostgreSQL's errors in the words of `ricordo.errors`."""

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
import psycopg_pool

from ricordo.errors import (
    Conflict,
    Corrupt,
    DeadlineExceeded,
    Denied,
    Invalid,
    NotFound,
    RicordoError,
    Unavailable,
    WrongSchema,
)

_NOT_REACHED = "it cannot be reached; check the address, and that the server runs"
_AWAY = "the connection was lost; try again"
_RIGHTS = (
    "the role that connects lacks a right; `ricordo init --postgres` gives every right it needs"
)
_PARTS = "a part of its schema is missing; `ricordo init --postgres` makes it"

BY_STATE: dict[str, tuple[type[RicordoError], str]] = {
    "28P01": (Denied, "the server refused the user or the password"),
    "28000": (Denied, "the server refused the user; check its pg_hba.conf"),
    "3D000": (NotFound, "the server has no such database; create it first"),
    "42501": (Denied, _RIGHTS),
    "3F000": (WrongSchema, _PARTS),
    "42P01": (WrongSchema, _PARTS),
    "42703": (WrongSchema, _PARTS),
    "42883": (WrongSchema, _PARTS),
    "25006": (Unavailable, "the server only reads; it is a standby. Name the primary server"),
    "53300": (Unavailable, "the server has no connection left; ask for fewer, or try again"),
    "53100": (Unavailable, "the server's disk is full; nothing was stored. Make room"),
    "53200": (Unavailable, "the server's memory ran out; nothing was stored"),
    "55P03": (Unavailable, "another process was writing for too long; try again"),
    "57014": (DeadlineExceeded, "the server took too long; nothing was changed. Try again"),
    "25P03": (DeadlineExceeded, "a work took too long between two statements; nothing was changed"),
    "57P01": (Unavailable, _AWAY),
    "57P02": (Unavailable, _AWAY),
    "57P03": (Unavailable, "the server is starting or shutting down; try again"),
    "40001": (Unavailable, "other writers were in the way; try again"),
    "40P01": (Unavailable, "other writers were in the way; try again"),
    "22021": (Invalid, "a text holds a character that the server cannot store"),
    "22P05": (Invalid, "a text holds a character that the server cannot store"),
    "54000": (Invalid, "a value is too large"),
}
"""By SQLSTATE."""

BY_CATEGORY: dict[str, tuple[type[RicordoError], str]] = {
    "08": (Unavailable, _AWAY),
    "22": (Invalid, "a value is too large or of the wrong type"),
    "23": (Conflict, "the change contradicts what is stored"),
    "25": (Unavailable, "the transaction had failed already"),
    "40": (Unavailable, "other writers were in the way; try again"),
    "42": (WrongSchema, "its schema was changed from outside"),
    "53": (Unavailable, "the server ran out of something; try again"),
    "54": (Invalid, "a value is too large"),
    "57": (Unavailable, _AWAY),
    "58": (Unavailable, "the server's disk reported an error; nothing was stored"),
    "XX": (Corrupt, "the server found its own files damaged; restore them from a backup"),
}
"""By the first two characters of the SQLSTATE."""

BY_CLASS: tuple[tuple[type[Exception], type[RicordoError], str], ...] = (
    (psycopg.errors.ConnectionTimeout, Unavailable, "it did not answer in time"),
    (psycopg_pool.PoolTimeout, Unavailable, "no connection came free in time; try again"),
    (psycopg_pool.PoolClosed, Unavailable, "it is closed"),
    (psycopg_pool.TooManyRequests, Unavailable, "too many callers wait for a connection"),
    (psycopg.IntegrityError, Conflict, "the change contradicts what is stored"),
    (psycopg.DataError, Invalid, "a value is too large, of the wrong type, or holds a NUL"),
    (psycopg.ProgrammingError, Unavailable, "its connection was misused"),
    (psycopg.NotSupportedError, Unavailable, "this server lacks a needed function"),
    (psycopg.InterfaceError, Unavailable, _AWAY),
    (psycopg.OperationalError, Unavailable, _AWAY),
    (psycopg.Error, Unavailable, "the server could not carry out the call"),
    (UnicodeEncodeError, Invalid, "a text holds a lone surrogate; decode it anew"),
    (OverflowError, Invalid, "a number is too large to be stored"),
)
"""Where there is no SQLSTATE, by class; the first that fits."""

FOREIGN = (psycopg.Error, UnicodeEncodeError, OverflowError)
"""What is translated; everything that psycopg and its pool raise is below the first."""

AGAIN = ("40001", "40P01")
"""The server asks for the whole transaction again."""


@contextmanager
def translated(name: str, *, connecting: bool = False) -> Generator[None]:
    """Raise what psycopg raises as an error of ours that names the ledger, never its content."""
    try:
        yield
    except FOREIGN as error:
        raise meaning(error, name=name, connecting=connecting) from error


def meaning(error: Exception, *, name: str, connecting: bool = False) -> RicordoError:
    """The error of ours for one of psycopg's."""
    kind, reason = _meaning(error, connecting=connecting)
    return kind(f"the ledger {name}: {reason} ({_detail(error)})")


def _meaning(error: Exception, *, connecting: bool) -> tuple[type[RicordoError], str]:
    state = _state(error)
    if state in BY_STATE:
        return BY_STATE[state]
    if state[:2] in BY_CATEGORY:
        return BY_CATEGORY[state[:2]]
    if connecting and type(error) is psycopg.OperationalError:
        return _refusal(str(error))
    return next((kind, why) for cls, kind, why in BY_CLASS if isinstance(error, cls))


def _refusal(message: str) -> tuple[type[RicordoError], str]:
    """Why there is no connection: libpq gives only a message then, in the server's words."""
    if "for connection option" in message:
        return Invalid, "its address cannot be used; check the port and the options in it"
    if "password" in message:
        return Denied, "the server refused the user or the password"
    if "does not exist" in message and "database" in message:
        return BY_STATE["3D000"]
    if "does not exist" in message and "role" in message:
        return Denied, "the server refused the user or the password"
    if "pg_hba.conf" in message:
        return BY_STATE["28000"]
    if "too many" in message or "reserved for" in message:
        return BY_STATE["53300"]
    if "starting up" in message or "shutting down" in message:
        return BY_STATE["57P03"]
    if "timeout" in message:
        return Unavailable, "it did not answer in time"
    return Unavailable, _NOT_REACHED


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""


def _detail(error: Exception) -> str:
    # The server's own messages can quote a value, the name of the condition cannot.
    state = _state(error)
    return f"{type(error).__name__} {state}".strip()
