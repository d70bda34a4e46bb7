"""What `Ledger` and `Outbox` promise: durable, all or nothing, shared, in order."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo.errors import Conflict, Denied, Invalid, RicordoError, Unavailable
from ricordo.events import UserMemoryStored
from ricordo.model import Kind, Listing, Status, new_id
from ricordo.ports import Ledger, Reading, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    OTHER_ALICE,
    SPACE,
    START,
    HandClock,
    entity,
    found_entities,
    graph,
    indexed,
    memory,
    replace_with,
    rows,
    sound,
    store,
    stored,
    turn,
)
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.sealed import Sealed


def _stored(run: int = 1) -> UserMemoryStored:
    return UserMemoryStored(
        id=f"e_{run}",
        at=START + timedelta(seconds=run),
        scope=ALICE,
        memory_id=f"m_{run}",
        kind="fact",
    )


class TransactionTests(Sealed):
    """One commit, shared by many callers, each of them all or nothing."""

    async def test_ledger_1_what_was_acknowledged_is_there_after_reopening(
        self, another: OpenLedger, clock: HandClock
    ) -> None:
        """Ledger 1, and Queue 1. (Death by `kill -9` has a test of its own.)"""
        first = await another()
        known = memory()
        await store(first, known)
        await graph(first, [entity("a")], [])
        await first.accept(turn(), scope=ALICE)
        await first.write(lambda tx: tx.emit(_stored()), scope=ALICE)
        await first.acknowledge("bus", 1)
        await first.close()
        second = await another()
        assert await stored(second, known.id) == [known]
        assert set(await found_entities(second, "a")) == {"a"}
        assert await second.announced(after=0, limit=9) == [(1, _stored())]
        assert await second.position("bus") == 1
        assert (await second.backlog()).waiting == 1
        assert await second.accept(turn(), scope=ALICE) is False
        assert len((await rows(second)).ids) == 1
        await sound(second)

    async def test_ledger_2_a_transaction_is_all_or_nothing(self, ledger: Ledger) -> None:
        """Ledger 2, and 4: a failing work leaves no trace, anywhere."""
        before = await ledger.counts()

        async def work(tx: Writing) -> None:
            await tx.put(memory(), indexed=indexed(), space=SPACE)
            await tx.put_entity(entity("a"))
            await tx.emit(_stored())
            await tx.audit("x", by="alice", scope=ALICE, subjects=["m"])
            raise LookupError("half way")

        with pytest.raises(LookupError, match="half way"):
            await ledger.write(work, scope=ALICE)
        assert await ledger.counts() == before
        assert await ledger.announced(after=0, limit=9) == []
        await sound(ledger)

    async def test_ledger_4_a_failing_work_does_not_disturb_others(self, ledger: Ledger) -> None:
        """Ledger 4. Callers that share a commit get each their own result or error."""

        async def caller(number: int) -> str:
            each = memory(f"text {number}")

            async def work(tx: Writing) -> str:
                await tx.put(each, indexed=indexed(number + 1), space=SPACE)
                if number % 3 == 0:
                    raise LookupError(str(number))
                return each.id

            return await ledger.write(work, scope=ALICE)

        results = await asyncio.gather(*(caller(n) for n in range(60)), return_exceptions=True)
        for number, result in enumerate(results):
            if number % 3 == 0:
                assert isinstance(result, LookupError)
                assert str(result) == str(number)
            else:
                assert isinstance(result, str)
        ids = [result for result in results if isinstance(result, str)]
        assert sorted((await rows(ledger)).ids) == sorted(ids)
        await sound(ledger)

    async def test_a_cancelled_caller_does_not_disturb_others(self, ledger: Ledger) -> None:
        """Ledger 4. The cancelled work itself happened as a whole, or not at all."""
        entered: list[str] = []

        async def caller(text: str) -> None:
            each = memory(text)

            async def work(tx: Writing) -> None:
                entered.append(text)
                await tx.put(each, indexed=indexed(), space=SPACE)
                await tx.emit(replace(_stored(), memory_id=each.id))

            await ledger.write(work, scope=ALICE)

        tasks = [asyncio.create_task(caller(f"text {number}")) for number in range(30)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, asyncio.CancelledError) for each in results[::2])
        assert all(each is None for each in results[1::2])
        page = await ledger.read(lambda tx: tx.page(Listing(), scope=ALICE), scopes=[ALICE])
        texts = {each.text for each in page.memories}
        assert {f"text {number}" for number in range(1, 30, 2)} <= texts
        announced = [event for _, event in await ledger.announced(after=0, limit=99)]
        assert len(announced) == len(texts)
        await sound(ledger)

    async def test_work_that_waits_for_something_else_is_refused(self, ledger: Ledger) -> None:
        """The port: the work awaits nothing but its transaction."""

        async def work(tx: Writing) -> None:
            await tx.put(memory(), indexed=None, space=None)
            await asyncio.sleep(0)

        async def look(tx: Reading) -> None:
            await tx.memories(["m"], scope=ALICE)
            await asyncio.sleep(0)

        with pytest.raises(Invalid):
            await ledger.write(work, scope=ALICE)
        with pytest.raises(Invalid):
            await ledger.read(look, scopes=[ALICE])
        assert (await ledger.counts())["memories"] == 0

    async def test_a_transaction_cannot_be_used_once_it_has_ended(self, ledger: Ledger) -> None:
        kept: list[Writing] = []

        async def work(tx: Writing) -> None:
            kept.append(tx)

        await ledger.write(work, scope=ALICE)
        with pytest.raises(RicordoError):
            await kept[0].put(memory(), indexed=None, space=None)

    async def test_ledger_3_ledgers_on_one_store_see_each_other(
        self, another: OpenLedger, ledger: Ledger
    ) -> None:
        """Ledger 3. What one acknowledged is seen by the other's next question."""
        other = await another()
        await store(ledger, memory("one"))
        first = await rows(other)
        assert len(first.ids) == 1
        await store(other, memory("two"))
        changed = await rows(ledger, since=first.generation)
        assert (len(changed.ids), changed.complete) == (1, False)
        await other.accept(turn(), scope=ALICE)
        assert await ledger.accept(turn(), scope=ALICE) is False

    async def test_ledger_3_writers_on_one_store_take_turns(
        self, another: OpenLedger, ledger: Ledger
    ) -> None:
        """Ledger 3. Nothing is lost, and nobody is turned away."""
        other = await another()
        some = [memory(f"text {number}") for number in range(40)]
        await asyncio.gather(
            *(replace_with((ledger, other)[n % 2], each, seed=n) for n, each in enumerate(some))
        )
        assert sorted((await rows(other)).ids) == sorted(each.id for each in some)
        await sound(ledger)

    async def test_a_closed_ledger_says_so(self, another: OpenLedger) -> None:
        ledger = await another()
        await ledger.close()
        await ledger.close()
        with pytest.raises(Unavailable):
            await ledger.accept(turn(), scope=ALICE)
        with pytest.raises(Unavailable):
            await ledger.latest()
        with pytest.raises(Unavailable):
            await ledger.scrub()

    async def test_closing_finishes_what_was_begun(self, another: OpenLedger) -> None:
        """Close: what was accepted before is answered, and kept."""
        ledger = await another()
        tasks = [
            asyncio.create_task(ledger.accept(turn(number), scope=ALICE)) for number in range(50)
        ]
        await asyncio.sleep(0)
        await ledger.close()
        assert await asyncio.gather(*tasks) == [True] * 50
        assert (await (await another()).backlog()).waiting == 50

    async def test_a_sound_ledger_is_found_sound(self, ledger: Ledger) -> None:
        findings = await ledger.check()
        assert len(findings) > 3
        assert not [finding for finding in findings if finding.problem]

    async def test_scopes_are_those_that_hold_something(self, ledger: Ledger) -> None:
        assert await ledger.scopes() == []
        await stored(ledger, "m_1")
        assert await ledger.scopes() == [], "looking leaves nothing behind"
        await store(ledger, memory())
        await ledger.accept(turn(), scope=BOB)
        assert set(await ledger.scopes()) == {ALICE, BOB}


class OutboxTests(Sealed):
    """Events leave in the order of commits, at least once."""

    async def test_events_leave_in_order(self, ledger: Ledger) -> None:
        for run in range(5):
            await ledger.write(lambda tx, run=run: tx.emit(_stored(run)), scope=ALICE)
        found = await ledger.announced(after=0, limit=99)
        assert [event for _, event in found] == [_stored(run) for run in range(5)]
        positions = [position for position, _ in found]
        assert positions == sorted(set(positions))
        assert positions[0] > 0
        assert await ledger.latest() == positions[-1]
        assert await ledger.announced(after=positions[1], limit=2) == found[2:4]
        assert await ledger.announced(after=positions[-1], limit=2) == []

    async def test_events_of_a_failed_work_never_leave(self, ledger: Ledger) -> None:
        async def work(tx: Writing) -> None:
            await tx.emit(_stored(1))
            raise Conflict("no")

        with pytest.raises(Conflict):
            await ledger.write(work, scope=ALICE)
        await ledger.write(lambda tx: tx.emit(_stored(2)), scope=ALICE)
        assert [event for _, event in await ledger.announced(after=0, limit=9)] == [_stored(2)]

    async def test_events_of_one_scope_keep_their_order_under_load(self, ledger: Ledger) -> None:
        """Outbox: a reader that follows positions misses nothing and sees each scope in order."""
        scopes = (ALICE, BOB, OTHER_ALICE)
        seen: list[tuple[int, UserMemoryStored]] = []
        done = asyncio.Event()

        async def write(scope_number: int) -> None:
            for run in range(20):
                event = replace(_stored(run), id=new_id("e"), scope=scopes[scope_number])
                await ledger.write(
                    lambda tx, event=event: tx.emit(event), scope=scopes[scope_number]
                )

        async def follow() -> None:
            while not done.is_set() or await ledger.latest() > (seen[-1][0] if seen else 0):
                found = await ledger.announced(after=seen[-1][0] if seen else 0, limit=7)
                seen.extend((p, e) for p, e in found if isinstance(e, UserMemoryStored))

        following = asyncio.create_task(follow())
        await asyncio.gather(*(write(number) for number in range(3)))
        done.set()
        await following
        for scope in scopes:
            runs = [event.memory_id for _, event in seen if event.scope == scope]
            assert runs == [f"m_{run}" for run in range(20)]

    async def test_each_consumer_has_its_position(self, ledger: Ledger) -> None:
        assert await ledger.latest() == 0
        assert await ledger.position("bus") is None
        await ledger.acknowledge("bus", 7)
        await ledger.acknowledge("index'%", 3)
        await ledger.acknowledge("bus", 5)
        assert await ledger.position("bus") == 7, "a late acknowledgement takes nothing back"
        assert await ledger.position("index'%") == 3

    async def test_a_census_counts_one_scope_or_all(self, ledger: Ledger) -> None:
        """Numbers only; what is told of a scope does not depend on others."""
        await store(ledger, memory("one"))
        await store(ledger, memory("two", status=Status.PROPOSED))
        await ledger.write(lambda tx: tx.emit(_stored()), scope=ALICE)
        before = await ledger.census(scope=ALICE)
        await store(ledger, memory("three", scope=BOB))
        await ledger.acknowledge("bus", 0)
        mine, everything = await ledger.census(scope=ALICE), await ledger.census()
        assert mine == before
        assert [(c.of, c.kind, c.status, c.count) for c in mine.cells] == [
            ("user", Kind.FACT, Status.ACTIVE, 1),
            ("user", Kind.FACT, Status.PROPOSED, 1),
        ]
        assert (mine.partitions, mine.largest, mine.events) == (1, 1, 1)
        assert (mine.storage, mine.behind) == (None, {})
        assert mine.own is not None
        assert mine.own.texts == len("onetwo")
        assert mine.own.index > 0
        assert everything.own is None
        assert sum(cell.count for cell in everything.cells) == 3
        assert (everything.partitions, everything.behind) == (2, {"bus": 1})
        assert everything.storage is not None
        assert everything.storage.file > 0
        nobody = await ledger.census(scope=OTHER_ALICE)
        assert (nobody.cells, nobody.partitions, nobody.events) == ((), 0, 0)

    async def test_an_event_of_another_scope_is_denied(self, ledger: Ledger) -> None:
        with pytest.raises(Denied):
            await ledger.write(lambda tx: tx.emit(_stored()), scope=BOB)
