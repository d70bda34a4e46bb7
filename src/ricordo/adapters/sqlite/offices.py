"""Who holds an office, and in which term."""

import sqlite3
from datetime import datetime, timedelta

from ricordo.columns.offices import Seen
from ricordo.columns.times import micros


def hold(
    connection: sqlite3.Connection,
    office: str,
    *,
    holder: str,
    at: datetime,
    seconds: float,
    seen: Seen,
) -> int | None:
    """Take the office when it is free, ours, or was not kept up; its term."""
    now, until = micros(at), micros(at + timedelta(seconds=seconds))
    found = connection.execute(
        "insert into offices (name, holder, term, held_until) values (?1, ?2, 1, ?3) "
        "on conflict (name) do update set term = term + (holder is not excluded.holder), "
        "holder = excluded.holder, held_until = excluded.held_until "
        "where holder is null or holder = excluded.holder or held_until <= ?4 or held_until = ?5 "
        "returning term",
        (office, holder, until, now, seen.stale(office, now=now, lasts=until - now)),
    ).fetchall()
    if found:
        seen.note(office, until=None, now=now)
        return found[0][0]
    (theirs,) = connection.execute(
        "select held_until from offices where name = ?", (office,)
    ).fetchone()
    seen.note(office, until=theirs, now=now)
    return None


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
