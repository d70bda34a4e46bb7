"""Turns on their way to becoming memory: durable, in order per scope, fair between tenants."""

from datetime import datetime, timedelta
from typing import Any

from ricordo.adapters.postgres.erasures import Erasing
from ricordo.adapters.postgres.outbox import Announcing
from ricordo.adapters.postgres.session import Session
from ricordo.columns.codec import dumps
from ricordo.columns.jobs import (
    JOB,
    PARTS,
    SPOILT,
    backlog_from,
    company,
    job_from,
    origin_of,
    shown_from,
    turns_from,
)
from ricordo.columns.scopes import NOWHERE, subject_of
from ricordo.columns.times import EARLIEST, micros, micros_or_none, moment
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


class QueueReading(Session):
    """Looks at the queue of one scope."""

    async def dead_letters(self, *, scope: Scope, limit: int) -> list[DeadLetter]:
        """Parked jobs, oldest first."""
        found = await self._rows(
            f"select {JOB}, q.reason, q.parked_at from queue q where q.scope_id = %s "
            "and q.state = 'parked' order by q.parked_at, q.id limit %s",
            self._number(scope),
            limit,
        )
        return [letter_from(row, scope=scope) for row in found]

    async def waiting(self, *, scope: Scope, limit: int) -> list[Turn]:
        """Turns that are not memory yet, oldest first."""
        found = await self._rows(
            f"select {JOB} from queue q where q.scope_id = %s and q.sort = 'turn' "
            "and q.state in ('waiting', 'leased') order by q.id limit %s",
            self._number(scope),
            limit,
        )
        return turns_from(found, scope=scope)

    async def backlog(self, *, scope: Scope) -> Backlog:
        """How much waits."""
        return backlog_from(
            await self._rows(
                "select state, count(*), min(queued_at) from queue where scope_id = %s "
                "and state in ('waiting', 'leased', 'parked') group by state",
                self._number(scope),
            )
        )


class QueueWriting(Announcing, Erasing):
    """Changes the queue of one scope."""

    async def accept(self, turn: Turn, *, scope: Scope, now: datetime) -> bool:
        """Queue a turn unless it was before."""
        if not isinstance(scope, UserScope):
            raise Invalid(
                "a turn belongs to a user; an organization's memory is told, not guessed at"
            )
        added = await self._change(
            "insert into queue (scope_id, sort, state, thread_id, run_id, at, queued_at, payload) "
            "select %s, 'turn', 'waiting', %s, %s, %s, %s, %s where not exists "
            "(select 1 from erasures where subject = %s and erased_at >= %s) "
            "on conflict do nothing",
            await self._owned(scope),
            turn.thread_id,
            turn.run_id,
            micros(turn.at),
            micros(now),
            dumps(turn),
            subject_of(scope, self._secret),
            micros(turn.at),
        )
        if added == 0:
            await self._refuse_erased(scope, turn.at)
        return added == 1

    async def enqueue(self, work: Relate, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`. While a worker holds a request, the memory may have changed
        since: then another is queued. A parked one gets another chance."""
        number = self._number(scope)
        known = await self._row(
            "select 1 from memories where scope_id = %s and id = %s", number, work.memory_id
        )
        if known is None:
            raise NotFound(f"no memory {work.memory_id[:80]!a} in this scope")
        await self._change(
            "insert into queue as q (scope_id, sort, state, memory_id, at, queued_at) "
            "values (%s, 'relate', 'waiting', %s, %s, %s) on conflict (scope_id, memory_id) "
            "where sort = 'relate' and state in ('waiting', 'parked') do update set "
            "state = 'waiting', attempts = 0, not_before = null, reason = null, parked_at = null "
            "where q.state = 'parked'",
            number,
            work.memory_id,
            micros(work.at),
            micros(self._clock()),
        )

    async def lease(
        self, *, scope: Scope, at: datetime, size: int, patience: float, seconds: float
    ) -> Batch | None:
        """Lease the first jobs that are of one sort and agent, if they may be handed out now."""
        if not await self._due(scope, at=at, size=size, patience=patience):
            return None
        jobs: list[Job] = []
        spoilt = True
        while spoilt and not jobs:
            spoilt = False
            for row in await self._open_jobs(scope, size):
                if (row[-1] or EARLIEST) > micros(at):
                    break
                try:
                    job = job_from(row[:PARTS], scope=scope, again=row[PARTS] == "leased")
                except Corrupt:
                    spoilt = True
                    await self._park_spoilt(row[:PARTS], scope=scope, at=at)
                    continue
                if jobs and company(job) != company(jobs[0]):
                    break
                jobs.append(job)
        if not jobs:
            return None
        name = new_id("l")
        # A lease that ran out is a failure too: its worker died, perhaps of this very batch.
        await self._change(
            "update queue set attempts = attempts + (state = 'leased')::int, state = 'leased', "
            "lease = %s, lease_until = %s where id = any(%s)",
            name,
            micros(at + timedelta(seconds=seconds)),
            [job.id for job in jobs],
        )
        await self._change(
            "update scopes set served = nextval('served_turns') where id = %s", self._number(scope)
        )
        return Batch(scope=scope, jobs=tuple(jobs), lease=name)

    async def finish(self, batch: Batch) -> None:
        """See `ricordo.ports.Writing`. Turns keep their ids, so that they are not accepted again.

        A lease that ran out counts as lost even if nobody took the jobs since.
        """
        ids = await self._held(batch, now=self._clock())
        await self._change("delete from queue where sort = 'relate' and id = any(%s)", ids)
        await self._change(
            "update queue set state = 'done', payload = null, lease = null, lease_until = null, "
            "not_before = null, reason = null where id = any(%s)",
            ids,
        )

    async def renew(self, batch: Batch, *, at: datetime, seconds: float) -> None:
        """Begin a lease's time anew."""
        await self._change(
            "update queue set lease_until = %s where id = any(%s)",
            micros(at + timedelta(seconds=seconds)),
            await self._held(batch, now=at),
        )

    async def give_back(self, batch: Batch, *, at: datetime, failed: bool) -> None:
        """Give a batch back for a later time."""
        ids = await self._held(batch, now=None)
        await self._drop_twins(ids)
        await self._change(
            "update queue set state = 'waiting', attempts = attempts + %s, lease = null, "
            "lease_until = null, not_before = %s where id = any(%s)",
            int(failed),
            micros(at),
            ids,
        )

    async def park(self, batch: Batch, *, reason: str, at: datetime) -> None:
        """Move a batch to the dead letters and announce it."""
        ids = await self._held(batch, now=None)
        await self._put_away(ids, reason=reason, at=at)
        for job in batch.jobs:
            if isinstance(job.work, Turn):
                await self._change(
                    "update queue set payload = %s where id = %s", dumps(job.work), job.id
                )
            await self._announce_parked(job, reason=reason, at=at)

    async def replay(self, job_id: int, *, scope: Scope) -> None:
        """Queue a parked job again, and announce it where it is a turn."""
        changed = await self._change(
            "update queue set state = 'waiting', attempts = 0, reason = null, parked_at = null "
            "where id = %s and state = 'parked' and scope_id = %s",
            job_id,
            self._number(scope),
        )
        if changed == 0:
            raise NotFound(f"no dead letter {job_id} here")
        if not isinstance(scope, UserScope):
            return
        for thread_id, run_id in await self._rows(
            "select thread_id, run_id from queue where id = %s and sort = 'turn'", job_id
        ):
            replayed = TurnReplayed(
                id=new_id("e"), at=self._clock(), scope=scope, thread_id=thread_id, run_id=run_id
            )
            await self._announce(replayed)

    async def _park_spoilt(self, row: tuple[Any, ...], *, scope: Scope, at: datetime) -> None:
        """Park what cannot be read, as it is: nobody can work on it, and it must not stand in the
        way of what can be."""
        job = shown_from(row, scope=scope)
        await self._put_away([job.id], reason=SPOILT, at=at)
        await self._announce_parked(job, reason=SPOILT, at=at)

    async def _put_away(self, ids: list[int], *, reason: str, at: datetime) -> None:
        await self._drop_twins(ids)
        await self._change(
            "update queue set state = 'parked', attempts = attempts + 1, lease = null, "
            "lease_until = null, not_before = null, reason = %s, parked_at = %s "
            "where id = any(%s)",
            reason,
            micros(at),
            ids,
        )

    async def _announce_parked(self, job: Job, *, reason: str, at: datetime) -> None:
        if isinstance(job.work, Turn) and isinstance(job.scope, UserScope):
            await self._announce(
                TurnParked(
                    id=new_id("e"),
                    at=at,
                    scope=job.scope,
                    thread_id=job.work.thread_id,
                    run_id=job.work.run_id,
                    reason=reason,
                    origins=(origin_of(job.work),),
                )
            )

    async def _due(self, scope: Scope, *, at: datetime, size: int, patience: float) -> bool:
        """Whether a batch is ready, and no worker has one. Looked up before this transaction began,
        it may be another worker's by now."""
        head, jobs, oldest, held, not_before = await self._row(
            "select min(id), count(*), min(queued_at), max(lease_until), "
            "(array_agg(not_before order by id))[1] "
            "from queue where scope_id = %s and state in ('waiting', 'leased')",
            self._number(scope),
        )
        now = micros(at)
        return (
            head is not None
            and max(held or EARLIEST, not_before or EARLIEST) <= now
            and (jobs >= size or oldest <= micros(at - timedelta(seconds=patience)))
        )

    async def _open_jobs(self, scope: Scope, size: int) -> list[Any]:
        return await self._rows(
            f"select {JOB}, q.state, q.not_before from queue q where q.scope_id = %s "
            "and q.state in ('waiting', 'leased') order by q.id limit %s",
            self._number(scope),
            size,
        )

    async def _held(self, batch: Batch, *, now: datetime | None) -> list[int]:
        """The ids of a batch that is still its worker's. Raises `Conflict` when it is not.

        Args:
            now: when given, a lease that ran out counts as lost.
        """
        number = self._number(batch.scope)
        ids = [job.id for job in batch.jobs]
        (held,) = await self._row(
            "select count(*) from queue where id = any(%s) and scope_id = %s "
            "and state = 'leased' and lease = %s and lease_until > coalesce(%s, lease_until - 1)",
            ids,
            number,
            batch.lease,
            micros_or_none(now),
        )
        if number == NOWHERE or held != len(batch.jobs):
            raise Conflict(
                f"the lease {batch.lease} was lost; another worker has the batch, or will"
            )
        return ids

    async def _drop_twins(self, ids: list[int]) -> None:
        """A request that comes back finds the same one queued meanwhile: one is enough."""
        await self._change(
            "delete from queue where sort = 'relate' and state in ('waiting', 'parked') "
            "and (scope_id, memory_id) in (select scope_id, memory_id from queue "
            "where id = any(%s) and sort = 'relate')",
            ids,
        )


def letter_from(row: tuple[Any, ...], *, scope: Scope, silent: bool = False) -> DeadLetter:
    """A parked job from `JOB`, its reason and its time."""
    job = shown_from(row[:PARTS], scope=scope, silent=silent)
    return DeadLetter(job=job, reason=row[PARTS], parked_at=moment(row[PARTS + 1]))
