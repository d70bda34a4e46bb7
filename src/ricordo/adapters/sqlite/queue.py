"""Turns on their way to becoming memory: durable, in order per scope, fair between tenants."""

import sqlite3
from datetime import datetime, timedelta
from typing import Any

from ricordo.adapters.sqlite.erasures import refuse_erased
from ricordo.adapters.sqlite.outbox import announce
from ricordo.adapters.sqlite.session import add_scope, as_list, find_scope
from ricordo.columns.codec import dumps
from ricordo.columns.jobs import (
    JOB,
    PARTS,
    SPOILT,
    backlog_from,
    company,
    heard_from,
    job_from,
    origin_of,
    shown_from,
    turns_from,
)
from ricordo.columns.scopes import NOWHERE, scope_from
from ricordo.columns.times import micros, micros_or_none, moment
from ricordo.errors import Conflict, Corrupt, Invalid, NotFound
from ricordo.events import TurnParked, TurnReplayed
from ricordo.model import (
    Backlog,
    Batch,
    DeadLetter,
    Job,
    Relate,
    Scope,
    Turn,
    UserScope,
    new_id,
)
from ricordo.ports import RECENT, Heard

_OPEN = "state in ('waiting', 'leased')"

_BUSY = (
    f"select min(scope_id) from queue indexed by queue_open where {_OPEN} "
    "union all select (select min(q.scope_id) from queue q indexed by queue_open "
    f"where q.{_OPEN} and q.scope_id > busy.scope_id) from busy where busy.scope_id is not null"
)
"""From one scope with something in the queue to the next."""

_ONE = "select :number"

# Of each scope only its head and as many as make a batch are looked at: however much waits, it
# costs the same. A head is the oldest, for jobs keep their numbers.
_READY = (
    "with recursive busy (scope_id) as ({busy}), heads as materialized (select scope_id, (select "
    f"min(q.id) from queue q indexed by queue_open where q.scope_id = busy.scope_id and q.{_OPEN}) "
    "as head from busy where scope_id is not null), ready as materialized ("
    "select h.scope_id, h.head, s.tenant, s.served from heads h "
    "cross join queue q on q.id = h.head cross join scopes s on s.id = h.scope_id "
    "where (q.not_before is null or q.not_before <= :at) and not exists (select 1 from queue l "
    "where l.scope_id = h.scope_id and l.state = 'leased' and l.lease_until > :at) "
    "and (q.queued_at <= :patient or :size <= (select count(*) from (select 1 from queue w "
    f"indexed by queue_open where w.scope_id = h.scope_id and w.{_OPEN} limit :size)))) "
)

_NEXT = _READY.format(busy=_BUSY) + (
    # The case lets an idle worker's look end before it asks for the tenants' turns.
    "select case when exists (select 1 from ready) then (select scope_id from ready where tenant = "
    "(select d.tenant from (select tenant, min(head) as head from ready group by tenant) d "
    "order by (select max(t.served) from scopes t where t.tenant = d.tenant), d.head limit 1) "
    "order by served, head limit 1) end"
)
"""Of the scopes that are ready, the one whose turn it is."""

_WHETHER = _READY.format(busy=_ONE) + "select (select scope_id from ready)"
"""The scope itself, if it is ready."""


def accept(
    connection: sqlite3.Connection, turn: Turn, *, scope: Scope, secret: bytes, now: datetime
) -> bool:
    """Queue a turn unless it was before."""
    if not isinstance(scope, UserScope):
        raise Invalid("a turn belongs to a user; an organization's memory is told, not guessed at")
    refuse_erased(connection, scope, turn.at, secret=secret)
    added = connection.execute(
        "insert into queue (scope_id, sort, state, thread_id, run_id, at, queued_at, payload) "
        "values (?, 'turn', 'waiting', ?, ?, ?, ?, ?) on conflict do nothing",
        (
            add_scope(connection, scope),
            turn.thread_id,
            turn.run_id,
            micros(turn.at),
            micros(now),
            dumps(turn),
        ),
    )
    return added.rowcount == 1


def enqueue(connection: sqlite3.Connection, work: Relate, *, number: int, now: datetime) -> None:
    """Queue a request for a memory, unless one waits; a parked one gets another chance.

    While a worker holds one, the memory may have changed since: then another is queued.
    """
    known = connection.execute(
        "select 1 from memories where scope_id = ? and id = ?", (number, work.memory_id)
    ).fetchone()
    if known is None:
        raise NotFound(f"no memory {work.memory_id[:80]!a} in this scope")
    connection.execute(
        "insert into queue (scope_id, sort, state, memory_id, at, queued_at) "
        "values (?, 'relate', 'waiting', ?, ?, ?) on conflict (scope_id, memory_id) "
        "where sort = 'relate' and state in ('waiting', 'parked') do update set "
        "state = 'waiting', attempts = 0, not_before = null, reason = null, parked_at = null "
        "where state = 'parked'",
        (number, work.memory_id, micros(work.at), micros(now)),
    )


def next_scope(
    connection: sqlite3.Connection, *, at: datetime, size: int, patience: float, number: int | None
) -> int | None:
    """The scope whose turn it is: of those with a batch ready one of the tenant that was least
    recently served, and of that tenant's the one least recently served.

    Args:
        number: look at this scope only.
    """
    (found,) = connection.execute(
        _NEXT if number is None else _WHETHER,
        {
            "number": number,
            "at": micros(at),
            "size": size,
            "patient": micros(at - timedelta(seconds=patience)),
        },
    ).fetchone()
    return found


def lease_batch(
    connection: sqlite3.Connection, number: int, *, at: datetime, size: int, lease: float
) -> Batch | None:
    """Lease the first jobs of a scope that are of one sort and agent and may be handed out."""
    sort, tenant, owner = connection.execute(
        "select kind, tenant, owner from scopes where id = ?", (number,)
    ).fetchone()
    scope = scope_from(sort, tenant, owner)
    now = micros(at)
    jobs: list[Job] = []
    spoilt = True
    while spoilt and not jobs:
        spoilt = False
        for row in connection.execute(
            f"select {JOB}, q.state, q.not_before from queue q "
            f"where q.scope_id = ? and q.{_OPEN} order by q.id limit ?",
            (number, size),
        ).fetchall():
            if (row[-1] or now) > now:
                break
            try:
                job = job_from(row[:PARTS], scope=scope, again=row[PARTS] == "leased")
            except Corrupt:
                spoilt = True
                _park_spoilt(connection, row[:PARTS], scope=scope, at=at)
                continue
            if jobs and company(job) != company(jobs[0]):
                break
            jobs.append(job)
    if not jobs:
        return None
    name = new_id("l")
    ids = as_list(job.id for job in jobs)
    # A lease that ran out is a failure too: its worker died, perhaps of this very batch.
    connection.execute(
        "update queue set attempts = attempts + (state = 'leased'), state = 'leased', lease = ?, "
        "lease_until = ? where id in (select value from json_each(?))",
        (name, micros(at + timedelta(seconds=lease)), ids),
    )
    connection.execute(
        "update scopes set served = (select max(served) from scopes) + 1 where id = ?", (number,)
    )
    return Batch(scope=scope, jobs=tuple(jobs), lease=name)


def finish(connection: sqlite3.Connection, batch: Batch, *, number: int, now: datetime) -> None:
    """Mark a batch done; turns keep their ids, so that they are not accepted again."""
    ids = _held(connection, batch, number=number, now=now)
    connection.execute(
        "delete from queue where sort = 'relate' and id in (select value from json_each(?))", (ids,)
    )
    connection.execute(
        "update queue set state = 'done', payload = null, lease = null, lease_until = null, "
        "not_before = null, reason = null where id in (select value from json_each(?))",
        (ids,),
    )


def renew(connection: sqlite3.Connection, batch: Batch, *, at: datetime, lease: float) -> None:
    """Begin a lease's time anew."""
    number = find_scope(connection, batch.scope)
    connection.execute(
        "update queue set lease_until = ? where id in (select value from json_each(?))",
        (
            micros(at + timedelta(seconds=lease)),
            _held(connection, batch, number=number, now=at),
        ),
    )


def retry(connection: sqlite3.Connection, batch: Batch, *, at: datetime, failed: bool) -> None:
    """Give a batch back for a later time."""
    ids = _held(connection, batch, number=find_scope(connection, batch.scope), now=None)
    drop_twins(connection, ids)
    connection.execute(
        "update queue set state = 'waiting', attempts = attempts + ?, lease = null, "
        "lease_until = null, not_before = ? where id in (select value from json_each(?))",
        (int(failed), micros(at), ids),
    )


def park(connection: sqlite3.Connection, batch: Batch, *, reason: str, at: datetime) -> None:
    """Move a batch to the dead letters and announce it."""
    ids = _held(connection, batch, number=find_scope(connection, batch.scope), now=None)
    _put_away(connection, ids, reason=reason, at=at)
    for job in batch.jobs:
        if isinstance(job.work, Turn):
            connection.execute(
                "update queue set payload = ? where id = ?", (dumps(job.work), job.id)
            )
        _announce_parked(connection, job, reason=reason, at=at)


def _park_spoilt(
    connection: sqlite3.Connection, row: tuple[Any, ...], *, scope: Scope, at: datetime
) -> None:
    """Park what cannot be read, as it is: nobody can work on it, and it must not stand in the way
    of what can be."""
    job = shown_from(row, scope=scope)
    _put_away(connection, as_list([job.id]), reason=SPOILT, at=at)
    _announce_parked(connection, job, reason=SPOILT, at=at)


def _put_away(connection: sqlite3.Connection, ids: str, *, reason: str, at: datetime) -> None:
    drop_twins(connection, ids)
    connection.execute(
        "update queue set state = 'parked', attempts = attempts + 1, lease = null, "
        "lease_until = null, not_before = null, reason = ?, parked_at = ? "
        "where id in (select value from json_each(?))",
        (reason, micros(at), ids),
    )


def _announce_parked(
    connection: sqlite3.Connection, job: Job, *, reason: str, at: datetime
) -> None:
    if isinstance(job.work, Turn) and isinstance(job.scope, UserScope):
        announce(
            connection,
            TurnParked(
                id=new_id("e"),
                at=at,
                scope=job.scope,
                thread_id=job.work.thread_id,
                run_id=job.work.run_id,
                reason=reason,
                origins=(origin_of(job.work),),
            ),
        )


def dead_letters(
    connection: sqlite3.Connection, *, scope: Scope | None, limit: int
) -> list[DeadLetter]:
    """Parked jobs, oldest first; without a scope they are shown without messages."""
    where, values = _within(connection, scope)
    found = connection.execute(
        f"select {JOB}, q.reason, q.parked_at, s.kind, s.tenant, s.owner "
        "from queue q join scopes s on s.id = q.scope_id "
        f"where q.state = 'parked'{where} order by q.parked_at, q.id limit ?",
        (*values, limit),
    )
    return [
        DeadLetter(
            job=shown_from(row[:PARTS], scope=scope_from(*row[-3:]), silent=scope is None),
            reason=row[PARTS],
            parked_at=moment(row[PARTS + 1]),
        )
        for row in found
    ]


def waiting(connection: sqlite3.Connection, *, scope: Scope, limit: int) -> list[Turn]:
    """Turns of the scope that are not memory yet, oldest first."""
    found = connection.execute(
        f"select {JOB} from queue q where q.scope_id = ? and q.sort = 'turn' "
        "and q.state in ('waiting', 'leased') order by q.id limit ?",
        (find_scope(connection, scope), limit),
    )
    return turns_from(found, scope=scope)


def threads(
    connection: sqlite3.Connection, *, after: datetime, until: datetime, limit: int
) -> list[Heard]:
    """Threads that were heard of last between two instants."""
    found = connection.execute(
        "select s.kind, s.tenant, s.owner, t.thread_id, t.heard from ("
        "select q.scope_id, q.thread_id, max(q.queued_at) as heard from ("
        "select scope_id, thread_id, queued_at from queue where sort = 'turn' order by id desc "
        "limit ?) q group by q.scope_id, q.thread_id"
        ") t join scopes s on s.id = t.scope_id where t.heard > ? and t.heard <= ? "
        "order by t.heard, t.scope_id, t.thread_id limit ?",
        (RECENT, micros(after), micros(until), limit),
    )
    return [heard_from(*row) for row in found]


def replay(
    connection: sqlite3.Connection, job_id: int, *, scope: Scope | None, now: datetime
) -> None:
    """Queue a parked job again, and announce it where it is a turn."""
    where, values = _within(connection, scope)
    changed = connection.execute(
        "update queue as q set state = 'waiting', attempts = 0, reason = null, parked_at = null "
        f"where q.id = ? and q.state = 'parked'{where}",
        (job_id, *values),
    )
    if changed.rowcount == 0:
        raise NotFound(f"no dead letter {job_id} here")
    turns = connection.execute(
        "select s.kind, s.tenant, s.owner, q.thread_id, q.run_id from queue q "
        "join scopes s on s.id = q.scope_id where q.id = ? and q.sort = 'turn'",
        (job_id,),
    )
    for *owned, thread_id, run_id in turns:
        whose = scope_from(*owned)
        if isinstance(whose, UserScope):
            replayed = TurnReplayed(
                id=new_id("e"), at=now, scope=whose, thread_id=thread_id, run_id=run_id
            )
            announce(connection, replayed)


def backlog(connection: sqlite3.Connection, *, scope: Scope | None) -> Backlog:
    """How much waits."""
    where, values = _within(connection, scope)
    return backlog_from(
        connection.execute(
            "select q.state, count(*), min(q.queued_at) from queue q "
            f"where q.state in ('waiting', 'leased', 'parked'){where} group by q.state",
            values,
        )
    )


def _held(
    connection: sqlite3.Connection, batch: Batch, *, number: int, now: datetime | None
) -> str:
    """The ids of a batch that is still its worker's. Raises `Conflict` when the lease was lost.

    Args:
        now: when given, a lease that ran out counts as lost even if nobody took the jobs since.
    """
    ids = as_list(job.id for job in batch.jobs)
    (held,) = connection.execute(
        "select count(*) from json_each(?) f cross join queue q on q.id = f.value "
        "where q.scope_id = ? and q.state = 'leased' and q.lease = ? "
        "and (? is null or q.lease_until > ?)",
        (ids, number, batch.lease, micros_or_none(now), micros_or_none(now)),
    ).fetchone()
    if number == NOWHERE or held != len(batch.jobs):
        raise Conflict(f"the lease {batch.lease} was lost; another worker has the batch, or will")
    return ids


def drop_twins(connection: sqlite3.Connection, ids: str) -> None:
    """A request that comes back finds the same one queued meanwhile: one of them is enough."""
    connection.execute(
        "delete from queue where sort = 'relate' and state in ('waiting', 'parked') "
        "and (scope_id, memory_id) in (select q.scope_id, q.memory_id from json_each(?) f "
        "join queue q on q.id = f.value where q.sort = 'relate')",
        (ids,),
    )


def _within(connection: sqlite3.Connection, scope: Scope | None) -> tuple[str, tuple[int, ...]]:
    if scope is None:
        return "", ()
    return " and q.scope_id = ?", (find_scope(connection, scope),)
