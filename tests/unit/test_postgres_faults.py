"""Every exception of psycopg and its pool becomes one of ours, with a way out and no content."""

import re
from collections.abc import Iterator

import psycopg
import psycopg_pool
import pytest
from psycopg import errors

from ricordo.adapters.postgres.faults import BY_CATEGORY, BY_CLASS, BY_STATE, translated
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

QUOTED = "duplicate key value: Key (text)=(what Alice said) already exists"
SECRET = "s3cret"


def classes(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from classes(each)


EVERY = sorted(
    {kind for kind in classes(psycopg.Error) if kind.__module__.startswith("psycopg")},
    key=lambda kind: (kind.__module__, kind.__name__),
)


def told(original: Exception, *, connecting: bool = False) -> RicordoError:
    with pytest.raises(RicordoError) as caught:  # noqa: SIM117
        with translated("postgresql://h/d", connecting=connecting):
            raise original
    assert caught.value.__cause__ is original
    return caught.value


def test_the_walk_finds_them_all() -> None:
    """Those that stand for a condition of the server, and those that psycopg and its pool make."""
    listed = {kind for kind in vars(errors).values() if isinstance(kind, type)}
    conditions = {k for k in listed if issubclass(k, psycopg.Error) and k.sqlstate}
    assert conditions <= set(EVERY)
    assert len(conditions) > 200
    assert {psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed} <= set(EVERY)


@pytest.mark.parametrize("connecting", [False, True])
@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.__name__)
def test_every_class_is_translated(kind: type[Exception], connecting: bool) -> None:
    """A class that a later psycopg adds fails here until it has a meaning: which ledger, what is
    wrong, and what to do about it; never what a row, or the address, holds."""
    error = told(kind(f"{QUOTED} {SECRET}"), connecting=connecting)
    message = str(error)
    assert message.startswith("the ledger postgresql://h/d: ")
    assert re.search(r"[;.] [`\w]", message), "there is no way out"
    assert kind.__name__ in message
    assert "Alice" not in message
    assert SECRET not in message


@pytest.mark.parametrize(
    ("kind", "meant", "way"),
    [
        (errors.UniqueViolation, Conflict, "read that anew"),
        (errors.SerializationFailure, Unavailable, "try again"),
        (errors.DeadlockDetected, Unavailable, "try again"),
        (errors.StatementCompletionUnknown, Unavailable, "look whether it is there"),
        (errors.TransactionResolutionUnknown, Unavailable, "look whether it is there"),
        (errors.QueryCanceled, DeadlineExceeded, "nothing was changed"),
        (errors.TransactionTimeout, DeadlineExceeded, "nothing was changed"),
        (errors.IdleInTransactionSessionTimeout, DeadlineExceeded, "nothing was changed"),
        (errors.LockNotAvailable, Unavailable, "another process was writing"),
        (errors.ObjectInUse, Unavailable, "was in use"),
        (errors.InvalidPassword, Denied, "user or the password"),
        (errors.InvalidAuthorizationSpecification, Denied, "pg_hba.conf"),
        (errors.InsufficientPrivilege, Denied, "ricordo init --postgres"),
        (errors.InvalidCatalogName, NotFound, "create it first"),
        (errors.DatabaseDropped, NotFound, "was dropped"),
        (errors.UndefinedTable, WrongSchema, "ricordo doctor"),
        (errors.UndefinedObject, WrongSchema, "ricordo doctor"),
        (errors.RaiseException, WrongSchema, "changed from outside"),
        (errors.DuplicatePreparedStatement, Unavailable, "session mode"),
        (errors.InvalidSqlStatementName, Unavailable, "session mode"),
        (errors.FeatureNotSupported, Unavailable, "open the ledger anew"),
        (errors.ReadOnlySqlTransaction, Unavailable, "Name the primary"),
        (errors.AdminShutdown, Unavailable, "connection was lost"),
        (errors.CannotConnectNow, Unavailable, "starting or shutting down"),
        (errors.TooManyConnections, Unavailable, "ask for fewer"),
        (errors.DiskFull, Unavailable, "Make room"),
        (errors.InternalError_, Unavailable, "its log says"),
        (errors.ConfigFileError, Unavailable, "its log says"),
        (errors.DataCorrupted, Corrupt, "restore them from a backup"),
        (errors.UntranslatableCharacter, Invalid, "leave it out"),
        (errors.NumericValueOutOfRange, Invalid, "too large"),
        (errors.ProgramLimitExceeded, Invalid, "too large"),
        (errors.NoData, Unavailable, "its log says why"),
        (psycopg.OperationalError, Unavailable, "connection was lost"),
        (psycopg.InterfaceError, Unavailable, "connection was lost"),
        (psycopg.ProgrammingError, Unavailable, "open the ledger anew"),
        (psycopg.DataError, Invalid, "NUL"),
        (psycopg_pool.PoolClosed, Unavailable, "closed"),
        (psycopg_pool.PoolTimeout, Unavailable, "try again"),
        (psycopg_pool.TooManyRequests, Unavailable, "try again"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_the_caller_can_do_decides(
    kind: type[Exception], meant: type[RicordoError], way: str
) -> None:
    error = told(kind(QUOTED))
    assert type(error) is meant
    assert way in str(error)


@pytest.mark.parametrize(
    ("message", "meant", "way"),
    [
        ("connection failed: could not connect: Connection refused", Unavailable, "cannot be"),
        ('could not translate host name "nowhere" to address', Unavailable, "check the address"),
        ('FATAL: password authentication failed for user "u"', Denied, "user or the password"),
        ("fe_sendauth: no password supplied", Denied, "user or the password"),
        ('FATAL: role "u" does not exist', Denied, "user or the password"),
        ('FATAL: database "d" does not exist', NotFound, "no such database"),
        ("FATAL: no pg_hba.conf entry for host", Denied, "pg_hba.conf"),
        ("FATAL: sorry, too many clients already", Unavailable, "no connection left"),
        ("FATAL: remaining connection slots are reserved for", Unavailable, "no connection left"),
        ("FATAL: the database system is starting up", Unavailable, "starting or shutting down"),
        ("connection timeout expired", Unavailable, "did not answer in time"),
        ("ERROR: unsupported startup parameter: options", Unavailable, "connect to the server"),
        ("server does not support SSL, but SSL was required", Unavailable, "does not offer TLS"),
        ('invalid sslmode value "x" for connection option', Invalid, "options"),
    ],
)
def test_why_there_is_no_connection_is_told(
    message: str, meant: type[RicordoError], way: str
) -> None:
    """libpq gives only a message then; ours does not repeat it, for it holds names."""
    error = told(psycopg.OperationalError(f"{message} {SECRET}"), connecting=True)
    assert type(error) is meant
    assert way in str(error)
    assert SECRET not in str(error)


@pytest.mark.parametrize(
    "error",
    [UnicodeEncodeError("utf-8", "\ud800", 0, 1, "Alice"), OverflowError("Alice")],
    ids=lambda e: type(e).__name__,
)
def test_values_that_python_cannot_send_are_the_caller_s_fault(error: Exception) -> None:
    caught = told(error)
    assert type(caught) is Invalid
    assert "Alice" not in str(caught)


def test_other_errors_pass() -> None:
    with pytest.raises(LookupError), translated("l"):
        raise LookupError("not ours")
    with pytest.raises(Conflict, match="as it was"), translated("l"):
        raise Conflict("as it was")


def test_each_state_is_one_that_a_server_knows() -> None:
    """A mistyped condition would never be met."""
    states = {kind.sqlstate for kind in EVERY if getattr(kind, "sqlstate", None)}
    assert set(BY_STATE) <= states
    assert set(BY_CATEGORY) <= {state[:2] for state in states}
    assert all(issubclass(kind, Exception) for kind, _, _ in BY_CLASS)
