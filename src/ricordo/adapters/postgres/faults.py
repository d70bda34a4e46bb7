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
UNSURE = "the change was being stored; look whether it is there before trying again"
"""What is said of a commit of which nobody knows how it ended."""

_UNKNOWN = f"the connection was lost while {UNSURE}"
_RIGHTS = (
    "the role that connects lacks a right; `ricordo init --postgres` gives the rights to tables "
    "again, and `ricordo doctor` names what else was taken"
)
_PARTS = (
    "a part of its schema is missing, or the connection looks in another schema; `ricordo doctor` "
    "names what is missing, and a backup has it"
)
_CHANGED = "its schema was changed from outside; undo that, or restore it from a backup"
_POOLER = (
    "a pooler between here and the server mixes up sessions; let it work in session mode, or "
    "connect to the server itself"
)
_NO_OPTIONS = (
    "a pooler between here and the server (PgBouncer, for example) does not take the parameter "
    "`options`, which says schema and deadlines; connect to the server itself"
)
_NO_TLS = "the server does not offer TLS, which the address demands; mend either"
_CREDENTIALS = "the server refused the user or the password; check both in the address"
_MISUSED = "its connection was misused; open the ledger anew, and report it"
_LOG = "the server could not carry out the call; its log says why"
_OTHERS = "other writers were in the way; try again"
_CHARACTER = "a text holds a character that the server cannot store; leave it out"
_TOO_LARGE = "a value is too large; make it smaller"
_BY_NATURE = "a value is too large or of the wrong type; mend it"

BY_STATE: dict[str, tuple[type[RicordoError], str]] = {
    "08007": (Unavailable, _UNKNOWN),
    "0A000": (
        Unavailable,
        "this server lacks a needed function, or the schema changed meanwhile; open the ledger "
        "anew, and upgrade the server if that is no help",
    ),
    "0L000": (Denied, _RIGHTS),
    "0LP01": (Denied, _RIGHTS),
    "0P000": (WrongSchema, "a role of its schema is missing; `ricordo init --postgres` makes it"),
    "22021": (Invalid, _CHARACTER),
    "22P05": (Invalid, _CHARACTER),
    "25006": (Unavailable, "the server only reads; it is a standby. Name the primary server"),
    "25P03": (
        DeadlineExceeded,
        "a work took too long between two statements; nothing was changed. Try again",
    ),
    "25P04": (DeadlineExceeded, "a work took too long; nothing was changed. Try again"),
    "26000": (Unavailable, _POOLER),
    "28000": (Denied, "the server refused the user; check its pg_hba.conf"),
    "28P01": (Denied, _CREDENTIALS),
    "3D000": (NotFound, "the server has no such database; create it first"),
    "3F000": (WrongSchema, _PARTS),
    "40001": (Unavailable, _OTHERS),
    "40003": (Unavailable, _UNKNOWN),
    "40P01": (Unavailable, _OTHERS),
    "42501": (Denied, _RIGHTS),
    "42703": (WrongSchema, _PARTS),
    "42704": (WrongSchema, _PARTS),
    "42883": (WrongSchema, _PARTS),
    "42P01": (WrongSchema, _PARTS),
    "42P05": (Unavailable, _POOLER),
    "53100": (Unavailable, "the server's disk is full; nothing was stored. Make room"),
    "53200": (Unavailable, "the server's memory ran out; nothing was stored. Try again"),
    "53300": (Unavailable, "the server has no connection left; ask for fewer, or try again"),
    "55P03": (Unavailable, "another process was writing for too long; try again"),
    "57014": (DeadlineExceeded, "the server took too long; nothing was changed. Try again"),
    "57P03": (Unavailable, "the server is starting or shutting down; try again"),
    "57P04": (NotFound, "the database was dropped; restore it from a backup"),
    "72000": (Unavailable, "the server gave up an old snapshot; try again"),
    "XX000": (Unavailable, "the server met an error of its own; its log says which"),
}
"""By SQLSTATE."""

BY_CATEGORY: dict[str, tuple[type[RicordoError], str]] = {
    "08": (Unavailable, _AWAY),
    "09": (WrongSchema, _CHANGED),
    "22": (Invalid, _BY_NATURE),
    "23": (Conflict, "the change contradicts what is stored; read that anew, and try again"),
    "24": (Unavailable, _MISUSED),
    "25": (Unavailable, "the transaction had failed already; try again"),
    "27": (WrongSchema, _CHANGED),
    "28": (Denied, _CREDENTIALS),
    "2B": (WrongSchema, _CHANGED),
    "2F": (WrongSchema, _CHANGED),
    "34": (Unavailable, _MISUSED),
    "38": (WrongSchema, _CHANGED),
    "39": (WrongSchema, _CHANGED),
    "3B": (Unavailable, _MISUSED),
    "40": (Unavailable, _OTHERS),
    "42": (WrongSchema, _CHANGED),
    "44": (WrongSchema, _CHANGED),
    "53": (Unavailable, "the server ran out of something; try again"),
    "54": (Invalid, _TOO_LARGE),
    "55": (Unavailable, "something on the server was in use, or not ready; try again"),
    "57": (Unavailable, _AWAY),
    "58": (Unavailable, "the server's disk reported an error; nothing was stored. See its log"),
    "F0": (Unavailable, "the server's configuration is at fault; its log says where"),
    "HV": (WrongSchema, _CHANGED),
    "P0": (WrongSchema, _CHANGED),
    "XX": (Corrupt, "the server found its own files damaged; restore them from a backup"),
}
"""By the first two characters of the SQLSTATE."""

BY_CLASS: tuple[tuple[type[Exception], type[RicordoError], str], ...] = (
    (
        psycopg.errors.ConnectionTimeout,
        Unavailable,
        "it did not answer in time; check the address, or try again",
    ),
    (psycopg_pool.PoolTimeout, Unavailable, "no connection came free in time; try again"),
    (psycopg_pool.PoolClosed, Unavailable, "it is closed; open it anew"),
    (
        psycopg_pool.TooManyRequests,
        Unavailable,
        "too many callers wait for a connection; try again",
    ),
    (psycopg.IntegrityError, *BY_CATEGORY["23"]),
    (
        psycopg.DataError,
        Invalid,
        "a value is too large, of the wrong type, or holds a NUL; mend it",
    ),
    (psycopg.ProgrammingError, Unavailable, _MISUSED),
    (psycopg.NotSupportedError, *BY_STATE["0A000"]),
    (psycopg.InterfaceError, Unavailable, _AWAY),
    (psycopg.OperationalError, Unavailable, _AWAY),
    (psycopg.Error, Unavailable, _LOG),
    (UnicodeEncodeError, Invalid, "a text holds a lone surrogate; decode it anew"),
    (OverflowError, Invalid, "a number is too large to be stored; make it smaller"),
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
    if state:
        return Unavailable, _LOG
    if connecting and type(error) is psycopg.OperationalError:
        return _refusal(str(error))
    return next((kind, why) for cls, kind, why in BY_CLASS if isinstance(error, cls))


def _refusal(message: str) -> tuple[type[RicordoError], str]:
    """Why there is no connection: libpq gives only a message then, in the server's words."""
    if "for connection option" in message:
        return Invalid, "its address cannot be used; check the port and the options in it"
    if "unsupported startup parameter" in message:
        return Unavailable, _NO_OPTIONS
    if "does not support SSL" in message:
        return Unavailable, _NO_TLS
    if "password" in message:
        return Denied, _CREDENTIALS
    if "does not exist" in message and "database" in message:
        return BY_STATE["3D000"]
    if "does not exist" in message and "role" in message:
        return Denied, _CREDENTIALS
    if "pg_hba.conf" in message:
        return BY_STATE["28000"]
    if "too many" in message or "reserved for" in message:
        return BY_STATE["53300"]
    if "starting up" in message or "shutting down" in message:
        return BY_STATE["57P03"]
    if "timeout" in message:
        return Unavailable, BY_CLASS[0][2]
    return Unavailable, _NOT_REACHED


def _state(error: Exception) -> str:
    return getattr(error, "sqlstate", None) or ""


def _detail(error: Exception) -> str:
    # The server's own messages can quote a value, the name of the condition cannot.
    state = _state(error)
    return f"{type(error).__name__} {state}".strip()
