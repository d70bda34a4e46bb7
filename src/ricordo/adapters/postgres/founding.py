"""Making a database a ledger: roles, rights and schema, by somebody who may.

Everything happens in one transaction, under a lock: two at once take turns, and one that fails
leaves nothing behind.
"""

import asyncio
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from ricordo.adapters.postgres.address import SCHEMA, Address, address_of
from ricordo.adapters.postgres.faults import meaning, translated
from ricordo.adapters.postgres.lanes import CONNECT_SECONDS
from ricordo.adapters.postgres.meanings import FOUND, Meanings, meanings_from
from ricordo.adapters.postgres.schema import apply, check_version, upgrade, versions
from ricordo.adapters.postgres.server import check_server
from ricordo.errors import Denied, ForeignFile, Invalid, Unavailable

OWNER, OPERATOR, USER = "ricordo_owner", "ricordo_operator", "ricordo_user"
"""Owns everything; looks over all scopes inside functions; what programs are members of."""

MOVER = "ricordo_mover"
"""Sees every row; what an administrator takes on to move a ledger."""

FINDER = "ricordo_finder"
"""Looks for words inside the one function that it is for."""

_ROLES = (OWNER, OPERATOR, USER, MOVER, FINDER)

_LOCK = 0x52434431
_PATIENCE = 60.0
_TRIES = 5
_RACES = ("42710", "23505", "XX000")
"""Roles belong to all databases of a server: whoever founds another one may be in the way."""


_NOT_OURS = (psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSchemaName)
"""Why an administrator of this database may be unable to set up pgvector in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Founded:
    """What was made.

    Attributes:
        name: the ledger, without secrets.
        role: what programs connect as.
        password: of that role where one was made up; it is kept nowhere else. None where it was
            given, or the role was there before.
        created: whether there was no ledger before.
        version: of the schema.
        lacking: what has to be done, and by whom, before the database can search by itself; None
            where it can.
    """

    name: str
    role: str
    password: str | None
    created: bool
    version: str
    lacking: str | None = None

    def __repr__(self) -> str:
        return f"Founded({self.name}, role={self.role}, created={self.created})"


async def found(url: str, *, role: str = "ricordo_app", password: str | None = None) -> Founded:
    """Make a database a ledger, or bring one to the newest schema; doing it again changes nothing.

    Args:
        url: of the database, as somebody who may make roles and schemas in it.
        role: what programs will connect as; made if it is not there.
        password: of that role; without one, it keeps its own, or one is made up.

    Raises:
        Invalid: the URL cannot be read, or the role cannot be used.
        ForeignFile, WrongSchema: the database holds something else, or a newer ledger.
        Denied, NotFound, Unavailable: the server refused, lacks the database, or is not there.
    """
    address = address_of(url)
    if not role or "\0" in role or role in _ROLES or role.startswith("pg_"):
        raise Invalid(f"{role[:40]!a} cannot be the role that programs connect as; name another")
    for left in reversed(range(_TRIES)):
        try:
            return await asyncio.to_thread(_found, address, role, password)
        except (psycopg.Error, DBAPIError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            if not isinstance(cause, psycopg.Error):
                raise
            if left and cause.sqlstate in _RACES:
                continue
            raise meaning(cause, name=address.name) from error
    raise Unavailable(f"the ledger {address.name}: others were founding ledgers; try again")


def _found(address: Address, role: str, password: str | None) -> Founded:
    def connect() -> psycopg.Connection[Any]:
        with translated(address.name, connecting=True):
            return psycopg.connect(
                **address.connecting(seconds=CONNECT_SECONDS, patience=_PATIENCE)
            )

    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    with engine.begin() as connection:
        return _Founding(connection, address).found(role, password)


class _Founding:
    """The steps, on one connection and inside one transaction."""

    def __init__(self, connection: Connection, address: Address) -> None:
        self._connection = connection
        self._address = address

    def found(self, role: str, password: str | None) -> Founded:
        self._run("select pg_advisory_xact_lock(%s)", _LOCK)
        self._check_server()
        created = self._check_content()
        for each in _ROLES:
            self._group(each)
        self._statement("create schema if not exists {} authorization {}", SCHEMA, OWNER)
        users = (OPERATOR, USER, MOVER, FINDER)
        self._statement("grant usage on schema {} to {}, {}, {}, {}", SCHEMA, *users)
        upgrade(self._connection)
        apply(self._connection, "guards")
        self._statement("grant select on {}.alembic_version to {}, {}", SCHEMA, USER, MOVER)
        self._run(
            f"insert into {SCHEMA}.meta (name, value) values ('secret', %s) on conflict do nothing",
            secrets.token_bytes(32),
        )
        made_up = self._login(role, password)
        meanings = self._make_searchable()
        return Founded(
            name=self._address.name,
            role=role,
            password=made_up,
            created=created,
            version=versions()[-1],
            lacking=meanings.missing,
        )

    def _make_searchable(self) -> Meanings:
        """Use pgvector where the server has it. It is no error where it has not, or where this
        administrator may not create it: only whoever asks for such searches needs it."""
        meanings = meanings_from(self._one(FOUND))
        if meanings.version is None and meanings.available is not None:
            with suppress(*_NOT_OURS), self._driver.transaction():
                self._statement("create extension if not exists vector schema public")
            meanings = meanings_from(self._one(FOUND))
        if meanings.usable and not meanings.used:
            with suppress(*_NOT_OURS), self._driver.transaction():
                self._statement("grant usage on schema {} to {}, {}", meanings.place, OWNER, USER)
                self._statement("set local role {}", OWNER)
                self._statement(
                    "alter table {}.search_rows add column embedding {}.vector not null",
                    SCHEMA,
                    meanings.place,
                )
                self._statement("reset role")
            meanings = meanings_from(self._one(FOUND))
        return meanings

    def _check_server(self) -> None:
        (version,) = self._one("select current_setting('server_version_num')::int")
        check_server(version, name=self._address.name)
        encoding, standby = self._one(
            "select current_setting('server_encoding'), pg_is_in_recovery()"
        )
        if standby:
            raise Unavailable(
                f"the server {self._address.name} only reads; it is a standby. Name the primary"
            )
        if encoding != "UTF8":
            raise Invalid(
                f"the database {self._address.name} has the encoding {encoding}; a ledger needs "
                "UTF8. Create another database: create database ... encoding 'UTF8'"
            )

    def _check_content(self) -> bool:
        """Whether the schema is to be made; one that is there must be ours."""
        schema, table = self._one(
            "select to_regnamespace(%s)::text, to_regclass(%s)::text",
            SCHEMA,
            f"{SCHEMA}.alembic_version",
        )
        if schema is None:
            return True
        if table is None:
            raise ForeignFile(
                f"the database {self._address.name} has a schema named {SCHEMA} that is not a "
                "Ricordo ledger; nothing was changed. Use another database"
            )
        found = self._one(f"select version_num from {SCHEMA}.alembic_version")
        if found and found[0] not in versions():
            check_version(found[0], name=self._address.name)
        return False

    def _group(self, name: str) -> None:
        """A role that nobody logs in as."""
        if not self._one("select 1 from pg_roles where rolname = %s", name):
            self._statement("create role {} nologin", name)
        usable, founder, me = self._one(
            "select rolsuper or pg_has_role(%s, 'member'), rolcreaterole, rolname from pg_roles "
            "where rolname = current_user",
            name,
        )
        if not usable:
            self._take_on(name, me=me, founder=founder)

    def _take_on(self, name: str, *, me: str, founder: bool) -> None:
        """Become a member of a role, which another administrator may have made."""
        try:
            self._statement("grant {} to current_user", name)
        except psycopg.errors.InsufficientPrivilege as error:
            if not founder:  # a program is to be told nothing that would make it more than one
                raise
            raise Denied(
                "the roles of a ledger are on this server already; whoever made them has to let "
                f"{me} use them: grant {', '.join(_ROLES)} to {me} with admin option"
            ) from error

    def _login(self, role: str, password: str | None) -> str | None:
        """The role that programs connect as: it owns nothing, and no rule is waived for it."""
        known = self._one(
            "select rolsuper or rolbypassrls or rolcreaterole or rolreplication from pg_roles "
            "where rolname = %s",
            role,
        )
        if known and known[0]:
            raise Denied(
                f"the role {role} may do too much for a program (superuser, bypassrls, createrole "
                "or replication), so that rows would not be guarded; name another one"
            )
        made_up = None
        if not known:
            password = password or (made_up := secrets.token_urlsafe(24))
            self._statement(
                "create role {} login nosuperuser nocreatedb nocreaterole noreplication "
                "nobypassrls",
                role,
            )
        if password is not None:
            # Only its hash travels, for a server may write statements into its log.
            hashed = self._driver.pgconn.encrypt_password(
                password.encode(), role.encode(), b"scram-sha-256"
            )
            self._execute(
                sql.SQL("alter role {} password {}").format(
                    sql.Identifier(role), sql.Literal(hashed.decode())
                )
            )
        self._statement("grant {} to {}", USER, role)
        (database,) = self._one("select current_database()")
        self._statement("grant connect on database {} to {}", database, role)
        return made_up

    @property
    def _driver(self) -> psycopg.Connection[Any]:
        driver: Any = self._connection.connection.driver_connection
        return driver

    def _one(self, statement: str, *values: Any) -> tuple[Any, ...]:
        """The first row; an empty one without any."""
        return tuple(self._run(statement, *values).fetchone() or ())

    def _run(self, statement: str, *values: Any) -> psycopg.Cursor[Any]:
        return self._execute(statement, values)

    def _statement(self, statement: str, *names: str) -> None:
        named = sql.SQL(statement).format(*map(sql.Identifier, names))  # pyright: ignore
        self._execute(named)

    def _execute(
        self, statement: str | sql.Composed, values: Sequence[Any] = ()
    ) -> psycopg.Cursor[Any]:
        return self._driver.execute(statement, values or None)  # pyright: ignore
