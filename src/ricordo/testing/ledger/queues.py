"""What `Queue` promises."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from ricordo.errors import Conflict, Invalid, NotFound
from ricordo.events import TurnParked
from ricordo.model import Batch, Job, Listing, Relate, Said, Scope, Speaker, Turn, UserScope
from ricordo.ports import Ledger
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    COMMON,
    OTHER_ALICE,
    PLATFORM,
    START,
    HandClock,
    memory,
    sound,
    store,
    turn,
)
from ricordo.testing.sealed import Sealed

_BEFORE_ALL_TIME = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
"""A time that UTC has no year for."""


async def _accept(ledger: Ledger, *runs: int, scope: Scope = ALICE) -> None:
    for run in runs:
        assert await ledger.accept(turn(run), scope=scope)


async def _claim(
    ledger: Ledger,
    clock: HandClock,
    *,
    size: int = 8,
    patience: float = 0,
    lease: float = 60,
    scope: Scope | None = None,
) -> Batch | None:
    return await ledger.claim(at=clock.now, size=size, patience=patience, lease=lease, scope=scope)


async def _batch(ledger: Ledger, clock: HandClock, *, size: int = 8) -> Batch:
    batch = await _claim(ledger, clock, size=size)
    assert batch is not None
    return batch


async def _finish(ledger: Ledger, batch: Batch) -> None:
    await ledger.write(lambda tx: tx.finish(batch), scope=batch.scope)


async def _enqueue(ledger: Ledger, memory_id: str, scope: Scope = ALICE) -> None:
    await ledger.write(
        lambda tx: tx.enqueue(Relate(memory_id=memory_id, at=START), scope=scope), scope=scope
    )


def _runs(batch: Batch | None) -> list[str]:
    assert batch is not None
    return [_turn(job).run_id.removeprefix("run-") for job in batch.jobs]


def _turn(job: Job) -> Turn:
    assert isinstance(job.work, Turn)
    return job.work


class QueueTests(Sealed):
    """Turns: durable, once, in order, fairly."""

    async def test_a_turn_comes_back_as_it_was(self, ledger: Ledger, clock: HandClock) -> None:
        """Whatever was said, for it must not be lost before a model saw it."""
        odd = "NUL \0, lone \ud800, “quotes” ' \" % _, \u202e, 🦉, e\u0301"
        full = Turn(
            thread_id="t'%",
            run_id="r*",
            agent="coder",
            at=START + timedelta(microseconds=7),
            display_id="d",
            said=(
                Said(speaker=Speaker.USER, text=odd, id="1"),
                Said(speaker=Speaker.TOOL, text="", trusted=False),
                Said(speaker=Speaker.ASSISTANT, text="x" * 1_000_000),
            ),
        )
        await ledger.accept(full, scope=ALICE)
        batch = await _batch(ledger, clock)
        assert batch.scope == ALICE
        assert [(job.work, job.attempts, job.scope) for job in batch.jobs] == [(full, 0, ALICE)]

    async def test_a_batch_holds_what_one_agent_heard(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """So that nothing that one agent learns can come from what another one heard."""
        for number, agent in enumerate(("coder", "coder", "helper", "coder")):
            await ledger.accept(replace(turn(number), agent=agent), scope=ALICE)
        heard: list[list[str]] = []
        while (batch := await _claim(ledger, clock)) is not None:
            heard.append([_turn(job).agent for job in batch.jobs])
            await _finish(ledger, batch)
        assert heard == [["coder", "coder"], ["helper"], ["coder"]]

    async def test_what_is_handed_back_unfinished_is_no_failed_attempt(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        await ledger.accept(turn(1), scope=ALICE)
        await ledger.retry(await _batch(ledger, clock), at=clock.now, failed=False)
        again = await _batch(ledger, clock)
        assert again.jobs[0].attempts == 0

    async def test_queue_2_the_same_turn_again_changes_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Queue 2. Also while it is worked on, parked or done; other scopes have their own."""
        again = turn(1, text="said again, otherwise")
        assert await ledger.accept(turn(1), scope=ALICE) is True
        assert await ledger.accept(again, scope=ALICE) is False
        batch = await _batch(ledger, clock)
        assert await ledger.accept(again, scope=ALICE) is False
        await ledger.park(batch, reason="no", at=clock.now)
        assert await ledger.accept(again, scope=ALICE) is False
        await ledger.replay(batch.jobs[0].id, scope=ALICE)
        batch = await _batch(ledger, clock)
        assert _turn(batch.jobs[0]) == turn(1)
        await _finish(ledger, batch)
        assert await ledger.accept(again, scope=ALICE) is False
        assert await _claim(ledger, clock) is None
        assert await ledger.accept(turn(1), scope=BOB) is True
        assert await ledger.accept(turn(1), scope=OTHER_ALICE) is True
        assert await ledger.accept(turn(1, thread_id="thread-2"), scope=ALICE) is True

    async def test_many_deliveries_at_once_are_one(self, ledger: Ledger) -> None:
        """Queue 2, with callers side by side."""
        answers = await asyncio.gather(*(ledger.accept(turn(1), scope=ALICE) for _ in range(32)))
        assert sorted(answers) == [False] * 31 + [True]

    async def test_an_organization_is_never_guessed_at(self, ledger: Ledger) -> None:
        """Design promise 3: conversation cannot write organization memory."""
        for scope in (COMMON, PLATFORM):
            with pytest.raises(Invalid):
                await ledger.accept(turn(), scope=scope)

    async def test_queue_3_jobs_of_a_scope_come_in_order_to_one_worker(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Queue 3. Not before the first batch is finished is the second handed out."""
        await _accept(ledger, 1, 2, 3, 4, 5)
        batch = await _batch(ledger, clock, size=2)
        assert _runs(batch) == ["1", "2"]
        assert await _claim(ledger, clock, size=2) is None
        await _finish(ledger, batch)
        assert _runs(await _claim(ledger, clock, size=2)) == ["3", "4"]

    async def test_queue_3_workers_at_once_get_a_scope_once(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Queue 3, with workers side by side."""
        await _accept(ledger, 1, 2, 3)
        await _accept(ledger, 4, scope=BOB)
        claimed = await asyncio.gather(*(_claim(ledger, clock, size=2) for _ in range(8)))
        batches = [batch for batch in claimed if batch is not None]
        assert sorted(str(batch.scope) for batch in batches) == [str(ALICE), str(BOB)]
        await sound(ledger)

    async def test_queue_4_a_busy_scope_does_not_starve_another(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Queue 4. Tenants take turns, and scopes: the one served longest ago first."""
        await _accept(ledger, *range(6), scope=ALICE)
        await _accept(ledger, 1, 2, scope=BOB)
        await _accept(ledger, 1, scope=OTHER_ALICE)
        served: list[Scope] = []
        while (batch := await _claim(ledger, clock, size=1)) is not None:
            served.append(batch.scope)
            await _finish(ledger, batch)
        first = [ALICE, OTHER_ALICE, BOB, ALICE, BOB]
        assert served == [*first, *[ALICE] * 4]
        late = UserScope(tenant="acme", user="carol")
        await _accept(ledger, 7, 8, scope=ALICE)
        await _accept(ledger, 1, scope=late)
        assert (await _batch(ledger, clock, size=1)).scope == late

    async def test_queue_4_a_tenant_of_many_does_not_starve_another(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Queue 4. Tenants take turns, however many scopes of theirs have something waiting."""
        crowd = [UserScope(tenant="acme", user=f"user-{n}") for n in range(40)]
        for scope in crowd:
            await _accept(ledger, 1, 2, scope=scope)
        other = UserScope(tenant="globex", user="dora")
        await _accept(ledger, 1, scope=other)
        served: list[Scope] = []
        while (batch := await _claim(ledger, clock, size=1)) is not None:
            served.append(batch.scope)
            await _finish(ledger, batch)
        assert served[1] == other
        assert [scope for scope in served if scope != other] == [*crowd, *crowd]

    async def test_a_batch_waits_until_it_is_full_or_old(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        await _accept(ledger, 1)
        clock.forward(20)
        await _accept(ledger, 2)
        assert await _claim(ledger, clock, size=3, patience=30) is None
        await _accept(ledger, 3)
        batch = await _claim(ledger, clock, size=3, patience=30)
        assert _runs(batch) == ["1", "2", "3"]
        assert batch
        await _finish(ledger, batch)
        await _accept(ledger, 4)
        clock.forward(29.9)
        assert await _claim(ledger, clock, size=3, patience=30) is None
        clock.forward(0.1)
        assert _runs(await _claim(ledger, clock, size=3, patience=30)) == ["4"]

    async def test_a_claim_can_be_for_one_scope(self, ledger: Ledger, clock: HandClock) -> None:
        await _accept(ledger, 1, scope=ALICE)
        await _accept(ledger, 2, scope=BOB)
        assert _runs(await _claim(ledger, clock, scope=BOB)) == ["2"]
        assert await _claim(ledger, clock, scope=BOB) is None
        assert await _claim(ledger, clock, scope=OTHER_ALICE) is None

    async def test_a_lease_ends_by_itself(self, ledger: Ledger, clock: HandClock) -> None:
        """A worker that died costs time, not turns; its death counts as a failure."""
        await _accept(ledger, 1, 2)
        lost = await _batch(ledger, clock)
        clock.forward(59.9)
        assert await _claim(ledger, clock) is None
        clock.forward(0.1)
        again = await _batch(ledger, clock)
        assert [job.id for job in again.jobs] == [job.id for job in lost.jobs]
        assert [job.attempts for job in again.jobs] == [1, 1]
        assert again.lease != lost.lease
        with pytest.raises(Conflict):
            await _finish(ledger, lost)
        with pytest.raises(Conflict):
            await ledger.retry(lost, at=clock.now)
        with pytest.raises(Conflict):
            await ledger.park(lost, reason="late", at=clock.now)
        await _finish(ledger, again)
        assert await _claim(ledger, clock) is None

    async def test_a_lease_is_renewed_while_it_is_held(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """For a part of the batch too; what was lost stays lost."""
        await _accept(ledger, 1, 2)
        batch = await _batch(ledger, clock)
        rest = replace(batch, jobs=batch.jobs[1:])
        clock.forward(50)
        await ledger.renew(batch, at=clock.now, lease=60)
        clock.forward(50)
        assert await _claim(ledger, clock) is None
        await _finish(ledger, replace(batch, jobs=batch.jobs[:1]))
        await ledger.renew(rest, at=clock.now, lease=60)
        with pytest.raises(Conflict):
            await ledger.renew(batch, at=clock.now, lease=60)
        clock.forward(60)
        with pytest.raises(Conflict):
            await ledger.renew(rest, at=clock.now, lease=60)
        assert _runs(await _claim(ledger, clock)) == ["2"]
        with pytest.raises(Conflict):
            await ledger.renew(rest, at=clock.now, lease=60)

    async def test_a_lease_that_ran_out_finishes_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Fencing: what the same transaction stored is undone with it."""
        await _accept(ledger, 1)
        batch = await _batch(ledger, clock)
        clock.forward(60)
        with pytest.raises(Conflict):
            await _finish(ledger, batch)
        assert len((await _batch(ledger, clock)).jobs) == 1

    async def test_a_batch_is_finished_once(self, ledger: Ledger, clock: HandClock) -> None:
        await _accept(ledger, 1)
        batch = await _batch(ledger, clock)
        await _finish(ledger, batch)
        with pytest.raises(Conflict):
            await _finish(ledger, batch)

    async def test_a_retry_waits_and_keeps_the_order(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Retry: not before its time, attempts grow, and later turns of the scope wait too."""
        await _accept(ledger, 1)
        batch = await _batch(ledger, clock)
        await _accept(ledger, 2)
        await ledger.retry(batch, at=clock.now + timedelta(seconds=10))
        assert await _claim(ledger, clock) is None
        await _accept(ledger, 1, scope=BOB)
        assert (await _batch(ledger, clock)).scope == BOB
        clock.forward(10)
        again = await _batch(ledger, clock)
        assert _runs(again) == ["1", "2"]
        assert [job.attempts for job in again.jobs] == [1, 0]

    async def test_parked_jobs_are_shown_and_announced(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Design promise 4: extracted, or parked visibly with its reason."""
        await _accept(ledger, 1, 2)
        batch = await _batch(ledger, clock, size=1)
        await ledger.park(batch, reason="no model answered", at=clock.forward(5))
        assert _runs(await _claim(ledger, clock)) == ["2"], "the next one goes on"
        (mine,) = await ledger.dead_letters(scope=ALICE, limit=10)
        assert (mine.job.work, mine.reason) == (turn(1), "no model answered")
        assert mine.parked_at == clock.now
        (shown,) = await ledger.dead_letters(scope=None, limit=10)
        assert _turn(shown.job).said == (), "an operator sees no messages"
        assert shown.job.id == mine.job.id
        assert await ledger.dead_letters(scope=BOB, limit=10) == []
        ((_, event),) = await ledger.announced(after=0, limit=10)
        assert isinstance(event, TurnParked)
        assert (event.scope, event.thread_id, event.run_id) == (ALICE, "thread-1", "run-1")

    async def test_what_cannot_be_read_is_parked_and_stands_in_nobodys_way(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Design promise 4, of a row that this program cannot read: its scope's other turns and
        everybody else's are handed out, and it is shown, replayed, forgotten like any other."""
        spoilt = [turn(run) for run in (1, 2, 4)]
        for each in spoilt:
            object.__setattr__(each, "at", _BEFORE_ALL_TIME)
        await ledger.accept(spoilt[0], scope=OTHER_ALICE)
        await ledger.accept(spoilt[0], scope=ALICE)
        await ledger.accept(spoilt[1], scope=ALICE)
        await _accept(ledger, 3)
        await ledger.accept(spoilt[2], scope=ALICE)
        assert [each.run_id for each in await ledger.waiting(scope=ALICE, limit=9)] == ["run-3"]
        assert _runs(await _claim(ledger, clock, size=2, scope=ALICE)) == ["3"]
        assert await _claim(ledger, clock, scope=OTHER_ALICE) is None
        letters = await ledger.dead_letters(scope=ALICE, limit=9)
        assert [_turn(letter.job).run_id for letter in letters] == ["run-1", "run-2", "run-4"]
        assert {_turn(letter.job).said for letter in letters} == {()}
        assert all(letter.reason.startswith("Corrupt") for letter in letters)
        told = [event for _, event in await ledger.announced(after=0, limit=9)]
        assert [type(event) for event in told] == [TurnParked] * 4
        (letter,) = await ledger.dead_letters(scope=OTHER_ALICE, limit=9)
        assert len(await ledger.dead_letters(scope=None, limit=9)) == 4
        await ledger.replay(letter.job.id, scope=OTHER_ALICE)
        assert await _claim(ledger, clock, scope=OTHER_ALICE) is None
        listing = Listing(agents=("someone",))
        gone = await ledger.write(lambda tx: tx.withdraw(listing, scope=ALICE), scope=ALICE)
        assert gone.turns == 3, "of a turn that cannot be read nobody knows whose it was not"
        assert await ledger.dead_letters(scope=ALICE, limit=9) == []

    async def test_dead_letters_are_oldest_first(self, ledger: Ledger, clock: HandClock) -> None:
        await _accept(ledger, 1, 2, 3)
        for _ in range(3):
            batch = await _batch(ledger, clock, size=1)
            await ledger.park(batch, reason="no", at=clock.forward(1))
        found = await ledger.dead_letters(scope=ALICE, limit=2)
        assert [_turn(letter.job).run_id for letter in found] == ["run-1", "run-2"]

    async def test_a_replayed_job_begins_anew(self, ledger: Ledger, clock: HandClock) -> None:
        await _accept(ledger, 1)
        batch = await _batch(ledger, clock)
        await ledger.retry(batch, at=clock.now)
        batch = await _batch(ledger, clock)
        await ledger.park(batch, reason="no", at=clock.now)
        job_id = batch.jobs[0].id
        with pytest.raises(NotFound):
            await ledger.replay(job_id, scope=BOB)
        with pytest.raises(NotFound):
            await ledger.replay(job_id + 99, scope=None)
        await ledger.replay(job_id, scope=None)
        with pytest.raises(NotFound):
            await ledger.replay(job_id, scope=ALICE)
        again = await _batch(ledger, clock)
        assert [(job.id, job.attempts) for job in again.jobs] == [(job_id, 0)]

    async def test_traces_of_what_is_over_leave_after_a_while(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Ids of turns that were read, and the audit; nothing that waits or is parked."""
        await _accept(ledger, 1, 2, 3)
        await ledger.park(await _batch(ledger, clock, size=1), reason="no", at=clock.now)
        await _finish(ledger, await _batch(ledger, clock, size=1))
        await _accept(ledger, 4, scope=BOB)
        clock.forward(10)
        await _accept(ledger, 5, scope=BOB)
        while (batch := await _claim(ledger, clock, scope=BOB)) is not None:
            await _finish(ledger, batch)

        async def note(scope: Scope) -> None:
            await ledger.write(
                lambda tx: tx.audit("look", by="x", scope=scope, subjects=[]), scope=scope
            )

        await note(ALICE)
        clock.forward(10)
        await note(PLATFORM)
        before = await ledger.counts()

        async def expire(seconds: float, limit: int = 99) -> int:
            at = START + timedelta(seconds=seconds)
            return await ledger.expire(turns_before=at, audit_before=at, limit=limit)

        assert await expire(0) == 0
        assert await expire(5) == 2, "one of Alice, one of Bob"
        assert await expire(15, limit=1) == 2, "a turn of Bob, a note of Alice"
        assert await expire(99) == 1
        after = await ledger.counts()
        assert {k: before[k] - after[k] for k in after if after[k] != before[k]} == {
            "queue": 3,
            "audit": 2,
        }
        backlog = await ledger.backlog()
        assert (backlog.waiting, backlog.parked) == (1, 1)
        assert await ledger.accept(turn(5), scope=BOB) is True, "a new one, by now"
        await sound(ledger)

    async def test_threads_are_known_by_when_they_were_last_heard(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Of everybody, also when all that was said is memory already; of the erased nothing."""
        times = [clock.now]
        for number, (scope, thread) in enumerate(
            [(ALICE, "a"), (BOB, "b"), (ALICE, "c"), (ALICE, "a"), (OTHER_ALICE, "a")]
        ):
            clock.forward(10)
            times.append(clock.now)
            said = replace(turn(number), thread_id=thread)
            assert await ledger.accept(said, scope=scope)
        await _finish(ledger, await _batch(ledger, clock))
        parked = await _batch(ledger, clock)
        await ledger.park(parked, reason="no", at=clock.now)

        async def heard(after: int, until: int, limit: int = 9) -> list[tuple[Scope, str, int]]:
            found = await ledger.threads(after=times[after], until=times[until], limit=limit)
            return [(each.scope, each.thread_id, times.index(each.at)) for each in found]

        everything = [(BOB, "b", 2), (ALICE, "c", 3), (ALICE, "a", 4), (OTHER_ALICE, "a", 5)]
        assert await heard(0, 5) == everything
        assert await heard(0, 5, 2) == everything[:2]
        assert await heard(2, 4) == everything[1:3], "after the one, and until the other"
        assert await heard(0, 1) == [], "one that was heard since is not silent"
        await ledger.write(lambda tx: tx.erase(scope=ALICE, at=clock.now), scope=ALICE)
        assert await heard(0, 5) == [everything[0], everything[3]]

    async def test_the_backlog_counts(self, ledger: Ledger, clock: HandClock) -> None:
        assert (await ledger.backlog()).oldest is None
        await _accept(ledger, 1, 2, 3)
        since = clock.now
        await _accept(ledger, 1, scope=BOB)
        clock.forward(9)
        batch = await _batch(ledger, clock, size=1)
        await ledger.park(batch, reason="no", at=clock.now)
        held = await _claim(ledger, clock, size=1, scope=ALICE)
        assert held
        mine = await ledger.backlog(scope=ALICE)
        assert (mine.waiting, mine.leased, mine.parked, mine.oldest) == (1, 1, 1, since)
        assert (mine.oldest_leased, mine.oldest_parked) == (since, since)
        everything = await ledger.backlog()
        assert (everything.waiting, everything.leased, everything.parked) == (2, 1, 1)

    @pytest.mark.parametrize("size", [0, -3])
    async def test_a_batch_has_a_job(self, ledger: Ledger, clock: HandClock, size: int) -> None:
        with pytest.raises(Invalid):
            await _claim(ledger, clock, size=size)


class RequestTests(Sealed):
    """Requests to relate a memory travel in the same queue."""

    async def test_a_batch_has_one_sort(self, ledger: Ledger, clock: HandClock) -> None:
        one, two = memory("one"), memory("two")
        await store(ledger, one, two)
        await _accept(ledger, 1)
        await _enqueue(ledger, one.id)
        await _enqueue(ledger, two.id)
        await _accept(ledger, 2, 3)
        batches: list[Sequence[type]] = []
        while (batch := await _claim(ledger, clock)) is not None:
            batches.append([type(job.work) for job in batch.jobs])
            await _finish(ledger, batch)
        assert batches == [[Turn], [Relate, Relate], [Turn, Turn]]

    async def test_a_memory_is_queued_once(self, ledger: Ledger, clock: HandClock) -> None:
        known = memory()
        await store(ledger, known)
        await _enqueue(ledger, known.id)
        await _enqueue(ledger, known.id)
        batch = await _batch(ledger, clock)
        assert [job.work for job in batch.jobs] == [Relate(memory_id=known.id, at=START)]
        await _finish(ledger, batch)
        assert await _claim(ledger, clock) is None
        await _enqueue(ledger, known.id)
        assert len((await _batch(ledger, clock)).jobs) == 1, "edited later, it may be asked again"

    async def test_a_request_that_returns_finds_its_twin(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """A memory edited while a worker looks at it is looked at again, but not twice."""
        known = memory()
        await store(ledger, known)
        for _ in range(2):
            await _enqueue(ledger, known.id)
            batch = await _batch(ledger, clock)
            await _enqueue(ledger, known.id)
            await ledger.retry(batch, at=clock.now)
            assert (await ledger.backlog()).waiting == 1
            batch = await _batch(ledger, clock)
            await _enqueue(ledger, known.id)
            await ledger.park(batch, reason="no", at=clock.now)
            backlog = await ledger.backlog()
            assert (backlog.waiting, backlog.parked) == (0, 1)
        await _enqueue(ledger, known.id)
        backlog = await ledger.backlog()
        assert (backlog.waiting, backlog.parked) == (1, 0), "asked again, it leaves the dead"
        assert not [e for _, e in await ledger.announced(after=0, limit=9)]
        await sound(ledger)

    async def test_a_request_for_no_memory_is_refused(self, ledger: Ledger) -> None:
        theirs = memory(scope=BOB)
        await store(ledger, theirs)
        for memory_id in (theirs.id, "m_unknown"):
            with pytest.raises(NotFound):
                await _enqueue(ledger, memory_id)

    async def test_an_organization_s_request_is_parked_too(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        fact = memory(scope=PLATFORM)
        await store(ledger, fact)
        await _enqueue(ledger, fact.id, PLATFORM)
        await ledger.park(await _batch(ledger, clock), reason="no", at=clock.now)
        (letter,) = await ledger.dead_letters(scope=PLATFORM, limit=9)
        assert letter.job.work == Relate(memory_id=fact.id, at=START)
