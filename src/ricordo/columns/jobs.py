"""Jobs of the queue as rows, and back."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ricordo.columns.codec import loads
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import moment, moment_or_none
from ricordo.errors import Corrupt
from ricordo.model import Backlog, Job, Relate, Scope, Turn, UserScope
from ricordo.ports import Heard

JOB = "q.id, q.sort, q.memory_id, q.at, q.attempts, q.payload"
"""Selects what `job_from` reads, of `queue q`."""


def job_from(
    row: tuple[Any, ...], *, scope: Scope, again: bool = False, silent: bool = False
) -> Job:
    """A job from what `JOB` selects.

    Args:
        again: its lease ran out, which counts as one attempt more.
        silent: leave out what was said.
    """
    id_, sort, memory_id, at, attempts, payload = row
    work: Turn | Relate
    if sort == "relate":
        work = Relate(memory_id=memory_id, at=moment(at))
    else:
        work = loads(Turn, payload)
        if silent:
            work = replace(work, said=())
    return Job(id=id_, scope=scope, work=work, attempts=attempts + again)


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
