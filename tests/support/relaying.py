"""Events to relay, and what a stream holds of them, read without Ricordo's own code."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import nats

from ricordo.adapters.nats import Access, NatsConnection, NatsEvents
from ricordo.events import Event, UserMemoryStored
from ricordo.memory.relaying import Relay
from ricordo.model import Scope, UserScope, new_id
from ricordo.ports import Ledger, Writing
from ricordo.settings import Settings
from ricordo.wiring.messaging import events_stream, ledger_mark, prepare

PATIENCE = 60.0
"""Seconds for what surely happens, on however slow a machine."""

PEOPLE = tuple(UserScope(tenant="acme", user=f"person {n}") for n in range(4))


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Seen:
    """One message of a stream."""

    seq: int
    subject: str
    id: str
    data: dict[str, Any]


async def tell(
    ledger: Ledger, count: int, *, scopes: Sequence[Scope] = PEOPLE, at_once: int = 50
) -> None:
    """Announce so many events, of these people in turn."""
    for first in range(0, count, at_once):
        scope = scopes[first // at_once % len(scopes)]

        async def work(tx: Writing, scope: Any = scope, first: int = first) -> None:
            for number in range(first, min(first + at_once, count)):
                await tx.emit(stored(scope, number))

        await ledger.write(work, scope=scope)


def stored(scope: UserScope, number: int) -> Event:
    return UserMemoryStored(
        id=new_id("e"), at=now(), scope=scope, memory_id=f"m_{number}", kind="fact"
    )


def settings_for(url: str, *, prefix: str = "ricordo", replicas: int = 1) -> Settings:
    return Settings(nats_url=url, nats_prefix=prefix, nats_replicas=replicas, nats_timeout=10)


async def make_streams(ledger: Ledger, settings: Settings) -> None:
    await prepare(ledger, settings)


async def make_stream(ledger: Ledger, settings: Settings) -> NatsEvents:
    """The stream of events, as the wiring makes it."""
    assert settings.nats_url is not None
    access = Access(servers=tuple(settings.nats_url.split(",")), patience=settings.nats_timeout)
    return NatsEvents(
        NatsConnection(access),
        stream=events_stream(settings),
        prefix=settings.nats_prefix,
        ledger=await ledger_mark(ledger),
        subject_of=lambda person: ledger.subject(scope=person),
    )


async def make_relay(
    ledger: Ledger,
    settings: Settings,
    *,
    holder: str = "one",
    clock: Callable[[], datetime] = now,
    lease: float = 5.0,
) -> Relay:
    stream = await make_stream(ledger, settings)
    return Relay(ledger, stream, holder=holder, clock=clock, lease=lease, poll=0.02)


async def held(url: str, stream: str) -> list[Seen]:
    """Everything that a stream holds, oldest first."""
    client = await nats.connect(url.split(","), max_reconnect_attempts=5)
    try:
        js = client.jetstream(timeout=10)
        left = (await js.stream_info(stream)).state.messages
        reader = await js.pull_subscribe("", stream=stream)
        found: list[Seen] = []
        while left:
            for message in await reader.fetch(min(left, 500), timeout=10):
                left -= 1
                await message.ack()  # or no more come after a thousand
                found.append(
                    Seen(
                        message.metadata.sequence.stream,
                        message.subject,
                        (message.headers or {}).get("Nats-Msg-Id", ""),
                        json.loads(message.data or b"{}"),
                    )
                )
        return found
    finally:
        await client.close()


async def outbox(ledger: Ledger) -> list[tuple[int, Event]]:
    """Everything that was announced, in order."""
    found: list[tuple[int, Event]] = []
    while more := await ledger.announced(after=found[-1][0] if found else 0, limit=1_000):
        found += more
    return found


async def relayed(ledger: Ledger, *, upto: int | None = None) -> None:
    """Until everything was relayed."""
    last = await ledger.latest() if upto is None else upto
    async with asyncio.timeout(PATIENCE):
        while (await ledger.position("relay:nats") or 0) < last:
            await asyncio.sleep(0.02)


async def check_whole(ledger: Ledger, settings: Settings, *, partly: bool = False) -> list[Seen]:
    """The stream holds what was announced: all of it, once each, in order.

    Args:
        partly: its end may be missing still.
    """
    assert settings.nats_url is not None
    found = await held(settings.nats_url, events_stream(settings))
    wanted = [(event.id, position) for position, event in await outbox(ledger)]
    if partly:
        wanted = wanted[: len(found)]
    assert [(seen.id, int(seen.data["sequence"])) for seen in found] == wanted
    return found
