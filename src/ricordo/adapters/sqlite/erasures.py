"""What is remembered of an erased scope: only its keyed hash, so that late writes are refused."""

import sqlite3
from datetime import datetime

from ricordo.columns.scopes import subject_of
from ricordo.columns.times import micros
from ricordo.errors import Erased
from ricordo.model import Scope


def refuse_erased(
    connection: sqlite3.Connection, scope: Scope, said_at: datetime, *, secret: bytes
) -> None:
    """Raise `Erased` when something said at that time belongs to a scope erased since then."""
    if connection.execute("select 1 from erasures limit 1").fetchone() is None:
        return
    subject = subject_of(scope, secret)
    found = connection.execute(
        "select max(erased_at) from erasures where subject = ?", (subject,)
    ).fetchone()
    if found[0] is not None and micros(said_at) <= found[0]:
        raise Erased(f"subject {subject} was erased after this was said; it is not stored")


def remember_erasure(
    connection: sqlite3.Connection, subject: str, *, number: int, at: datetime
) -> None:
    """Note that a scope, by its hash and its former number, was erased."""
    connection.execute(
        "insert into erasures (subject, scope_id, erased_at) values (?, ?, ?) on conflict "
        "(subject, scope_id) do update set erased_at = max(erased_at, excluded.erased_at)",
        (subject, number, micros(at)),
    )


def former_numbers(connection: sqlite3.Connection, subject: str) -> list[int]:
    """The numbers that an erased scope ever had."""
    found = connection.execute(
        "select scope_id from erasures where subject = ? order by scope_id", (subject,)
    )
    return [number for (number,) in found]
