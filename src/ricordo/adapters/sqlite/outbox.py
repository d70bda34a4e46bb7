"""Events on their way out: positions grow in the order of commits."""

import sqlite3
from datetime import datetime

from ricordo.adapters.sqlite.session import add_scope
from ricordo.columns.announced import event_from
from ricordo.columns.codec import dumps
from ricordo.columns.times import micros
from ricordo.events import Event


def announce(connection: sqlite3.Connection, event: Event, *, erased: bool = False) -> None:
    """Add an event.

    Args:
        erased: its scope is no scope of this ledger any more; so it belongs to none, and stays.
    """
    connection.execute(
        "insert into outbox (scope_id, kind, payload) values (?, ?, ?)",
        (
            None if erased else add_scope(connection, event.scope),
            type(event).__name__,
            dumps(event) if erased else dumps(event, without="scope"),
        ),
    )


def announced(connection: sqlite3.Connection, *, after: int, limit: int) -> list[tuple[int, Event]]:
    """Events above a position, in order."""
    found = connection.execute(
        "select o.position, o.kind, o.payload, s.kind, s.tenant, s.owner from outbox o "
        "left join scopes s on s.id = o.scope_id where o.position > ? order by o.position limit ?",
        (after, limit),
    )
    return [(row[0], event_from(*row)) for row in found]


def latest(connection: sqlite3.Connection) -> int:
    """Position of the newest event, even if it was erased since; 0 without any."""
    found = connection.execute("select seq from sqlite_sequence where name = 'outbox'").fetchone()
    return found[0] if found else 0


def position(connection: sqlite3.Connection, consumer: str) -> int | None:
    """How far a consumer has acknowledged."""
    found = connection.execute(
        "select position from consumers where name = ?", (consumer,)
    ).fetchone()
    return found[0] if found else None


def acknowledge(connection: sqlite3.Connection, consumer: str, reached: int) -> None:
    """Remember how far a consumer is; a late, lower acknowledgement changes nothing."""
    connection.execute(
        "insert into consumers (name, position) values (?, ?) "
        "on conflict (name) do update set position = max(position, excluded.position)",
        (consumer, reached),
    )


def prune(connection: sqlite3.Connection, *, before: datetime, limit: int) -> int:
    """Remove old events that nobody waits for."""
    removed = connection.execute(
        "delete from outbox where position in (select position from ("
        "select position, payload from outbox where position <= "
        "(select coalesce(min(position), 9223372036854775807) from consumers) "
        "order by position limit ?) where json_extract(payload, '$.at') < ?)",
        (limit, micros(before)),
    )
    return removed.rowcount
