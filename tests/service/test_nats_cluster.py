"""A cluster of three: its leader dies while events are relayed."""

import asyncio
import json
import time
from collections import defaultdict
from pathlib import Path

import nats
import nats.js.api

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import RicordoError
from ricordo.wiring.messaging import events_stream
from tests.support.nats_server import cluster
from tests.support.relaying import (
    PATIENCE,
    PEOPLE,
    make_relay,
    make_streams,
    now,
    outbox,
    settings_for,
    tell,
)

EVENTS = 2_000


async def test_a_leader_s_death_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """Every event is delivered, once to an idempotent consumer, and in order per scope."""
    with cluster(tmp_path) as nodes:
        urls = ",".join(node.url for node in nodes.values())
        settings = settings_for(urls, replicas=3)
        async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as ledger:
            await until(lambda: make_streams(ledger, settings))
            relay = await make_relay(ledger, settings)
            relaying = asyncio.create_task(relay.run())
            reading = asyncio.create_task(read(urls, events_stream(settings), EVENTS))
            await tell(ledger, EVENTS // 2)
            state = await state_of(urls, events_stream(settings))
            assert state.cluster is not None
            assert len(state.cluster.replicas or ()) == 2
            leader = state.cluster.leader or ""
            nodes[leader].kill()
            killed = time.monotonic()
            await tell(ledger, EVENTS - EVENTS // 2)
            ids, orders = await reading
            print(f"recovered and drained after {time.monotonic() - killed:.1f} s")
            relaying.cancel()
            await asyncio.wait([relaying])
            await relay.close()
            announced = await outbox(ledger)
            assert ids == [event.id for _, event in announced]
            assert len(orders) == len(PEOPLE)
            assert all(order == sorted(order) for order in orders.values())
            alive = ",".join(node.url for name, node in nodes.items() if name != leader)
            kept = (await state_of(alive, events_stream(settings))).state
            assert (kept.messages, kept.last_seq) == (EVENTS, EVENTS), "none is there twice"


async def state_of(urls: str, stream: str) -> nats.js.api.StreamInfo:
    client = await nats.connect(urls.split(","), max_reconnect_attempts=-1)
    try:
        return await client.jetstream(timeout=PATIENCE).stream_info(stream)
    finally:
        await client.close()


async def until(work) -> None:
    """Until a cluster that has just begun can do it."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                return await work()
            except RicordoError:
                await asyncio.sleep(0.2)


async def read(urls: str, stream: str, wanted: int) -> tuple[list[str], dict[str, list[int]]]:
    """A subscriber that knows a second delivery by its id; without any of Ricordo's code."""
    client = await nats.connect(urls.split(","), max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js = client.jetstream(timeout=10)
    seen: dict[str, None] = {}
    orders: dict[str, list[int]] = defaultdict(list)
    async with asyncio.timeout(2 * PATIENCE):
        reader = await js.pull_subscribe("", durable="test", stream=stream)
        while len(seen) < wanted:
            try:
                messages = await reader.fetch(200, timeout=2)
            except (TimeoutError, nats.errors.Error):
                continue
            for message in messages:
                event = json.loads(message.data)
                if event["id"] not in seen:
                    seen[event["id"]] = None
                    orders[event["subject"]].append(int(event["sequence"]))
                await message.ack()
    await client.close()
    return list(seen), orders
