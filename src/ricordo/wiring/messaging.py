"""NATS from settings: the relay of events, signs for workers, and the streams that they need."""

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.errors import Invalid
from ricordo.memory.measuring import Measures
from ricordo.memory.relaying import Relay
from ricordo.ports import Count, Ledger
from ricordo.settings import Settings
from ricordo.wire import consumer_of, tenant_events, work_pattern

if TYPE_CHECKING:
    from ricordo.adapters.nats import (
        Change,
        DeadLetters,
        NatsConnection,
        NatsSigns,
        StreamPlan,
    )

_A_DAY = 86_400.0

_ACK_WAIT = 30.0
"""Seconds after which the sign of a worker that says nothing goes to another one."""


def events_stream(settings: Settings) -> str:
    """The name of the stream of all events."""
    return f"{settings.nats_prefix}_events"


def dead_stream(settings: Settings) -> str:
    """The name of the stream of what was refused."""
    return f"{settings.nats_prefix}_dead"


def work_stream(settings: Settings) -> str:
    """The name of the stream of signs that turns wait."""
    return f"{settings.nats_prefix}_work"


async def ledger_mark(ledger: Ledger) -> str:
    """By what a stream knows the ledger that it belongs to; tells nothing of it."""
    [sealed] = await ledger.seal(["nats"])
    return sealed[:20]


def make_connection(settings: Settings, *, name: str = "ricordo") -> "NatsConnection":
    """A connection as the settings say; nothing is opened yet.

    Raises:
        Invalid: no address is set. ImportError: the extra ``nats`` is not installed.
    """
    from ricordo.adapters.nats import Access, NatsConnection

    if settings.nats_url is None:
        raise Invalid("no NATS server is set; set nats_url")
    password, token = settings.nats_password, settings.nats_token
    access = Access(
        servers=tuple(address.strip() for address in settings.nats_url.split(",")),
        user=settings.nats_user,
        password=password.get_secret_value() if password else None,
        token=token.get_secret_value() if token else None,
        nkey=settings.nats_nkey,
        credentials=settings.nats_credentials,
        authority=settings.nats_ca,
        certificate=settings.nats_certificate,
        certificate_key=settings.nats_certificate_key,
        patience=settings.nats_timeout,
    )
    return NatsConnection(access, name=name)


async def make_relay(
    settings: Settings, ledger: Ledger, *, clock: Callable[[], datetime]
) -> Relay | None:
    """The relay to the server in the settings; None without one. Nothing is opened yet."""
    if settings.nats_url is None:
        return None
    from ricordo.adapters.nats import NatsEvents

    stream = NatsEvents(
        make_connection(settings, name="ricordo relay"),
        stream=events_stream(settings),
        prefix=settings.nats_prefix,
        ledger=await ledger_mark(ledger),
        subject_of=lambda person: ledger.subject(scope=person),
    )
    return Relay(ledger, stream, holder=f"relay-{secrets.token_hex(8)}", clock=clock)


async def make_signs(settings: Settings, ledger: Ledger, measures: Measures) -> "NatsSigns | None":
    """Signs over the server in the settings; None without one. Nothing is opened yet."""
    if settings.nats_url is None:
        return None
    from ricordo.adapters.nats import NatsSigns

    connection = make_connection(settings, name="ricordo signs")
    return NatsSigns(
        connection,
        stream=work_stream(settings),
        prefix=settings.nats_prefix,
        ledger=await ledger_mark(ledger),
        seal=ledger.seal,
        subject_of=lambda person: ledger.subject(scope=person),
        dead=make_dead_letters(settings, connection, measures),
    )


def make_dead_letters(
    settings: Settings, connection: "NatsConnection", measures: Measures
) -> "DeadLetters":
    """Where messages go that are no sound ones; each is counted."""
    from ricordo.adapters.nats import DeadLetters

    return DeadLetters(
        connection,
        prefix=settings.nats_prefix,
        told=lambda error: measures.add(Count.UNSOUND, by=error),
    )


def plans(
    settings: Settings, *, consumers: Sequence[tuple[str, str | None]] = ()
) -> list["StreamPlan"]:
    """The streams that Ricordo needs.

    Args:
        consumers: of events: a name each, and the tenant whose events it gets, or None for all.
    """
    from ricordo.adapters.nats import WORKERS, ConsumerPlan, StreamPlan

    size = settings.nats_max_mb * 1_000_000 or -1
    made = [
        ConsumerPlan(
            name=consumer_of(tenant, name),
            subjects=()
            if tenant is None
            else (tenant_events(tenant, prefix=settings.nats_prefix),),
            description="A subscriber of Ricordo's events.",
        )
        for name, tenant in consumers
    ]
    events = StreamPlan(
        name=events_stream(settings),
        subjects=(f"{settings.nats_prefix}.*.events.>",),
        max_age=settings.nats_keep_days * 86_400,
        max_bytes=size,
        replicas=settings.nats_replicas,
        window=settings.nats_dedup_seconds,
        description="What happened in Ricordo's memory: ids and origins, no texts.",
        consumers=tuple(made),
    )
    dead = StreamPlan(
        name=dead_stream(settings),
        subjects=(f"{settings.nats_prefix}.*.dead.>",),
        max_age=settings.nats_keep_days * 86_400,
        max_bytes=size,
        replicas=settings.nats_replicas,
        window=settings.nats_dedup_seconds,
        description="Messages that were refused, with the reason.",
    )
    work = StreamPlan(
        name=work_stream(settings),
        subjects=(work_pattern(prefix=settings.nats_prefix),),
        max_age=min(settings.nats_keep_days * _A_DAY, _A_DAY),  # the queue is looked at anyway
        max_bytes=size,
        replicas=settings.nats_replicas,
        window=settings.nats_dedup_seconds,
        work=True,
        description="Signs that turns wait in the ledger's queue; no texts.",
        consumers=(
            ConsumerPlan(name=WORKERS, ack_wait=_ACK_WAIT, description="Ricordo's workers."),
        ),
    )
    return [events, dead, work]


async def prepare(
    ledger: Ledger,
    settings: Settings,
    /,
    *,
    consumers: Sequence[tuple[str, str | None]] = (),
    dry_run: bool = False,
) -> "list[Change]":
    """Make the streams and consumers at the server in the settings, or bring them up to date.

    Raises: as `ricordo.adapters.nats.carry_out`.
    """
    from ricordo.adapters.nats import carry_out

    connection = make_connection(settings, name="ricordo events init")
    wanted = plans(settings, consumers=consumers)
    try:
        mark = await ledger_mark(ledger)
        return await carry_out(wanted, connection, ledger=mark, dry_run=dry_run)
    finally:
        await connection.close()
