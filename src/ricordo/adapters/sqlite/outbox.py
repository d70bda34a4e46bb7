"""Events on their way out: positions grow in the order of commits."""

import json
import sqlite3
from datetime import datetime, timedelta

from ricordo.adapters.sqlite.session import add_scope
from ricordo.columns.announced import event_from, reader_from, retired
from ricordo.columns.codec import dumps
from ricordo.columns.times import micros
from ricordo.errors import Conflict, NotFound
from ricordo.events import Event
from ricordo.ports import QUIET, Reader


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


def acknowledge(
    connection: sqlite3.Connection, consumer: str, reached: int, *, now: datetime
) -> None:
    """Remember how far a consumer is; a late, lower acknowledgement changes nothing."""
    changed = connection.execute(
        "insert into consumers (name, position, seen) values (?, ?, ?) on conflict (name) do "
        "update set position = max(position, excluded.position), seen = excluded.seen "
        "where retired_at is null",
        (consumer, reached, micros(now)),
    )
    if not changed.rowcount:
        raise retired(consumer)


_HELD = (
    "select max(held_until) from ("
    "select held_until from offices where name = c.name and holder is not null union all "
    "select held_until from view_builds where 'view:' || view || '#' || number = c.name "
    "and holder is not null)"
)


def readers(connection: sqlite3.Connection) -> list[Reader]:
    """Every consumer, by name."""
    found = connection.execute(
        "select c.name, c.position, "
        "(select count(*) from outbox o where o.position > c.position), "
        "(select json_extract(o.payload, '$.at') from outbox o where o.position > c.position "
        "order by o.position limit 1), "
        f"c.seen, c.retired_at, c.missed, ({_HELD}) from consumers c order by c.name"
    )
    return [reader_from(*row) for row in found]


def retire(connection: sqlite3.Connection, consumer: str, *, at: datetime) -> None:
    """Wait for it no more, unless it is at work."""
    found = connection.execute(
        f"select c.retired_at is not null, ({_HELD}) > ?2 or c.seen > ?3 "
        "from consumers c where c.name = ?1",
        (consumer, micros(at), micros(at - timedelta(seconds=QUIET))),
    ).fetchone()
    if found is None:
        raise NotFound(f"nobody reads events as {consumer[:80]!a}")
    gone, busy = found
    if gone:
        return
    if busy:
        raise Conflict(f"{consumer!a} is at work; end it first, and wait a minute")
    connection.execute("update offices set holder = null where name = ?", (consumer,))
    connection.execute(
        "update view_builds set holder = null, held_until = null "
        "where 'view:' || view || '#' || number = ?",
        (consumer,),
    )
    connection.execute(
        "update consumers set retired_at = ?, missed = 0 where name = ?", (micros(at), consumer)
    )


def readmit(connection: sqlite3.Connection, consumer: str, *, now: datetime) -> int | None:
    """Wait for it again; how many events it never had."""
    found = connection.execute(
        "select missed from consumers where name = ? and retired_at is not null", (consumer,)
    ).fetchone()
    if found is None:
        return None
    connection.execute(
        "update consumers set retired_at = null, missed = 0, seen = ? where name = ?",
        (micros(now), consumer),
    )
    return found[0]


def prune(connection: sqlite3.Connection, *, before: datetime, limit: int) -> int:
    """Remove old events that nobody waits for: a retired consumer waits for erasures only."""
    found = connection.execute(
        "select position from (select position, payload from outbox where position <= "
        "(select coalesce(min(position), 9223372036854775807) from consumers "
        "where retired_at is null) and not (kind = 'UserMemoryErased' and position > "
        "(select coalesce(min(position), 9223372036854775807) from consumers "
        "where retired_at is not null)) "
        "order by position limit ?) where json_extract(payload, '$.at') < ?",
        (limit, micros(before)),
    )
    doomed = json.dumps([position for (position,) in found])
    connection.execute(
        "update consumers set missed = missed + "
        "(select count(*) from json_each(?) where value > position) where retired_at is not null",
        (doomed,),
    )
    return connection.execute(
        "delete from outbox where position in (select value from json_each(?))", (doomed,)
    ).rowcount
