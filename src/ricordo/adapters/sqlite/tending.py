"""Whose memory is consolidated next: one pass per person at a time, and persons take turns."""

import sqlite3
from datetime import datetime, timedelta

from ricordo.adapters.sqlite.session import find_scope
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import micros
from ricordo.errors import Conflict
from ricordo.model import Lease, UserScope, new_id

_DUE = (
    "select s.id from scopes s left join tending t on t.scope_id = s.id "
    "where s.kind = 'user' {only}and (t.lease_until is null or t.lease_until <= :at) "
    "and coalesce(t.began_at, (select min(m.recorded_at) from memories m where m.scope_id = s.id)) "
    "<= :before order by coalesce(t.began_at, 0), s.id limit 1"
)
_ANYONE = _DUE.format(only="")
_ONE = _DUE.format(only="and s.id = :number ")


def due(
    connection: sqlite3.Connection, *, at: datetime, every: float, number: int | None
) -> int | None:
    """The user scope whose turn it is.

    Args:
        number: look at this scope only.
    """
    found = connection.execute(
        _ANYONE if number is None else _ONE,
        {
            "number": number,
            "at": micros(at),
            "before": micros(at - timedelta(seconds=every)),
        },
    ).fetchone()
    return found[0] if found else None


def take(connection: sqlite3.Connection, number: int, *, at: datetime, seconds: float) -> Lease:
    """Lease a scope, and note that its pass begins."""
    sort, tenant, owner = connection.execute(
        "select kind, tenant, owner from scopes where id = ?", (number,)
    ).fetchone()
    scope = scope_from(sort, tenant, owner)
    if not isinstance(scope, UserScope):
        raise TypeError("only a person's memory is consolidated")
    lease = Lease(scope=scope, token=new_id("l"), seconds=seconds)
    connection.execute(
        "insert into tending (scope_id, began_at, lease, lease_until) values (?, ?, ?, ?) "
        "on conflict (scope_id) do update set began_at = excluded.began_at, "
        "lease = excluded.lease, lease_until = excluded.lease_until",
        (number, micros(at), lease.token, micros(at + timedelta(seconds=seconds))),
    )
    return lease


def hold(connection: sqlite3.Connection, lease: Lease, *, number: int, now: datetime) -> None:
    """Begin a lease's time anew. Raises `Conflict` when it is not ours any more."""
    held = connection.execute(
        "update tending set lease_until = ? where scope_id = ? and lease = ? and lease_until > ?",
        (micros(now + timedelta(seconds=lease.seconds)), number, lease.token, micros(now)),
    )
    if held.rowcount == 0:
        raise Conflict(f"the lease {lease.token} was lost; another worker consolidates, or will")


def release(connection: sqlite3.Connection, lease: Lease) -> None:
    """Give a lease back."""
    connection.execute(
        "update tending set lease = null, lease_until = null where scope_id = ? and lease = ?",
        (find_scope(connection, lease.scope), lease.token),
    )
