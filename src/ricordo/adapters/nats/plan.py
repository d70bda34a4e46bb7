"""Streams and consumers as they shall be, made and brought up to date."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)
from nats.js.errors import NotFoundError

from ricordo.adapters.nats.connection import NatsConnection
from ricordo.errors import Conflict, Invalid

LEDGER = "ricordo.ledger"
"""A stream's own note of the ledger that it belongs to."""

OLDEST = (2, 10)
"""The oldest server that keeps such notes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerPlan:
    """A durable consumer, from which messages are pulled.

    Args:
        name: letters, digits, ``_``, ``-`` and ``=``.
        subjects: which messages of the stream it gets; none means all.
        ack_wait: seconds after which a message that was not acknowledged comes again.
        deliveries: after as many a message comes no more; -1 is without end.
        in_flight: most messages that are out unacknowledged.
    """

    name: str
    subjects: tuple[str, ...] = ()
    ack_wait: float = 30.0
    deliveries: int = -1
    in_flight: int = 1_000
    description: str = ""

    def config(self) -> ConsumerConfig:
        """As JetStream wants it."""
        one = len(self.subjects) == 1
        return ConsumerConfig(
            durable_name=self.name,
            name=self.name,
            description=self.description,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self.ack_wait,
            max_deliver=self.deliveries,
            max_ack_pending=self.in_flight,
            filter_subject=self.subjects[0] if one else None,
            filter_subjects=None if one or not self.subjects else list(self.subjects),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """A stream on disk.

    Args:
        max_age: seconds for which a message is kept.
        max_bytes: -1 is no limit.
        window: seconds for which a message id is known.
        work: whether a message goes when it is acknowledged, as from a queue.
        keep: what happens at a limit: the oldest goes, or (True) the newest is refused.
    """

    name: str
    subjects: tuple[str, ...]
    max_age: float
    max_bytes: int = -1
    replicas: int = 1
    window: float = 120.0
    work: bool = False
    keep: bool = False
    description: str = ""
    consumers: tuple[ConsumerPlan, ...] = field(default=())

    def config(self, ledger: str) -> StreamConfig:
        """As JetStream wants it."""
        return StreamConfig(
            name=self.name,
            description=self.description,
            subjects=list(self.subjects),
            retention=RetentionPolicy.WORK_QUEUE if self.work else RetentionPolicy.LIMITS,
            storage=StorageType.FILE,
            discard=DiscardPolicy.NEW if self.keep else DiscardPolicy.OLD,
            max_age=self.max_age,
            max_bytes=self.max_bytes,
            num_replicas=self.replicas,
            duplicate_window=min(self.window, self.max_age),
            metadata={LEDGER: ledger},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was done, or would be, to a stream or consumer.

    Args:
        sort: ``"stream"`` or ``"consumer"``.
        act: ``"create"``, ``"update"`` or ``"keep"``.
        fields: names of what differs, of an update.
    """

    sort: str
    name: str
    act: str
    fields: tuple[str, ...] = ()


async def carry_out(
    plans: Sequence[StreamPlan], connection: NatsConnection, *, ledger: str, dry_run: bool
) -> list[Change]:
    """Make what is missing and mend what differs; what is as planned is left alone.

    Raises:
        Conflict: a stream belongs to another ledger, or to nobody that Ricordo knows; or a consumer
            is there that gets other messages, and may be somebody else's.
        Invalid: the server is too old, has no JetStream, or too few nodes. Denied: it refuses the
            credentials. Unavailable: it does not answer.
    """
    await _check_server(connection)
    js: Any = await connection.jetstream()  # its own types leave parameters open
    changes: list[Change] = []
    for plan in plans:
        async with connection.asking():
            stream = await _stream(js, plan, ledger=ledger, dry_run=dry_run)
        changes.append(stream)
        absent = dry_run and stream.act == "create"
        for consumer in plan.consumers:
            async with connection.asking():
                changes.append(await _consumer(js, plan, consumer, dry_run=dry_run, absent=absent))
    return changes


async def _check_server(connection: NatsConnection) -> None:
    client = await connection.client()
    version = client.connected_server_version
    if (version.major, version.minor) < OLDEST:
        raise Invalid(
            f"the NATS server at {connection.access.address} is of version {version.major}."
            f"{version.minor}; streams need {OLDEST[0]}.{OLDEST[1]} or newer"
        )
    js = await connection.jetstream()
    async with connection.asking():
        await js.account_info()


async def _stream(js: Any, plan: StreamPlan, *, ledger: str, dry_run: bool) -> Change:
    wanted = plan.config(ledger)
    try:
        found = (await js.stream_info(plan.name)).config
    except NotFoundError:
        if not dry_run:
            await js.add_stream(wanted)
        return Change(sort="stream", name=plan.name, act="create")
    check_owner(plan.name, found.metadata, ledger=ledger)
    fields = _differing(wanted, found)
    if fields and not dry_run:
        # What an operator has set besides stays.
        changed = {name: getattr(wanted, name) for name in fields}
        await js.update_stream(found.evolve(**changed))
    return Change(sort="stream", name=plan.name, act="update" if fields else "keep", fields=fields)


async def _consumer(
    js: Any, plan: StreamPlan, wanted: ConsumerPlan, *, dry_run: bool, absent: bool
) -> Change:
    config = wanted.config()
    name = f"{plan.name}/{wanted.name}"
    try:
        found = None if absent else (await js.consumer_info(plan.name, wanted.name)).config
    except NotFoundError:
        found = None
    fields = () if found is None else _differing(config, found)
    if _FILTERS & set(fields):
        # Whoever may read from it would read what is not theirs.
        raise Conflict(
            f"the consumer {name} gets other messages than planned; remove it, if it is nobody's, "
            "or choose another name"
        )
    if not dry_run and (found is None or fields):
        await js.add_consumer(plan.name, config)
    act = "create" if found is None else "update" if fields else "keep"
    return Change(sort="consumer", name=name, act=act, fields=fields)


def check_owner(stream: str, metadata: Mapping[str, str] | None, *, ledger: str) -> None:
    """Raise `Conflict` unless a stream is this ledger's."""
    owner = (metadata or {}).get(LEDGER)
    if owner != ledger:
        what = "another memory" if owner else "nobody that Ricordo knows"
        raise Conflict(f"the stream {stream} belongs to {what}; set another nats_prefix")


_STREAM = (
    "description",
    "subjects",
    "retention",
    "storage",
    "discard",
    "max_age",
    "max_bytes",
    "num_replicas",
    "duplicate_window",
)
_CONSUMER = (
    "description",
    "ack_policy",
    "ack_wait",
    "max_deliver",
    "max_ack_pending",
    "filter_subject",
    "filter_subjects",
)

_FILTERS = frozenset({"filter_subject", "filter_subjects"})


def _differing(wanted: StreamConfig | ConsumerConfig, found: object) -> tuple[str, ...]:
    """Names of the fields that are not as planned."""
    names = _STREAM if isinstance(wanted, StreamConfig) else _CONSUMER
    return tuple(n for n in names if _value(wanted, n) != _value(found, n))


def _value(config: object, name: str) -> Any:
    value = getattr(config, name)
    if isinstance(value, float):
        return round(value, 6)
    return value or None
