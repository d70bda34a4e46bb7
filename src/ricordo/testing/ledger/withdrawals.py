"""What forgetting before it became memory promises (design promise 11)."""

from dataclasses import replace
from typing import Any

import pytest

from ricordo.errors import Conflict, Denied, NotFound
from ricordo.model import (
    Batch,
    Kind,
    Listing,
    Refusal,
    Relate,
    Rule,
    Said,
    Scope,
    Speaker,
    Turn,
    Withdrawn,
    new_id,
)
from ricordo.ports import Ledger
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    START,
    HandClock,
    memory,
    origin,
    sound,
    store,
    turn,
)
from ricordo.testing.sealed import Sealed

SAID = "Alice keeps a zebra"


async def _claim(ledger: Ledger, clock: HandClock, *, size: int = 8) -> Batch | None:
    return await ledger.claim(at=clock.now, size=size, patience=0, lease=60, scope=ALICE)


async def _batch(ledger: Ledger, clock: HandClock, *, size: int = 8) -> Batch:
    batch = await _claim(ledger, clock, size=size)
    assert batch is not None
    return batch


async def _park(ledger: Ledger, clock: HandClock) -> int:
    """Park the first turn; its number."""
    batch = await _batch(ledger, clock, size=1)
    await ledger.park(batch, reason="no", at=clock.now)
    return batch.jobs[0].id


async def _withdraw(
    ledger: Ledger, listing: Listing | None, *ids: str, scope: Scope = ALICE
) -> Withdrawn:
    return await ledger.write(lambda tx: tx.withdraw(listing, ids=ids, scope=scope), scope=scope)


async def _open(ledger: Ledger, scope: Scope = ALICE) -> list[str]:
    """Runs of the turns whose words are still kept."""
    works: list[Any] = [*await ledger.waiting(scope=scope, limit=99)]
    works += [letter.job.work for letter in await ledger.dead_letters(scope=scope, limit=99)]
    return sorted(work.run_id for work in works if isinstance(work, Turn))


async def _refuse(ledger: Ledger, reason: str, *, scope: Scope = ALICE, **more: Any) -> None:
    refusal = Refusal(id=new_id("f"), scope=scope, at=START, reason=reason, **more)
    await ledger.write(lambda tx: tx.refuse(refusal), scope=scope)


async def _refused(ledger: Ledger, scope: Scope = ALICE) -> set[str]:
    found = await ledger.read(lambda tx: tx.refusals(scope=scope, limit=99), scopes=[scope])
    return {each.reason for each in found}


class WithdrawalTests(Sealed):
    """Turns that are not memory yet are forgotten like memories."""

    async def test_what_waits_is_worked_on_or_parked_is_forgotten(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """For good: it is not handed out, not shown, not accepted again; others' stays."""
        for run in (1, 2, 3):
            await ledger.accept(turn(run, text=SAID), scope=ALICE)
        await ledger.accept(turn(1, text=SAID), scope=BOB)
        parked = await _park(ledger, clock)
        held = await _batch(ledger, clock, size=1)
        await _refuse(ledger, "mine")
        await _refuse(ledger, "theirs", scope=BOB)
        assert await _withdraw(ledger, Listing()) == Withdrawn(turns=3, refusals=1)
        assert await _open(ledger) == []
        assert await _refused(ledger) == set()
        assert await _claim(ledger, clock) is None
        with pytest.raises(NotFound):
            await ledger.replay(parked, scope=ALICE)
        for late in (ledger.retry(held, at=clock.now), ledger.park(held, reason="", at=clock.now)):
            with pytest.raises(Conflict):
                await late
        assert await ledger.accept(turn(2, text=SAID), scope=ALICE) is False, "delivered late"
        assert await _open(ledger, BOB) == ["run-1"]
        assert await _refused(ledger, BOB) == {"theirs"}
        assert await _withdraw(ledger, Listing()) == Withdrawn()
        await sound(ledger)

    async def test_a_batch_of_a_forgotten_turn_commits_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """What was learned of it comes too late; its neighbours wait again, unblamed."""
        await ledger.accept(turn(1), scope=ALICE)
        await ledger.accept(turn(2, thread_id="other"), scope=ALICE)
        batch = await _batch(ledger, clock)
        gone = await _withdraw(ledger, Listing(thread_id="other"))
        assert gone == Withdrawn(turns=1)
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.finish(batch), scope=ALICE)
        again = await _batch(ledger, clock)
        assert [(job.id, job.attempts) for job in again.jobs] == [(batch.jobs[0].id, 0)]
        await ledger.write(lambda tx: tx.finish(again), scope=ALICE)
        await sound(ledger)

    async def test_a_batch_about_a_forgotten_memory_commits_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """The same for requests; one that is asked for again meanwhile waits once."""
        one, two = memory("one"), memory("two")
        await store(ledger, one, two)

        async def ask(*asked: str) -> None:
            for memory_id in asked:
                request = Relate(memory_id=memory_id, at=START)
                await ledger.write(lambda tx, r=request: tx.enqueue(r, scope=ALICE), scope=ALICE)

        await ask(one.id, two.id)
        batch = await _batch(ledger, clock)
        await ask(two.id)
        assert await _withdraw(ledger, None, one.id) == Withdrawn()
        await ledger.write(lambda tx: tx.remove([one.id], scope=ALICE), scope=ALICE)
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.finish(batch), scope=ALICE)
        again = await _batch(ledger, clock)
        assert [job.work for job in again.jobs] == [Relate(memory_id=two.id, at=START)]
        await sound(ledger)

    async def test_the_turn_of_a_memory_goes_with_it(self, ledger: Ledger) -> None:
        """A memory that was said outright is not learned once more from its own turn."""
        known = memory(origins=(origin(run_id="run-1"), origin(run_id="run-2", thread_id="t")))
        await store(ledger, known)
        for each in (turn(1), turn(2), turn(2, thread_id="t")):
            await ledger.accept(each, scope=ALICE)
        await ledger.accept(turn(1), scope=BOB)
        assert await _withdraw(ledger, None, known.id, "m_unknown") == Withdrawn(turns=2)
        assert await _open(ledger) == ["run-2"]
        assert await _open(ledger, BOB) == ["run-1"]
        assert await _withdraw(ledger, None, known.id, scope=BOB) == Withdrawn()

    async def test_a_listing_chooses_by_thread_time_and_agent(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Conditions must all hold; time is when a turn was taken in."""
        await ledger.accept(turn(1, thread_id="a"), scope=ALICE)
        await ledger.accept(replace(turn(2, thread_id="b"), agent="helper"), scope=ALICE)
        later = clock.forward(10)
        await ledger.accept(turn(3, thread_id="b", at=START), scope=ALICE)
        await ledger.accept(replace(turn(4, thread_id="b"), agent="helper"), scope=ALICE)
        assert await _withdraw(ledger, Listing(thread_id="nowhere")) == Withdrawn()
        assert await _withdraw(ledger, Listing(thread_id="b", before=later)) == Withdrawn(turns=1)
        assert await _open(ledger) == ["run-1", "run-3", "run-4"]
        assert await _withdraw(ledger, Listing(agents=("helper",))) == Withdrawn(turns=1)
        assert await _withdraw(ledger, Listing(agents=())) == Withdrawn()
        assert await _withdraw(ledger, Listing(before=later)) == Withdrawn(turns=1)
        assert await _open(ledger) == ["run-3"]

    async def test_refusals_are_chosen_likewise(self, ledger: Ledger, clock: HandClock) -> None:
        """An agent's own; and where facts are meant too, those of relations, whoever heard them."""
        heard = {name: origin(agent=name, thread_id=name) for name in ("coder", "helper")}

        async def fill() -> None:
            await _withdraw(ledger, Listing())
            await _refuse(ledger, "item", origin=heard["helper"])
            await _refuse(ledger, "own item", origin=heard["coder"])
            await _refuse(ledger, "edge", origin=heard["helper"], rule=Rule.NAMES)
            await _refuse(ledger, "nobody's")

        for listing, left in (
            (Listing(kind=Kind.PREFERENCE, agents=("coder",)), {"item", "edge", "nobody's"}),
            (Listing(agents=("coder",)), {"item"}),
            (Listing(thread_id="helper"), {"own item", "nobody's"}),
            (Listing(before=START), {"item", "own item", "edge", "nobody's"}),
            (Listing(before=clock.forward(1)), set[str]()),
        ):
            await fill()
            await _withdraw(ledger, listing)
            assert await _refused(ledger) == left, listing

    async def test_another_scope_is_not_touched(self, ledger: Ledger) -> None:
        with pytest.raises(Denied):
            await ledger.write(lambda tx: tx.withdraw(Listing(), scope=ALICE), scope=BOB)

    async def test_a_dead_letter_is_forgotten(self, ledger: Ledger, clock: HandClock) -> None:
        """By its number, by its owner, once; the turn is not accepted again."""
        await ledger.accept(turn(1), scope=ALICE)
        job_id = await _park(ledger, clock)
        for wrong, scope in ((job_id, BOB), (job_id + 99, ALICE)):
            with pytest.raises(NotFound):
                await ledger.drop(wrong, scope=scope)
        await ledger.drop(job_id, scope=ALICE)
        assert await ledger.dead_letters(scope=None, limit=9) == []
        with pytest.raises(NotFound):
            await ledger.drop(job_id, scope=ALICE)
        assert await ledger.accept(turn(1), scope=ALICE) is False
        known = memory()
        await store(ledger, known)
        request = Relate(memory_id=known.id, at=START)
        await ledger.write(lambda tx: tx.enqueue(request, scope=ALICE), scope=ALICE)
        with pytest.raises(NotFound):
            await ledger.drop((await _batch(ledger, clock)).jobs[0].id, scope=ALICE)
        clock.forward(60)
        await ledger.drop(await _park(ledger, clock), scope=ALICE)
        backlog = await ledger.backlog()
        assert (backlog.waiting, backlog.leased, backlog.parked) == (0, 0, 0)
        await sound(ledger)

    async def test_a_turn_is_parked_as_the_worker_leaves_it(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """So that what must not lie about can be taken out before."""
        await ledger.accept(turn(1, text=SAID), scope=ALICE)
        batch = await _batch(ledger, clock)
        less = turn(1, text="Alice keeps a …")
        assert less.said[0] == Said(speaker=Speaker.USER, text="Alice keeps a …", id="msg-1")
        await ledger.park(
            replace(batch, jobs=(replace(batch.jobs[0], work=less),)), reason="no", at=clock.now
        )
        (letter,) = await ledger.dead_letters(scope=ALICE, limit=9)
        assert letter.job.work == less
