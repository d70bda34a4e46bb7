"""How fast events leave: through the outbox and the relay into a stream, and over a leader's death.

    python -m benchmarks.events [--quick] [--part relay|backlog|cluster|protocol] [--json FILE]

Servers are started here, on this machine, each with its own folder; streams are kept on disk. The
floor is nats-py alone: the same messages, as many in flight, ready made. Everything is durable in
the ledger before it is announced. The part `protocol` has a platform of agents served in its own
protocol instead.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import nats
from tests.support.nats_server import NatsServer, cluster

from benchmarks.protocol import protocol
from benchmarks.report import Report
from benchmarks.timing import percentile
from ricordo.adapters.nats import write_event
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import RicordoError
from ricordo.events import Event, UserMemoryStored
from ricordo.memory.relaying import AT_ONCE, Relay
from ricordo.model import Origin, UserScope, new_id
from ricordo.ports import Writing
from ricordo.settings import Settings
from ricordo.wire import people
from ricordo.wiring.messaging import events_stream, make_relay, prepare

PEOPLE = tuple(UserScope(tenant="bench", user=f"person {n}") for n in range(20))


def now() -> datetime:
    return datetime.now(UTC)


def event(number: int) -> Event:
    scope = PEOPLE[number % len(PEOPLE)]
    origin = Origin(
        at=now(), agent="coder", thread_id=f"t{number}", display_id="d", run_id=f"r{number}"
    )
    return UserMemoryStored(
        id=new_id("e"),
        at=now(),
        scope=scope,
        origins=(origin,),
        memory_id=new_id("m"),
        kind="fact",
    )


async def announce(ledger: SqliteLedger, count: int, *, at_once: int = 200) -> None:
    """So many events, many in one commit: what is measured is how they leave."""
    for first in range(0, count, at_once):
        scope = PEOPLE[first // at_once % len(PEOPLE)]

        async def work(tx: Writing, scope: UserScope = scope, first: int = first) -> None:
            for number in range(first, min(first + at_once, count)):
                made = event(number)
                await tx.emit(UserMemoryStored(**{**fields_of(made), "scope": scope}))

        await ledger.write(work, scope=scope)


def fields_of(made: Event) -> dict[str, object]:
    return {name: getattr(made, name) for name in type(made).__dataclass_fields__}


async def opened(ledger: SqliteLedger, settings: Settings) -> Relay:
    """A relay, with the streams that it needs; waits for a cluster that has just begun."""
    while True:
        try:
            await prepare(ledger, settings)
            break
        except RicordoError:
            await asyncio.sleep(0.2)
    relay = await make_relay(settings, ledger, clock=now)
    if relay is None:
        raise AssertionError("no server is set")
    return relay


async def floor(url: str, *, count: int) -> float:
    """Messages a second by nats-py alone, as many in flight."""
    client = await nats.connect(url)
    js = client.jetstream(timeout=30)
    await js.add_stream(name="floor", subjects=["floor.>"])
    made = event(0)
    payload = write_event(made, position=1, hashes=dict.fromkeys(people(made), "ab" * 32))
    began = time.perf_counter()
    for first in range(0, count, AT_ONCE):
        waiting = [
            await js.publish_async("floor.x", payload, headers={"Nats-Msg-Id": f"{first}-{n}"})
            for n in range(AT_ONCE)
        ]
        await asyncio.gather(*waiting)
    taken = time.perf_counter() - began
    await js.delete_stream("floor")
    await client.close()
    return count / taken


async def relaying(folder: Path, *, quick: bool, report: Report) -> None:
    """Events that wait already, and events as they happen."""
    count = 5_000 if quick else 20_000
    with NatsServer(folder / "relay") as server:
        least = await floor(server.url, count=count)
        report.add("floor: nats-py alone", "per_second", least, "1/s", n=count)
        settings = Settings(nats_url=server.url)
        async with SqliteLedger.open(folder / "relay.db", clock=now) as ledger:
            relay = await opened(ledger, settings)
            await announce(ledger, count)
            began = time.perf_counter()
            carried = await relay.drain()
            rate = carried / (time.perf_counter() - began)
            name = "ricordo: outbox to stream"
            report.add(name, "per_second", rate, "1/s", n=carried)
            report.add(name, "ratio_to_floor", rate / least, "x", n=carried)
            await happening(ledger, relay, server.url, count=200 if quick else 1_000, report=report)
            await relay.close()


async def happening(
    ledger: SqliteLedger, relay: Relay, url: str, *, count: int, report: Report
) -> None:
    """From the call that makes something true to a subscriber that hears of it, one at a time."""
    client = await nats.connect(url)
    heard = await client.subscribe("ricordo.bench.events.>")
    await client.flush()
    running = asyncio.create_task(relay.run())
    times: list[float] = []
    for number in range(count):
        made = event(number)
        began = time.perf_counter()
        await ledger.write(lambda tx, made=made: tx.emit(made), scope=made.scope)
        while json.loads((await heard.next_msg(timeout=60)).data)["id"] != made.id:
            pass
        times.append((time.perf_counter() - began) * 1_000)
    running.cancel()
    await asyncio.wait([running])
    await client.close()
    name = "ricordo: written to heard"
    report.add(name, "p50_ms", percentile(times, 50), "ms", n=count)
    report.add(name, "p95_ms", percentile(times, 95), "ms", n=count)


async def backlog(folder: Path, *, quick: bool, report: Report) -> None:
    """What piled up while the server was away."""
    count = 10_000 if quick else 100_000
    async with SqliteLedger.open(folder / "backlog.db", clock=now) as ledger:
        await announce(ledger, count)
        with NatsServer(folder / "backlog") as server:
            relay = await opened(ledger, Settings(nats_url=server.url))
            began = time.perf_counter()
            carried = await relay.drain()
            taken = time.perf_counter() - began
            await relay.close()
    name = f"ricordo: backlog of {count:,}"
    report.add(name, "drained_s", taken, "s", n=carried)
    report.add(name, "per_second", carried / taken, "1/s", n=carried)


async def killed(folder: Path, *, quick: bool, report: Report) -> None:
    """Three nodes, every event on all of them; the stream's leader is killed in the middle."""
    count = 2_000 if quick else 10_000
    with cluster(folder) as nodes:
        urls = [node.url for node in nodes.values()]
        settings = Settings(nats_url=",".join(urls), nats_replicas=3, nats_timeout=10)
        async with SqliteLedger.open(folder / "cluster.db", clock=now) as ledger:
            relay = await opened(ledger, settings)
            seen: list[tuple[float, str, str, int]] = []
            reading = asyncio.create_task(read(urls, events_stream(settings), count, seen))
            running = asyncio.create_task(relay.run())
            await announce(ledger, count)
            await reached(lambda: len(seen) >= count // 3)
            client = await nats.connect(urls)
            info = await client.jetstream(timeout=30).stream_info(events_stream(settings))
            await client.close()
            if info.cluster is None or info.cluster.leader is None:
                raise AssertionError("the stream has no leader")
            nodes[info.cluster.leader].kill()
            at, before = time.perf_counter(), len(seen)
            again = await reading
            del nodes[info.cluster.leader]
            urls = [node.url for node in nodes.values()]
            client = await nats.connect(urls)
            info = await client.jetstream(timeout=30).stream_info(events_stream(settings))
            await client.close()
            running.cancel()
            await asyncio.wait([running])
            await relay.close()
            announced: list[str] = []
            after = 0
            while more := await ledger.announced(after=after, limit=1_000):
                announced += [each.id for _, each in more]
                after = more[-1][0]
    ids = [each[1] for each in seen]
    report.add("cluster: leader killed", "lost", len(set(announced) - set(ids)), "events", n=count)
    twice = info.state.messages - len(set(ids))
    report.add("cluster: leader killed", "twice", twice, "events", n=count)
    report.add("cluster: leader killed", "delivered_again", again, "events", n=count)
    report.add("cluster: leader killed", "out_of_order", disorder(seen), "events", n=count)
    pauses = [b[0] - a[0] for a, b in zip(seen[before - 1 :], seen[before:], strict=False)]
    report.add("cluster: leader killed", "longest_pause_s", max(pauses), "s", n=1)
    report.add("cluster: leader killed", "drained_s", seen[-1][0] - at, "s", n=count - before)
    rate = before / (seen[before - 1][0] - seen[0][0])
    report.add("cluster: before that", "per_second", rate, "1/s", n=before)


def disorder(seen: Sequence[tuple[float, str, str, int]]) -> int:
    """Events of a scope that came after a later one of it."""
    newest: dict[str, int] = {}
    found = 0
    for _, _, scope, place in seen:
        found += place < newest.get(scope, 0)
        newest[scope] = max(place, newest.get(scope, 0))
    return found


async def read(
    urls: list[str], stream: str, wanted: int, seen: list[tuple[float, str, str, int]]
) -> int:
    """A subscriber that knows a second delivery by its id; how many there were."""
    client = await nats.connect(urls, max_reconnect_attempts=-1, reconnect_time_wait=0.2)
    js = client.jetstream(timeout=10)
    reader = await js.pull_subscribe("", durable="bench", stream=stream)
    known: set[str] = set()
    again = 0
    while len(known) < wanted:
        try:
            messages = await reader.fetch(200, timeout=1)
        except (TimeoutError, nats.errors.Error):
            continue
        for message in messages:
            found = json.loads(message.data)
            again += found["id"] in known
            if found["id"] not in known:
                known.add(found["id"])
                place = int(found["sequence"])
                seen.append((time.perf_counter(), found["id"], found["subject"], place))
            await message.ack()
    await client.close()
    return again


async def reached(when: Callable[[], bool]) -> None:
    while not when():
        await asyncio.sleep(0.01)


PARTS: dict[str, Callable[..., Awaitable[None]]] = {
    "relay": relaying,
    "backlog": backlog,
    "cluster": killed,
    "protocol": protocol,
}


async def main() -> None:
    """Every part on fresh servers and files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer events")
    parser.add_argument("--part", choices=PARTS, help="only this")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    report = Report("events")
    for name, part in PARTS.items():
        if asked.part in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                await part(Path(folder), quick=asked.quick, report=report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
