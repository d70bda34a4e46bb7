"""The schema's history: numbered SQL files, each applied in one transaction."""

import re
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ricordo.columns.threads import thread_number
from ricordo.errors import WrongSchema

APPLICATION_ID = 0x52434431
"""Marks a file as a Ricordo ledger ("RCD1" in ASCII), in SQLite's own header field."""

_NAME = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One step from a schema version to the next."""

    version: int
    sql: str


def migrations() -> tuple[Migration, ...]:
    """All steps, oldest first."""
    found: list[Migration] = []
    for file in files("ricordo.adapters.sqlite").joinpath("migrations").iterdir():
        named = _NAME.fullmatch(file.name)
        if named:
            found.append(Migration(int(named[1]), file.read_text(encoding="utf-8")))
    return tuple(sorted(found, key=lambda step: step.version))


def version_of(connection: sqlite3.Connection) -> int:
    """The schema version of an open file; 0 for an empty one."""
    return connection.execute("pragma user_version").fetchone()[0]


def check_version(version: int, *, steps: Sequence[Migration], path: str) -> None:
    """Raise `WrongSchema` for a ledger that is newer than this program."""
    newest = steps[-1].version
    if version > newest:
        raise WrongSchema(
            f"the ledger {path} has schema {version}; this version of Ricordo knows schemas up to "
            f"{newest}. Upgrade Ricordo; nothing was changed"
        )


def migrate(connection: sqlite3.Connection, *, steps: Sequence[Migration], path: str) -> None:
    """Bring the file to the newest schema. Two processes may do so at once: one waits."""
    while True:
        version = version_of(connection)
        check_version(version, steps=steps, path=path)
        missing = [step for step in steps if step.version > version]
        if not missing:
            return
        _apply(connection, missing[0], after=version)


def _apply(connection: sqlite3.Connection, step: Migration, *, after: int) -> None:
    connection.execute("begin exclusive")
    try:
        if version_of(connection) == after:
            connection.create_function("thread_number", 1, thread_number, deterministic=True)
            for statement in statements(step.sql):
                connection.execute(statement)
            if after == 0:
                _found(connection)
            connection.execute(f"pragma user_version = {step.version:d}")
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.execute("rollback")


def _found(connection: sqlite3.Connection) -> None:
    """Make an empty file a ledger: its mark, and the secret behind its keyed hashes."""
    connection.execute(f"pragma application_id = {APPLICATION_ID:d}")
    connection.execute(
        "insert into meta (name, value) values ('secret', ?)", (secrets.token_bytes(32),)
    )


def statements(sql: str) -> Iterator[str]:
    """The single statements of a script (`executescript` would commit between them)."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
