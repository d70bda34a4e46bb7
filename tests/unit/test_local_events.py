"""The in-process event bus over the real outbox: in order, at least once, and nobody waits."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo.adapters.local import LocalEvents
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Conflict, Invalid, Retired
from ricordo.events import (
    Event,
    OrganizationEvent,
    OrganizationMemoryDocumented,
    UserMemoryForgotten,
    UserMemoryStored,
)
from ricordo.model import OrganizationScope, UserScope
from ricordo.ports import Writing
from ricordo.testing.naive import NOON

ALICE = UserScope(tenant="acme", user="alice")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: NOON) as opened:
        yield opened


async def emit(ledger: SqliteLedger, *ids: str) -> None:
    """Announce one event per id: `d…` documented, `f…` forgotten, others stored."""

    async def work(tx: Writing) -> None:
        for each in ids:
            await tx.emit(_event(each))

    for scope in (ALICE, PLATFORM):
        mine = [each for each in ids if each.startswith("d") == (scope is PLATFORM)]
        if mine:
            ids, rest = tuple(mine), ids
            await ledger.write(work, scope=scope)
            ids = rest


def _event(each: str) -> Event:
    if each.startswith("d"):
        return OrganizationMemoryDocumented(id=each, at=NOON, scope=PLATFORM, memory_id=each)
    if each.startswith("f"):
        return UserMemoryForgotten(id=each, at=NOON, scope=ALICE, memory_ids=(each,))
    return UserMemoryStored(id=each, at=NOON, scope=ALICE, memory_id=each, kind="fact")


async def take(subscription: AsyncIterator[Event], count: int) -> list[str]:
    async with asyncio.timeout(10):
        return [(await anext(subscription)).id for _ in range(count)]


async def test_events_from_now_on_come_in_order(ledger: SqliteLedger) -> None:
    """A subscriber gets what is announced after it subscribed, in order, whoever wrote it."""
    await emit(ledger, "old")
    bus = LocalEvents(ledger, poll=0.02)
    async with bus.subscribe() as events:
        await emit(ledger, "e1", "e2", "f3")
        await emit(ledger, "d4")
        assert await take(events, 4) == ["e1", "e2", "f3", "d4"]
        await emit(ledger, *(f"e{i:03}" for i in range(600)))
        assert await take(events, 600) == [f"e{i:03}" for i in range(600)]


async def test_a_subscription_need_not_be_entered(ledger: SqliteLedger) -> None:
    """The port's plain iterator works as well, and can be closed."""
    bus = LocalEvents(ledger, poll=0.02)
    events = bus.subscribe()
    await take_none(events)
    await emit(ledger, "e1")
    assert await take(events, 1) == ["e1"]
    await events.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(events)


async def test_kinds_select_with_their_subclasses(ledger: SqliteLedger) -> None:
    """User and organization events are distinct types; a type stands for its subclasses."""
    bus = LocalEvents(ledger, poll=0.02)
    async with (
        bus.subscribe(kinds=[OrganizationEvent]) as organization,
        bus.subscribe(kinds=[UserMemoryForgotten, UserMemoryStored]) as user,
    ):
        await emit(ledger, "e1", "d2", "f3", "d4")
        assert await take(organization, 2) == ["d2", "d4"]
        assert await take(user, 2) == ["e1", "f3"]


async def test_another_process_is_heard_by_polling_and_this_one_at_once(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Polling finds what others wrote; `announce` need not wait for the poll."""
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: NOON) as elsewhere:
        async with LocalEvents(ledger, poll=0.02).subscribe() as events:
            await emit(elsewhere, "e1")
            assert await take(events, 1) == ["e1"]
        patient = LocalEvents(ledger, poll=3_600)
        async with patient.subscribe() as events:
            waiting = asyncio.create_task(take(events, 1))
            await asyncio.sleep(0)
            await emit(ledger, "e2")
            while not waiting.done():
                patient.announce()
                await asyncio.sleep(0.001)
            assert waiting.result() == ["e2"]


async def test_a_slow_subscriber_delays_nobody(ledger: SqliteLedger) -> None:
    """Each subscriber reads at its own pace; nothing piles up for one that does not read."""
    bus = LocalEvents(ledger, poll=0.02)
    async with bus.subscribe() as slow, bus.subscribe() as quick:
        await emit(ledger, *(f"e{i:03}" for i in range(700)))
        assert await take(slow, 1) == ["e000"]
        assert len(await take(quick, 700)) == 700
        assert len(slow._read) < 300
        assert await take(slow, 699) == [f"e{i:03}" for i in range(1, 700)]


async def test_a_named_consumer_goes_on_where_it_was(ledger: SqliteLedger) -> None:
    """At least once: what was not done with before the end comes again, in order."""
    await emit(ledger, "old")
    async with LocalEvents(ledger, poll=0.02).subscribe(consumer="mailer") as events:
        await emit(ledger, "e1", "e2", "e3")
        assert await take(events, 2) == ["e1", "e2"]  # e2 is in work when the consumer ends
    await emit(ledger, "e4")
    async with LocalEvents(ledger, poll=0.02).subscribe(consumer="mailer") as events:
        assert await take(events, 3) == ["e2", "e3", "e4"]
    async with LocalEvents(ledger, poll=0.02).subscribe(consumer="other") as other:
        await emit(ledger, "e5")
        assert await take(other, 1) == ["e5"]


async def test_progress_survives_the_death_of_a_consumer(ledger: SqliteLedger) -> None:
    """A consumer that never closed begins after what it had caught up with."""
    bus = LocalEvents(ledger, poll=0.02)
    events = bus.subscribe(consumer="mailer", kinds=[UserMemoryStored])
    await take_none(events)
    await emit(ledger, "e1", "f2")
    assert await take(events, 1) == ["e1"]
    await take_none(events)  # asks for the next one, and so is done with what was before
    assert await ledger.position("mailer") == await ledger.latest()
    await emit(ledger, "e3")
    async with LocalEvents(ledger, poll=0.02).subscribe(consumer="mailer") as again:
        assert await take(again, 1) == ["e3"]
    await events.aclose()


async def take_none(events: AsyncIterator[Event]) -> None:
    """Ask for an event that does not come, and give up: asking costs nothing."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await anext(events)


async def test_giving_up_waiting_loses_nothing(ledger: SqliteLedger) -> None:
    """A cancelled wait for the next event leaves the subscription as it was."""
    async with LocalEvents(ledger, poll=0.001).subscribe() as events:
        for number in range(20):
            waiting = asyncio.create_task(anext(events))
            for _ in range(number):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.wait([waiting])
            assert waiting.cancelled()
        await emit(ledger, "e1", "e2")
        assert await take(events, 2) == ["e1", "e2"]


async def test_closing_the_bus_ends_every_wait(ledger: SqliteLedger) -> None:
    """Whoever waits is told that there is no more; nothing is left running."""
    bus = LocalEvents(ledger, poll=3_600)

    async def listen(events: AsyncIterator[Event]) -> list[str]:
        return [event.id async for event in events]

    before = asyncio.all_tasks()
    listeners = [asyncio.create_task(listen(bus.subscribe())) for _ in range(3)]
    for _ in range(5):
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await bus.close()
        assert await asyncio.gather(*listeners) == [[], [], []]
    await bus.close()
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_names_are_checked(ledger: SqliteLedger) -> None:
    """A consumer's name is an id, and one subscription has it at a time."""
    bus = LocalEvents(ledger)
    with pytest.raises(Invalid):
        bus.subscribe(consumer="bad\nname")
    for ours in ("relay:nats", "protocol:swiss-ai-agent"):
        with pytest.raises(Invalid, match="colon"):
            bus.subscribe(consumer=ours)
    async with bus.subscribe(consumer="mailer"):
        with pytest.raises(Conflict, match="mailer"):
            bus.subscribe(consumer="mailer")
    async with bus.subscribe(consumer="mailer"):
        pass
    with pytest.raises(ValueError, match="poll"):
        LocalEvents(ledger, poll=0)


async def retire(ledger: SqliteLedger, consumer: str) -> None:
    """As an operator does when it has not been seen for a while, and prune what is old."""
    await ledger.retire(consumer, at=NOON + timedelta(days=1))
    await ledger.prune(before=NOON + timedelta(days=1), limit=2)


async def test_a_retired_consumer_is_told_and_may_come_back(ledger: SqliteLedger) -> None:
    """By a typed error; coming back, it hears what is there and how much is gone."""
    bus = LocalEvents(ledger, poll=0.02)
    async with bus.subscribe(consumer="mailer") as events:
        assert events.missed == 0
    await emit(ledger, "e1", "e2", "e3")
    await retire(ledger, "mailer")
    with pytest.raises(Retired, match="mailer"):
        async with bus.subscribe(consumer="mailer"):
            raise AssertionError("a retired one was let in")
    with pytest.raises(Retired):
        await anext(bus.subscribe(consumer="mailer"))
    async with bus.subscribe(consumer="mailer", come_back=True) as events:
        assert events.missed == 2
        assert await take(events, 1) == ["e3"]
    async with bus.subscribe(consumer="mailer", come_back=True) as events:
        assert events.missed == 0, "it is one like any other again"


async def test_a_consumer_that_is_retired_while_it_sleeps_is_told(ledger: SqliteLedger) -> None:
    """At the latest when its progress is stored; it does not go on over a gap."""
    bus = LocalEvents(ledger, poll=0.02)
    async with bus.subscribe(consumer="mailer") as events:
        await emit(ledger, "e1")
        assert await take(events, 1) == ["e1"]
        await retire(ledger, "mailer")
        await emit(ledger, "e2")
        with pytest.raises(Retired):
            await take(events, 99)
        with pytest.raises(StopAsyncIteration):
            await anext(events)
    await bus.close()
