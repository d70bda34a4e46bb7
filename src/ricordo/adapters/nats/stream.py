"""The stream of all events of one ledger."""

import asyncio
import logging
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from nats.js.api import RawStreamMsg
from nats.js.errors import NotFoundError

from ricordo.adapters.nats.appending import OUT_OF_ORDER, Appender, Letter
from ricordo.adapters.nats.connection import NatsConnection
from ricordo.adapters.nats.envelope import STRUCTURED, write_event
from ricordo.adapters.nats.faults import told
from ricordo.adapters.nats.plan import check_owner
from ricordo.errors import DeadlineExceeded, Invalid, Unavailable
from ricordo.events import Event, UserMemoryErased
from ricordo.model import UserScope
from ricordo.ports import Reached
from ricordo.wire import (
    LEAST,
    ROOM,
    event_subject,
    people,
    person_events,
    room_in,
    subject_key,
)

POSITION = "Ricordo-Position"
"""The header that holds an event's position in the outbox."""

_log = logging.getLogger(__name__)

_POSITION = re.compile(r"[0-9]{1,19}")

_KNOWN_PEOPLE = 10_000

_LOOK_BACK = 100
"""Messages that are looked at together, where the newest was not the relay's."""

_SILENCE = 3.0
"""Seconds without an answer after which one begins anew, at another node. Beginning anew does no
harm, so this is short: a stream's leader may have changed."""


class NatsEvents:
    """Implements `ricordo.ports.EventStream` on a JetStream stream.

    Args:
        connection: closed with it.
        stream: its name.
        prefix: first token of every subject.
        ledger: the mark of the ledger whose events these are; a stream has one.
        subject_of: the keyed hash of a person.
    """

    def __init__(
        self,
        connection: NatsConnection,
        *,
        stream: str,
        prefix: str,
        ledger: str,
        subject_of: Callable[[UserScope], Awaitable[str]],
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._prefix = prefix
        self._ledger = ledger
        self._subject_of = subject_of
        self._hashes: OrderedDict[UserScope, str] = OrderedDict()
        self._appender: Appender | None = None
        self._last: int | None = None
        self._room = ROOM
        self._silence = min(connection.access.patience, _SILENCE)

    async def open(self) -> Reached | None:
        """See `ricordo.ports.EventStream`."""
        self._last = None
        client = await self._connection.client()
        if self._appender is None or self._appender.client is not client:
            self._appender = Appender(client, stream=self._stream)
        if client.max_payload < LEAST:
            raise Invalid(
                f"NATS at {self._connection.access.address} takes messages of "
                f"{client.max_payload:,} bytes; events need {LEAST:,}: raise its max_payload"
            )
        self._room = room_in(client.max_payload)
        try:
            return await self._opened()
        except DeadlineExceeded:
            await self._connection.drop()
            raise

    async def _opened(self) -> Reached | None:
        js = await self._connection.jetstream()
        async with self._connection.asking(self._silence):
            info = await js.stream_info(self._stream)
        check_owner(self._stream, info.config.metadata, ledger=self._ledger)
        last = info.state.last_seq
        found = await self._newest(last, first=max(info.state.first_seq, 1))
        self._last = last
        return found

    async def append(self, events: Sequence[tuple[int, Event]]) -> int:
        """See `ricordo.ports.EventStream`."""
        appender, last = self._appender, self._last
        if appender is None or last is None:
            raise Unavailable("the stream was not opened since it was last in doubt")
        self._last = None  # whatever happens now, until it is known
        async with self._connection.in_words():
            ended = await appender.append(
                self._letters(events), size=len(events), after=last, patience=self._silence
            )
        self._last = ended.last
        if ended.count == 0 and ended.error is not None and not _out_of_order(ended.error):
            kind, reason = told(ended.error)
            raise kind(f"NATS at {self._connection.access.address}: {reason}") from ended.error
        if ended.error is None and ended.count < len(events):
            # Another node may answer; and nothing of this attempt is sent any more.
            await self._connection.drop()
            if ended.count == 0:
                raise self._connection.silent(f"the stream {self._stream} did not answer")
        return ended.count

    async def forget(self, event: UserMemoryErased) -> None:
        """See `ricordo.ports.EventStream`."""
        pattern = person_events(event.scope.tenant, event.subject, prefix=self._prefix)
        js = await self._connection.jetstream()
        async with self._connection.asking():
            try:
                told_at = await js.get_last_msg(self._stream, self._subject(event, event.subject))
            except NotFoundError:
                return  # older than what the stream keeps, and so is all before it
            # The announcement itself stays, and so does what follows it.
            await js.purge_stream(self._stream, seq=told_at.seq, subject=pattern)

    async def close(self) -> None:
        """See `ricordo.ports.EventStream`."""
        await self._connection.close()

    async def _newest(self, last: int, *, first: int) -> Reached | None:
        """The newest message that the relay wrote.

        Others can land on its subjects: who may pull from a consumer chooses where the server sends
        what it has to say. They are passed over; subscribers see that they are no events.
        """
        seq, some = last, 1
        foreign = 0
        while seq >= first:
            places = range(seq, max(seq - some, first - 1), -1)
            for place, message in zip(places, await self._messages(places), strict=True):
                found = None if message is None else _reached(message)
                if found is not None:
                    self._tell_foreign(foreign, before=last, after=place)
                    return found
                foreign += message is not None
            seq, some = places[-1] - 1, _LOOK_BACK
        self._tell_foreign(foreign, before=last, after=first - 1)
        return None

    async def _messages(self, places: Sequence[int]) -> list[RawStreamMsg | None]:
        """What the stream has at these places; None where it has nothing any more."""
        js = await self._connection.jetstream()

        async def one(place: int) -> RawStreamMsg | None:
            try:
                return await js.get_msg(self._stream, seq=place)
            except NotFoundError:
                return None

        async with self._connection.asking(self._silence):
            return list(await asyncio.gather(*map(one, places)))

    def _tell_foreign(self, count: int, *, before: int, after: int) -> None:
        if count:
            _log.warning(
                "%d messages of the stream %s, of those from number %d to %d, were not written by "
                "the relay and are passed over; look at who may publish there, or pull from its "
                "consumers",
                count,
                self._stream,
                after + 1,
                before,
            )

    async def _letters(self, events: Sequence[tuple[int, Event]]) -> AsyncIterator[Letter]:
        for position, event in events:
            yield await self._letter(position, event)

    async def _letter(self, position: int, event: Event) -> Letter:
        hashes = {person: await self._hash(person) for person in people(event)}
        person = ""
        if isinstance(event, UserMemoryErased):
            person = event.subject
        elif isinstance(event.scope, UserScope):
            person = hashes[event.scope]
        return Letter(
            self._subject(event, person),
            {"Nats-Msg-Id": event.id, POSITION: str(position), "Content-Type": STRUCTURED},
            write_event(event, position=position, hashes=hashes, room=self._room),
        )

    def _subject(self, event: Event, person: str) -> str:
        key = subject_key(event.scope, person=person)
        return event_subject(type(event), prefix=self._prefix, scope=event.scope, key=key)

    async def _hash(self, person: UserScope) -> str:
        known = self._hashes.get(person)
        if known is None:
            known = self._hashes[person] = await self._subject_of(person)
            if len(self._hashes) > _KNOWN_PEOPLE:
                self._hashes.popitem(last=False)
        return known


def _reached(message: RawStreamMsg) -> Reached | None:
    """How far the relay was when it wrote this; None where it did not."""
    headers = cast("Mapping[str, object]", cast("Any", message).headers or {})
    position, event_id = str(headers.get(POSITION, "")), str(headers.get("Nats-Msg-Id", ""))
    if not _POSITION.fullmatch(position) or not event_id:
        return None
    return Reached(position=int(position), event_id=event_id)


def _out_of_order(error: Exception) -> bool:
    return cast("Any", getattr(error, "err_code", None)) in OUT_OF_ORDER
