"""The relay on a real server: everything arrives once, in order, whoever dies or sleeps."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path

import nats
import nats.errors
import pytest

from ricordo.adapters.local import LocalEvents
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Conflict, NotFound, Unavailable
from ricordo.events import UserMemoryStored
from ricordo.memory.relaying import RELAY
from ricordo.model import Origin
from ricordo.settings import Settings
from ricordo.testing.ledger.making import HandClock
from ricordo.wiring.messaging import events_stream, prepare
from tests.support.nats_server import NatsServer
from tests.support.relaying import (
    PATIENCE,
    PEOPLE,
    check_whole,
    held,
    make_relay,
    make_stream,
    make_streams,
    now,
    outbox,
    relayed,
    settings_for,
    stored,
    tell,
)

_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    return settings_for(server.url, prefix=f"p{next(_numbers)}")


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as opened:
        yield opened


async def test_everything_arrives_once_and_in_order(
    ledger: SqliteLedger, settings: Settings
) -> None:
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    await tell(ledger, 700)
    assert await relay.drain() == 700
    assert await relay.drain() == 0
    await tell(ledger, 3)
    assert await relay.lag() == (3, pytest.approx(0, abs=PATIENCE))
    assert await relay.drain() == 3
    assert await relay.lag() == (0, 0.0)
    found = await check_whole(ledger, settings)
    assert [seen.seq for seen in found] == list(range(1, 704))
    assert await ledger.position(RELAY) == await ledger.latest()
    await relay.close()


async def test_subscribers_in_this_process_hear_the_same(
    ledger: SqliteLedger, settings: Settings
) -> None:
    """With NATS and without, the same events reach them."""
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    bus = LocalEvents(ledger)
    async with bus.subscribe(kinds=[UserMemoryStored]) as heard:
        await tell(ledger, 5)
        await relay.drain()
        async with asyncio.timeout(PATIENCE):
            here = [(await anext(heard)).id for _ in range(5)]
    await bus.close()
    await relay.close()
    assert [seen.id for seen in await check_whole(ledger, settings)] == here


async def test_what_a_dead_relay_published_is_not_published_again(
    ledger: SqliteLedger, settings: Settings
) -> None:
    """It died before it acknowledged; the stream says how far it was, however long ago that is."""
    await make_streams(ledger, settings)
    await tell(ledger, 40)
    dead = await make_stream(ledger, settings)
    assert await dead.open() is None
    assert await dead.append((await outbox(ledger))[:25]) == 25
    await dead.close()
    relay = await make_relay(ledger, settings)
    assert await relay.drain() == 15
    await relay.close()
    assert [seen.seq for seen in await check_whole(ledger, settings)] == list(range(1, 41))


async def test_a_relay_that_slept_over_a_takeover_does_no_harm(
    ledger: SqliteLedger, settings: Settings
) -> None:
    """It still believes that it is elected; the stream and the ledger know better."""
    clock = HandClock()
    await make_streams(ledger, settings)
    sleeper = await make_relay(ledger, settings, holder="sleeper", clock=clock, lease=1_000)
    await tell(ledger, 20)
    assert await sleeper.turn() == 20
    await tell(ledger, 20)
    clock.forward(1_001)
    waker = await make_relay(ledger, settings, holder="waker", clock=clock, lease=1_000)
    assert await waker.turn() == 20
    await tell(ledger, 20)
    # It believes that it may publish 21 to 60, of which 21 to 40 are there. The stream takes none
    # of them, or those that come next.
    await sleeper.turn()
    assert len(await check_whole(ledger, settings, partly=True)) in {40, 60}
    assert await sleeper.turn() == 0, "by now it knows that another one is elected"
    assert await ledger.position(RELAY) == (await outbox(ledger))[39][0]
    await tell(ledger, 20)
    await waker.drain()
    assert len(await check_whole(ledger, settings)) == 80
    await sleeper.close()
    await waker.close()


async def test_one_relays_and_the_other_stands_by(ledger: SqliteLedger, settings: Settings) -> None:
    """Until it resigns; then the other one goes on at once."""
    await make_streams(ledger, settings)
    one = await make_relay(ledger, settings, holder="one")
    other = await make_relay(ledger, settings, holder="other")
    await tell(ledger, 10)
    assert await one.turn() == 10
    await tell(ledger, 10)
    assert await other.turn() == 0
    await one.resign()
    assert await other.turn() == 10
    await check_whole(ledger, settings)
    await one.close()
    await other.close()


async def test_events_wait_while_the_server_is_away(tmp_path: Path, ledger: SqliteLedger) -> None:
    """Writes go on; afterwards the outbox drains, and nothing was pruned meanwhile."""
    with NatsServer(tmp_path / "nats") as server:
        settings = settings_for(server.url)
        await make_streams(ledger, settings)
        relay = await make_relay(ledger, settings)
        running = asyncio.create_task(relay.run())
        await tell(ledger, 60)
        await relayed(ledger)
        server.kill()
        await tell(ledger, 300)
        assert await ledger.prune(before=now() + timedelta(days=1), limit=999) == 60
        assert (await relay.lag())[0] == 300
        server.start()
        await relayed(ledger)
        running.cancel()
        await asyncio.wait([running])
        found = await held(server.url, events_stream(settings))
        assert [seen.id for seen in found][60:] == [e.id for _, e in await outbox(ledger)]
        assert [seen.seq for seen in found] == list(range(1, 361))
        await relay.close()


async def test_a_server_that_was_away_from_the_first_is_waited_for(
    tmp_path: Path, ledger: SqliteLedger
) -> None:
    """What the relay has yet to see is not pruned, even if it never reached its server."""
    server = NatsServer(tmp_path / "nats")
    relay = await make_relay(ledger, settings_for(server.url))
    await tell(ledger, 5)
    with pytest.raises(Unavailable):
        await relay.turn()
    assert await ledger.prune(before=now() + timedelta(days=1), limit=9) == 0
    await relay.close()


async def test_a_relay_that_was_retired_comes_back_and_says_what_is_missing(
    ledger: SqliteLedger, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Promise 11 too: whoever was erased meanwhile leaves the stream, however much was pruned."""
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    gone, stays = PEOPLE[:2]
    await tell(ledger, 3, scopes=[gone])
    await relay.drain()
    await relay.resign()
    await tell(ledger, 4, scopes=[stays])
    await ledger.write(lambda tx: tx.erase(scope=gone, at=now()), scope=gone)
    await tell(ledger, 2, scopes=[stays])
    late = now() + timedelta(days=1)
    await ledger.retire(RELAY, at=late)
    assert await ledger.prune(before=late, limit=3) == 3
    assert await relay.drain() == 4
    assert "3 events are gone" in caplog.text
    found = await held(str(settings.nats_url), events_stream(settings))
    subject = await ledger.subject(scope=gone)
    assert [seen.subject.split(".")[5] for seen in found if seen.subject.endswith(subject)] == [
        "erased"
    ]
    assert [seen.id for seen in found] == [event.id for _, event in await outbox(ledger)]
    await relay.close()


async def test_no_event_is_too_large_to_leave(ledger: SqliteLedger, settings: Settings) -> None:
    """What one tenant's turns hold keeps no other tenant's events waiting."""
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    said = tuple(f"{number:06d}".ljust(250, "x") for number in range(2_400))
    origins = tuple(Origin(at=now(), run_id=f"r{n}", message_ids=said) for n in range(3))
    whole = replace(stored(PEOPLE[0], 1), origins=origins)
    await ledger.write(lambda tx: tx.emit(whole), scope=PEOPLE[0])
    await tell(ledger, 2)
    assert await relay.drain() == 3
    await relay.close()
    first, *_ = await check_whole(ledger, settings)
    assert [origin["run_id"] for origin in first.data["data"]["origins"]] == ["r0", "r1", "r2"]
    assert first.data["data"]["left_out"]["message_ids"] > 0


async def test_messages_of_others_hold_nothing_up(
    ledger: SqliteLedger, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    """Promise 4: who may pull from a consumer can make the server write anywhere; the relay passes
    over it and goes on, and what a dead one published is not published again."""
    stream = events_stream(settings)
    await prepare(ledger, settings, consumers=[("billing", "acme")])
    await tell(ledger, 40)
    dead = await make_stream(ledger, settings)
    assert await dead.open() is None
    assert await dead.append((await outbox(ledger))[:25]) == 25
    await dead.close()
    victim = f"{settings.nats_prefix}.globex.events.user.memory.stored.{'a' * 32}"
    for _ in range(2):
        await land(settings, victim, count=120)
        relay = await make_relay(ledger, settings)
        await tell(ledger, 5)
        carried = await relay.drain()
        await relay.close()
        assert "were not written by the relay" in caplog.text
    assert carried == 5
    own = await outbox(ledger)
    found = [seen for seen in await held(str(settings.nats_url), stream) if seen.id]
    assert [seen.id for seen in found] == [event.id for _, event in own]


async def land(settings: Settings, subject: str, *, count: int) -> None:
    """Let the server say on a subject that a pull of ours is over, so many times."""
    stream = events_stream(settings)
    client = await nats.connect(str(settings.nats_url))
    try:
        js = client.jetstream()
        before = (await js.stream_info(stream)).state.last_seq
        asked = json.dumps({"batch": 1, "no_wait": True}).encode()
        drained = await js.pull_subscribe_bind(consumer="acme_billing", stream=stream)
        with suppress(nats.errors.TimeoutError):
            while True:
                for message in await drained.fetch(100, timeout=1):
                    await message.ack_sync()
        for _ in range(count):
            pull = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.acme_billing"
            await client.publish(pull, asked, reply=subject)
        async with asyncio.timeout(PATIENCE):
            while (await js.stream_info(stream)).state.last_seq < before + count:
                await asyncio.sleep(0.05)
    finally:
        await client.close()


async def test_an_erased_person_leaves_the_stream(ledger: SqliteLedger, settings: Settings) -> None:
    """Promise 11: what was announced of them goes; that they were erased stays, and what others
    did."""
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    gone, stays = PEOPLE[:2]
    await tell(ledger, 30, scopes=[gone])
    await tell(ledger, 30, scopes=[stays])
    await relay.drain()
    subject = await ledger.subject(scope=gone)
    await ledger.write(lambda tx: tx.erase(scope=gone, at=now()), scope=gone)
    await tell(ledger, 2, scopes=[gone])  # they came back, and said something new
    await relay.drain()
    found = await check_whole(ledger, settings)
    mine = [seen.subject.split(".")[5] for seen in found if seen.subject.endswith(subject)]
    assert mine == ["erased", "stored", "stored"]
    assert len(found) == 33
    await relay.close()


async def test_an_erasure_is_carried_out_though_its_relay_died(
    ledger: SqliteLedger, settings: Settings
) -> None:
    await make_streams(ledger, settings)
    gone = PEOPLE[0]
    relay = await make_relay(ledger, settings)
    await tell(ledger, 3, scopes=[gone])
    await relay.drain()
    await ledger.write(lambda tx: tx.erase(scope=gone, at=now()), scope=gone)
    await tell(ledger, 3, scopes=[PEOPLE[1]])
    dead = await make_stream(ledger, settings)
    await dead.open()
    assert await dead.append(await outbox(ledger)) == 4
    await dead.close()
    await relay.drain()
    await check_whole(ledger, settings)
    await relay.close()


async def test_erased_events_that_were_never_relayed_hold_nothing_up(
    ledger: SqliteLedger, settings: Settings
) -> None:
    await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    await tell(ledger, 8, scopes=PEOPLE[:1])
    await ledger.write(lambda tx: tx.erase(scope=PEOPLE[0], at=now()), scope=PEOPLE[0])
    assert await relay.drain() == 1
    await check_whole(ledger, settings)
    await relay.close()


async def test_a_stream_of_another_memory_is_left_alone(
    tmp_path: Path, ledger: SqliteLedger, settings: Settings
) -> None:
    """Its positions would be taken for this one's."""
    async with SqliteLedger.open(tmp_path / "other.db", clock=now) as other:
        await make_streams(other, settings)
        with pytest.raises(Conflict, match="another memory"):
            await make_streams(ledger, settings)
    relay = await make_relay(ledger, settings)
    await tell(ledger, 1)
    with pytest.raises(Conflict, match="nats_prefix"):
        await relay.turn()
    await relay.close()


async def test_without_streams_the_way_out_is_told(
    ledger: SqliteLedger, settings: Settings
) -> None:
    relay = await make_relay(ledger, settings)
    with pytest.raises(NotFound, match="ricordo events init"):
        await relay.turn()
    await relay.close()


async def test_a_restored_backup_loses_no_event(
    tmp_path: Path, ledger: SqliteLedger, settings: Settings
) -> None:
    """Its positions are given a second time, to other events; these are published all the same."""
    await make_streams(ledger, settings)
    await tell(ledger, 10)
    relay = await make_relay(ledger, settings)
    await relay.drain()
    await relay.close()
    await ledger.scrub()
    backup = tmp_path / "backup.db"
    backup.write_bytes((tmp_path / "memory.db").read_bytes())
    await tell(ledger, 10)
    relay = await make_relay(ledger, settings)
    await relay.drain()
    await relay.close()
    async with SqliteLedger.open(backup, clock=now) as restored:
        relay = await make_relay(restored, settings, holder="after")
        await relay_all(relay, restored, 4)
        await relay_all(relay, restored, 9)
        await relay.close()
        found = await held(settings.nats_url or "", events_stream(settings))
        wanted = [event.id for _, event in await outbox(restored)]
        assert [seen.id for seen in found][:10] + [seen.id for seen in found][20:] == wanted


async def relay_all(relay, ledger: SqliteLedger, more: int) -> None:
    await ledger.vacate(RELAY, holder="one")
    await tell(ledger, more)
    await relay.drain()
