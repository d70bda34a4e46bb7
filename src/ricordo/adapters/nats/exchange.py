"""A platform's messages in its own JetStream streams: pulled by durable consumers of ours."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js import errors as stream
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from ricordo.adapters.nats.connection import NatsConnection
from ricordo.adapters.nats.pulling import Pull, headers_of
from ricordo.adapters.nats.requests import bearer
from ricordo.errors import NotFound, RicordoError, Unavailable
from ricordo.ports import Delivery
from ricordo.wire import AUTHORIZATION, write_dead

_NAMES = "$JS.API.STREAM.NAMES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which messages, and how they are taken.

    Args:
        consumer: name of the durable consumer, of letters, digits, ``_`` and ``-``.
        subjects: patterns of as many tokens as the subjects have; ``*`` is any token.
        in_order: one message of a stream is out at a time.
        since: where no consumer was there before, what came earlier is not asked for.
        ack_wait: seconds after which a message comes again that nobody said a word about.
    """

    consumer: str
    subjects: tuple[str, ...]
    in_order: bool
    since: datetime
    ack_wait: float = 20.0


class NatsExchange:
    """Implements `ricordo.ports.Exchange`.

    Args:
        connection: closed with it.
        dead: the stream of what is refused, and the subject there.
    """

    def __init__(
        self, connection: NatsConnection, *, wanted: Wanted, dead: tuple[str, str]
    ) -> None:
        self._connection = connection
        self._wanted = wanted
        self._dead_stream, self._dead_subject = dead
        self._making = asyncio.Lock()
        self._made: dict[str, Client] = {}
        self._kept: dict[str, list[str]] = {}
        self._free: dict[str, list[Pull]] = {}

    async def open(self) -> None:
        """See `ricordo.ports.Exchange`."""
        js = await self._connection.jetstream()
        async with self._connection.asking():
            await js.stream_info(self._dead_stream)

    async def sources(self) -> Sequence[str]:
        """See `ricordo.ports.Exchange`."""
        names: dict[str, None] = {}
        for subject in self._wanted.subjects:
            names |= dict.fromkeys(await self._streams(subject))
        for source in self._made.keys() & names.keys():
            if await self._changed(source):
                self._made.pop(source, None)
        return list(names)

    async def _changed(self, source: str) -> bool:
        """Whether the platform keeps other subjects there than when the consumer was made."""
        js = await self._connection.jetstream()
        try:
            async with self._connection.asking():
                config = (await js.stream_info(source)).config
        except NotFound:
            return True
        return self._subjects(config.subjects or []) != self._kept.get(source)

    async def take(self, source: str, *, patience: float) -> Delivery | None:
        """See `ricordo.ports.Exchange`."""
        client = await self._ready(source)
        free = self._free.setdefault(source, [])
        pull = free.pop() if free else Pull(client, source, self._wanted.consumer)
        try:
            async with self._connection.in_words():
                message = await pull.next(patience)
        except RicordoError:
            self._made.pop(source, None)
            raise
        if pull.client is client:
            free.append(pull)
        return None if message is None else _delivery(message)

    async def settle(self, delivery: Delivery) -> None:
        """See `ricordo.ports.Exchange`."""
        await self._say(delivery, b"+ACK")

    async def postpone(self, delivery: Delivery, *, seconds: float) -> None:
        """See `ricordo.ports.Exchange`."""
        await self._say(delivery, b"-NAK " + json.dumps({"delay": int(seconds * 1e9)}).encode())

    async def working(self, delivery: Delivery) -> None:
        """See `ricordo.ports.Exchange`."""
        await self._say(delivery, b"+WPI")

    async def refuse(self, delivery: Delivery, *, error: RicordoError) -> None:
        """See `ricordo.ports.Exchange`."""
        letter = write_dead(
            delivery.payload,
            subject=delivery.subject,
            error=error,
            at=datetime.now(UTC),
            stream=delivery.source,
            sequence=delivery.sequence,
        )
        mark = f"{delivery.source}/{delivery.sequence}/{self._wanted.consumer}"
        await self._write(letter, mark=mark)
        await self._say(delivery, b"+TERM")

    async def bury(self, subject: str, payload: bytes, *, error: RicordoError) -> None:
        """See `ricordo.ports.Exchange`."""
        letter = write_dead(payload, subject=subject, error=error, at=datetime.now(UTC))
        await self._write(letter, mark=hashlib.sha256(subject.encode()).hexdigest())

    async def _write(self, letter: bytes, *, mark: str) -> None:
        """A letter, once within the stream's window for each mark."""
        headers = {"Nats-Msg-Id": mark, "Content-Type": "application/json"}
        js = await self._connection.jetstream()
        async with self._connection.asking():
            await js.publish(self._dead_subject, letter, headers=headers, stream=self._dead_stream)

    async def first(self, source: str, *, subject: str) -> bytes | None:
        """See `ricordo.ports.Exchange`."""
        js = await self._connection.jetstream()
        async with self._connection.asking():
            try:
                found = await js.get_msg(source, seq=1, subject=subject, next=True)
            except stream.NotFoundError:
                return None
        return found.data or b""

    async def publish(self, subject: str, payload: bytes, *, message_id: str) -> bool:
        """See `ricordo.ports.Exchange`."""
        js = await self._connection.jetstream()
        try:
            async with self._connection.asking():
                await js.publish(subject, payload, headers={"Nats-Msg-Id": message_id})
        except Unavailable:
            # Its leader may be changing, or there is no such stream at all.
            if await self._streams(subject):
                raise
            return False
        return True

    async def close(self) -> None:
        """See `ricordo.ports.Exchange`."""
        await self._connection.close()

    async def _say(self, delivery: Delivery, word: bytes) -> None:
        client = await self._connection.client()
        async with self._connection.asking():
            await client.publish(delivery.receipt, word)

    async def _streams(self, subject: str) -> list[str]:
        """Names of the streams that keep messages of that subject or pattern."""
        client = await self._connection.client()
        names: list[str] = []
        while True:
            question = json.dumps({"subject": subject, "offset": len(names)}).encode()
            async with self._connection.asking():
                answer = await client.request(
                    _NAMES, question, timeout=self._connection.access.patience
                )
            page = cast("dict[str, Any]", json.loads(answer.data))
            if "error" in page:
                raise Unavailable(f"NATS at {self._connection.access.address} lists no streams")
            found = cast("list[str]", page.get("streams") or [])
            names += found
            if not found or len(names) >= page.get("total", 0):
                return names

    async def _ready(self, source: str) -> Client:
        """The client of now; a consumer is there."""
        async with self._making:
            client = await self._connection.client()
            if self._made.get(source) is not client:
                js = await self._connection.jetstream()
                async with self._connection.asking():
                    await self._ensure(js, source)
                self._made[source] = client
                self._free.pop(source, None)
        return client

    async def _ensure(self, js: JetStreamContext, source: str) -> None:
        """Make the durable consumer of a stream, where it is not there as it shall be."""
        subjects = self._subjects((await js.stream_info(source)).config.subjects or [])
        if not subjects:
            raise NotFound(f"the stream {source} keeps no such messages any more")
        self._kept[source] = subjects
        wanted = self._wanted
        found = await self._found(js, source)
        if found is not None:
            has = set(found.config.filter_subjects or [found.config.filter_subject])
            if has != set(subjects):
                one, many = _filters(subjects)
                changed = found.config.evolve(filter_subject=one, filter_subjects=many)
                await cast("Any", js).add_consumer(source, changed)
            return
        one, many = _filters(subjects)
        config = ConsumerConfig(
            durable_name=wanted.consumer,
            name=wanted.consumer,
            description="Ricordo serves the agents of this stream.",
            deliver_policy=DeliverPolicy.BY_START_TIME,
            opt_start_time=await self._since(js),
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=wanted.ack_wait,
            max_deliver=-1,
            max_ack_pending=1 if wanted.in_order else 1_000,
            filter_subject=one,
            filter_subjects=many,
        )
        try:
            await cast("Any", js).add_consumer(source, config)
        except stream.APIError:
            if await self._found(js, source) is None:  # another process may have made it just now
                raise

    async def _since(self, js: JetStreamContext) -> datetime:
        """Since when there has been a consumer of ours, on whatever stream: what a new stream got
        while nobody looked is not lost."""
        found = [await self._found(js, source) for source in await self.sources()]
        begun = [info.config.opt_start_time or info.created for info in found if info is not None]
        return min([_time(when) for when in begun], default=self._wanted.since)

    async def _found(self, js: JetStreamContext, source: str) -> Any:
        try:
            return await js.consumer_info(source, self._wanted.consumer)
        except stream.NotFoundError:
            return None

    def _subjects(self, kept: Sequence[str]) -> list[str]:
        """What is wanted of a stream's subjects: a consumer may ask for nothing else."""
        met = (meet(wanted, each) for wanted in self._wanted.subjects for each in kept)
        return sorted({subject for subject in met if subject is not None})


def meet(wanted: str, kept: str) -> str | None:
    """The pattern of what fits both; None where nothing does. Only `kept` may end in ``>``."""
    theirs = kept.split(".")
    ours = wanted.split(".")
    if theirs[-1] == ">":
        if len(ours) < len(theirs):
            return None
        theirs = [*theirs[:-1], *["*"] * (len(ours) - len(theirs) + 1)]
    if len(ours) != len(theirs):
        return None
    both: list[str] = []
    for mine, its in zip(ours, theirs, strict=True):
        if "*" not in (mine, its) and mine != its:
            return None
        both.append(its if mine == "*" else mine)
    return ".".join(both)


def _filters(subjects: Sequence[str]) -> tuple[str | None, list[str] | None]:
    return (subjects[0], None) if len(subjects) == 1 else (None, list(subjects))


def _time(when: object) -> datetime:
    return when if isinstance(when, datetime) else datetime.fromisoformat(str(when))


def _delivery(message: Msg) -> Delivery:
    place = message.metadata
    headers = {name.lower(): value for name, value in headers_of(message).items()}
    return Delivery(
        subject=message.subject,
        payload=message.data,
        token=bearer(headers.get(AUTHORIZATION.lower())),
        source=place.stream,
        sequence=place.sequence.stream,
        at=place.timestamp,
        attempts=place.num_delivered,
        receipt=message.reply,
    )
