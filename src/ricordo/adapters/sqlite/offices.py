"""Who holds an office, and in which term."""

import sqlite3
from datetime import datetime, timedelta

from ricordo.columns.times import micros


def hold(
    connection: sqlite3.Connection, office: str, *, holder: str, at: datetime, seconds: float
) -> int | None:
    """Take the office when it is free, ours, or was not kept up; its term."""
    found = connection.execute(
        "insert into offices (name, holder, term, held_until) values (?1, ?2, 1, ?3) "
        "on conflict (name) do update set term = term + (holder is not excluded.holder), "
        "holder = excluded.holder, held_until = excluded.held_until "
        "where holder is null or holder = excluded.holder or held_until <= ?4 returning term",
        (office, holder, micros(at + timedelta(seconds=seconds)), micros(at)),
    ).fetchall()
    return found[0][0] if found else None


def vacate(connection: sqlite3.Connection, office: str, *, holder: str) -> None:
    """Leave the office, if it is ours."""
    connection.execute(
        "update offices set holder = null where name = ? and holder = ?", (office, holder)
    )


def report(
    connection: sqlite3.Connection, office: str, *, position: int, term: int, now: datetime
) -> bool:
    """Remember how far the office's consumer is, in its newest term."""
    changed = connection.execute(
        "insert into consumers (name, position, seen) "
        "select name, ?2, ?4 from offices where name = ?1 and term = ?3 and holder is not null "
        "on conflict (name) do update set position = max(position, excluded.position), "
        "seen = excluded.seen where retired_at is null",
        (office, position, term, micros(now)),
    )
    return changed.rowcount == 1
