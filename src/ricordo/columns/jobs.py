"""Jobs of the queue as rows, and back."""

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ricordo.columns.codec import loads
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import moment, moment_or_none
from ricordo.errors import Corrupt, RicordoError
from ricordo.model import Backlog, Job, Origin, Relate, Scope, Turn, UserScope
from ricordo.ports import Heard

JOB = "q.id, q.sort, q.memory_id, q.thread_id, q.run_id, q.at, q.attempts, q.payload"
"""Selects what `job_from` reads, of `queue q`."""

PARTS = 8
"""How many columns that are."""

SPOILT = "Corrupt: the queue holds it in a form that cannot be read"
"""Why a job is parked that no worker could begin with."""

NOBODY = "unreadable"
"""Stands for the agent of a turn that cannot be read."""

_NOT_SOUND = (
    RicordoError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)
"""What reading a turn raises when its row is not what was written, or was never sound."""


def job_from(row: tuple[Any, ...], *, scope: Scope, again: bool = False) -> Job:
    """A job from what `JOB` selects.

    Args:
        again: its lease ran out, which counts as one attempt more.

    Raises:
        Corrupt: it cannot be read. Shows none of it.
    """
    id_, sort, memory_id, _, _, at, attempts, payload = row
    if sort == "relate":
        work = Relate(memory_id=memory_id, at=moment(at))
    else:
        work = _turn(payload, id_=id_)
    return Job(id=id_, scope=scope, work=work, attempts=attempts + again)


def shown_from(row: tuple[Any, ...], *, scope: Scope, silent: bool = False) -> Job:
    """A job to look at; one that cannot be read is shown by its ids, without what was said.

    Args:
        silent: leave out what was said.
    """
    id_, sort, memory_id, thread_id, run_id, _, attempts, _ = row
    try:
        job = job_from(row, scope=scope)
    except Corrupt:
        work: Turn | Relate = Relate(memory_id=memory_id, at=moment(0))
        if sort != "relate":
            work = Turn(thread_id=thread_id, run_id=run_id, agent=NOBODY, at=moment(0), said=())
        return Job(id=id_, scope=scope, work=work, attempts=attempts)
    if silent and isinstance(job.work, Turn):
        return replace(job, work=replace(job.work, said=()))
    return job


def turns_from(rows: Iterable[tuple[Any, ...]], *, scope: Scope) -> list[Turn]:
    """The turns among jobs, without those that cannot be read: a worker parks them."""
    found: list[Turn] = []
    for row in rows:
        with suppress(Corrupt):
            work = job_from(row, scope=scope).work
            if isinstance(work, Turn):
                found.append(work)
    return found


def heard_by(payload: str, agents: Collection[str]) -> bool:
    """Whether a turn that is to be forgotten was one of these agents'; one that cannot be read may
    have been."""
    try:
        return _turn(payload, id_=0).agent in agents
    except Corrupt:
        return True


def _turn(payload: str, *, id_: int) -> Turn:
    try:
        return loads(Turn, payload)
    except _NOT_SOUND as error:
        raise Corrupt(f"turn {id_} of the queue cannot be read ({type(error).__name__})") from error


def origin_of(turn: Turn) -> Origin:
    """Where a turn comes from, for what is announced of it."""
    return Origin(
        at=turn.at,
        agent=turn.agent,
        thread_id=turn.thread_id,
        display_id=turn.display_id,
        run_id=turn.run_id,
    )


def company(job: Job) -> tuple[type, str | None]:
    """What the jobs of a batch have in common: what one agent heard, another must not learn."""
    return type(job.work), job.work.agent if isinstance(job.work, Turn) else None


def heard_from(kind: str, tenant: str, owner: str, thread_id: str, at: int) -> Heard:
    """When a thread was last heard, from its row; turns are of users only."""
    scope = scope_from(kind, tenant, owner)
    if not isinstance(scope, UserScope):
        raise Corrupt("the queue has a turn that is no user's")
    return Heard(scope=scope, thread_id=thread_id, at=moment(at))


def backlog_from(rows: Iterable[tuple[str, int, int | None]]) -> Backlog:
    """A backlog from the number of jobs and the oldest one's time, by state."""
    found = {state: (count, moment_or_none(oldest)) for state, count, oldest in rows}
    waiting, oldest = found.get("waiting", (0, None))
    leased, oldest_leased = found.get("leased", (0, None))
    parked, oldest_parked = found.get("parked", (0, None))
    return Backlog(
        waiting=waiting,
        leased=leased,
        parked=parked,
        oldest=oldest,
        oldest_leased=oldest_leased,
        oldest_parked=oldest_parked,
    )
