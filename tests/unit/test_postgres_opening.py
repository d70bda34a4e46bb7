"""Opening a database: what is not a ledger of ours, or does not guard its rows, is told apart."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.address import address_of
from ricordo.adapters.postgres.founding import found
from ricordo.adapters.postgres.schema import versions
from ricordo.adapters.postgres.server import check_server
from ricordo.errors import (
    Corrupt,
    Denied,
    ForeignFile,
    Invalid,
    NotFound,
    RicordoError,
    Unavailable,
    WrongSchema,
)
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import ALICE, memory, store
from tests.support.postgres import PASSWORD, ROLE, Server

SECRET = "s3cret-of-the-url"


async def _open(url: str, **more) -> None:
    async with PostgresLedger.open(url, clock=HandClock(), **more) as ledger:
        await ledger.counts()


async def _refused(url: str, kind: type[RicordoError], match: str, **more) -> None:
    """Refused with the right error, in a bearable time, without showing the password."""
    began = time.monotonic()
    with pytest.raises(kind, match=match) as caught:
        await _open(url, **more)
    assert time.monotonic() - began < 20
    assert type(caught.value) is kind
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in f"{error!s} {error!r}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u:{SECRET}@host:port/d",
        f"postgresql://u:{SECRET}%zz@h/d",
        f"postgresql://u:{SECRET}@h/d?no=1",
    ],
)
async def test_an_address_that_cannot_be_read_is_invalid(url: str) -> None:
    """Secrets in URLs are never shown, whatever is wrong with them."""
    await _refused(url, Invalid, "percent-encoded|not a number")


def test_an_address_shows_no_secret() -> None:
    address = address_of(f"postgresql://u:{SECRET}@h:5433/d?sslpassword={SECRET}")
    assert address.name == "postgresql://h:5433/d"
    assert SECRET not in repr(address)


async def test_nobody_there_is_unavailable() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    await _refused(f"postgresql://u:{SECRET}@127.0.0.1:{port}/d", Unavailable, "cannot be reached")


async def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    """Deadlines everywhere: something accepts the connection, and is silent."""
    with closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"postgresql://u:{SECRET}@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=2"
        await _refused(url, Unavailable, "did not answer in time")


async def test_a_wrong_password_is_denied(postgres: Server, database: str) -> None:
    await _refused(postgres.url(database, password=SECRET), Denied, "user or the password")


async def test_an_unknown_role_is_denied(postgres: Server, database: str) -> None:
    url = postgres.url(database, role="nobody_known", password=SECRET)
    await _refused(url, Denied, "user or the password")


async def test_no_such_database_is_not_found(postgres: Server) -> None:
    await _refused(postgres.url("nowhere"), NotFound, "no such database")


async def test_a_database_without_a_ledger_is_not_found(postgres: Server) -> None:
    name = postgres.empty()
    await _refused(postgres.url(name), NotFound, "ricordo init --postgres")
    postgres.drop(name)


async def test_somebody_else_s_schema_is_foreign(postgres: Server) -> None:
    """Neither opening nor founding touches it."""
    name = postgres.empty()
    postgres.run("create schema ricordo", "create table ricordo.kept ()", database=name)
    postgres.run(f"grant usage on schema ricordo to {ROLE}", database=name)
    await _refused(postgres.url(name), ForeignFile, "not a Ricordo ledger")
    with pytest.raises(ForeignFile, match="nothing was changed"):
        await found(postgres.admin(name))
    postgres.run("select * from ricordo.kept", database=name)
    postgres.drop(name)


@pytest.mark.parametrize(
    ("version", "match"), [("0001", f"needs {versions()[-1]}"), ("9999", "Upgrade Ricordo")]
)
async def test_another_schema_is_wrong(
    postgres: Server, database: str, version: str, match: str
) -> None:
    postgres.run(f"update ricordo.alembic_version set version_num = '{version}'", database=database)
    await _refused(postgres.url(database), WrongSchema, match)
    if version == "9999":
        with pytest.raises(WrongSchema, match="Upgrade Ricordo"):
            await found(postgres.admin(database))
    postgres.run(
        f"update ricordo.alembic_version set version_num = '{versions()[-1]}'", database=database
    )


async def test_a_lost_secret_is_corrupt(postgres: Server, database: str) -> None:
    postgres.run("delete from ricordo.meta", database=database)
    await _refused(postgres.url(database), Corrupt, "lost its secret")
    postgres.run("insert into ricordo.meta values ('secret', 'x')", database=database)


async def test_a_role_that_no_rule_holds_for_is_denied(postgres: Server, database: str) -> None:
    """A superuser sees every row; so no program may connect as one."""
    await _refused(postgres.admin(database), Denied, "may see every scope's rows")


@pytest.mark.parametrize("role", ["owner", "operator", "mover", "finder"])
async def test_a_member_of_who_sees_more_is_denied(
    postgres: Server, database: str, role: str
) -> None:
    postgres.run(f"create role climber login password 'x' in role ricordo_{role}")
    try:
        url = postgres.url(database, role="climber", password="x")
        await _refused(url, Denied, "every scope's")
    finally:
        postgres.run("drop role climber")


@pytest.mark.parametrize(("version", "refused"), [(140012, True), (150000, False), (180004, False)])
def test_an_old_server_is_told(version: int, refused: bool) -> None:
    if refused:
        with pytest.raises(Unavailable, match="runs PostgreSQL 14; Ricordo needs 15"):
            check_server(version, name="x")
    else:
        check_server(version, name="x")


async def test_a_server_that_only_reads_says_so(postgres: Server, database: str) -> None:
    """As a standby does: every write fails with the same error of the server's."""
    options = "&options=-c%20default_transaction_read_only%3Don"
    async with PostgresLedger.open(postgres.url(database) + options, clock=HandClock()) as ledger:
        with pytest.raises(Unavailable, match="only reads"):
            await ledger.acknowledge("bus", 1)


async def test_founding_again_changes_nothing(postgres: Server, database: str) -> None:
    """`init` is idempotent: same secret, same password, same rows."""
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        await store(ledger, memory())
        subject = await ledger.subject(scope=ALICE)
    made = await found(postgres.admin(database), role=ROLE)
    assert (made.created, made.password, made.version) == (False, None, versions()[-1])
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        assert await ledger.subject(scope=ALICE) == subject
        assert (await ledger.counts())["memories"] == 1


async def test_founding_at_once_takes_turns(postgres: Server) -> None:
    """Two at the same time in one database, and in two: roles belong to the whole server."""
    one, two = postgres.empty(), postgres.empty()
    made = await asyncio.gather(
        *(found(postgres.admin(name), role="first_time") for name in (one, one, two))
    )
    assert [each.created for each in made[:2]].count(True) == 1
    (password,) = [each.password for each in made if each.password is not None]
    for name in (one, two):
        await _open(postgres.url(name, role="first_time", password=password))
        postgres.drop(name)
    assert password not in repr(made)


@pytest.mark.parametrize("role", ["", "ricordo_owner", "pg_monitor", "a\0b"])
async def test_a_role_that_will_not_do_is_refused(
    postgres: Server, database: str, role: str
) -> None:
    with pytest.raises(Invalid, match="name another"):
        await found(postgres.admin(database), role=role)


async def test_a_role_that_may_do_too_much_is_refused(postgres: Server, database: str) -> None:
    postgres.run("create role mighty login bypassrls")
    with pytest.raises(Denied, match="bypassrls"):
        await found(postgres.admin(database), role="mighty")


async def test_a_program_may_not_found(postgres: Server, database: str) -> None:
    with pytest.raises(Denied, match="lacks a right"):
        await found(postgres.url(database), role="another")


async def test_an_ascii_database_is_refused(postgres: Server) -> None:
    postgres.run("create database narrow encoding 'SQL_ASCII' locale 'C' template template0")
    with pytest.raises(Invalid, match="UTF8"):
        await found(postgres.admin("narrow"))
    postgres.drop("narrow")


def test_without_the_extra_its_name_is_told() -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "try:\n    import ricordo.adapters.postgres\n"
        "except ImportError as error:\n    print(error)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'ricordo[postgres]'" in told.stdout


async def test_a_busy_ledger_says_so(postgres: Server, database: str) -> None:
    """Every connection is taken by somebody who waits for a lock that another program holds."""
    opening = PostgresLedger.open(
        postgres.url(database), clock=HandClock(), connections=1, patience=1.0
    )
    async with opening as ledger:
        await store(ledger, memory())
        with psycopg_holding(postgres, database):
            waits = asyncio.create_task(store(ledger, memory("second")))
            began = time.monotonic()
            with pytest.raises(Unavailable, match="for too long"):
                await waits
            assert time.monotonic() - began < 10
        await store(ledger, memory("third"))


def psycopg_holding(postgres: Server, database: str):
    import psycopg

    connection = psycopg.connect(postgres.admin(database))
    connection.execute("lock table ricordo.memories in access exclusive mode")
    return connection


async def test_a_frozen_server_is_given_up(postgres: Server, database: str) -> None:
    """It holds the connection and says nothing: no deadline of its own would ever end that."""
    opening = PostgresLedger.open(postgres.url(database), clock=HandClock(), patience=1.0)
    async with opening as ledger:
        await ledger.counts()
        frozen = _backends(postgres, database)
        assert frozen
        for each in frozen:
            os.kill(each, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(Unavailable, match="said nothing"):
                await ledger.counts()
            assert time.monotonic() - began < 10
        finally:
            for each in frozen:
                os.kill(each, signal.SIGCONT)
        assert await ledger.counts()


def _backends(postgres: Server, database: str) -> list[int]:
    import psycopg

    with psycopg.connect(postgres.admin()) as connection:
        found = connection.execute(
            "select pid from pg_stat_activity where datname = %s", (database,)
        ).fetchall()
    return [pid for (pid,) in found]


async def test_a_lost_connection_is_replaced(postgres: Server, database: str) -> None:
    """What was not begun is done on another connection; nobody notices."""
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        await store(ledger, memory())
        for round_ in range(2):
            postgres.run(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                f"where datname = '{database}'"
            )
            await store(ledger, memory(f"again {round_}"))
        assert (await ledger.counts())["memories"] == 3


def test_the_password_of_the_tests_is_no_secret() -> None:
    assert PASSWORD not in repr(address_of(f"postgresql://a:{PASSWORD}@h/d"))
