"""The stream of all events of one ledger."""

from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from nats.js.errors import NotFoundError

from ricordo.adapters.nats.appending import OUT_OF_ORDER, Appender, Letter
from ricordo.adapters.nats.connection import NatsConnection
from ricordo.adapters.nats.envelope import STRUCTURED, write_event
from ricordo.adapters.nats.faults import told
from ricordo.adapters.nats.plan import check_owner
from ricordo.errors import Conflict, DeadlineExceeded, Unavailable
from ricordo.events import Event, UserMemoryErased
from ricordo.model import UserScope
from ricordo.ports import Reached
from ricordo.wire import event_subject, people, person_events, subject_key

POSITION = "Ricordo-Position"
"""The header that holds an event's position in the outbox."""

_KNOWN_PEOPLE = 10_000

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
        self._silence = min(connection.access.patience, _SILENCE)

    async def open(self) -> Reached | None:
        """See `ricordo.ports.EventStream`."""
        self._last = None
        client = await self._connection.client()
        if self._appender is None or self._appender.client is not client:
            self._appender = Appender(client, stream=self._stream)
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
        found = await self._newest(last) if last else None
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

    async def _newest(self, last: int) -> Reached | None:
        js = await self._connection.jetstream()
        async with self._connection.asking(self._silence):
            try:
                message = await js.get_msg(self._stream, seq=last)
            except NotFoundError:
                return None
        headers = cast("Mapping[str, str]", cast("Any", message).headers or {})
        position = str(headers.get(POSITION, ""))
        if not position.isdigit():
            raise Conflict(
                f"the newest message of the stream {self._stream} was not written by Ricordo; only "
                "the relay may publish on its subjects"
            )
        return Reached(position=int(position), event_id=headers.get("Nats-Msg-Id", ""))

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
            write_event(event, position=position, hashes=hashes),
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


def _out_of_order(error: Exception) -> bool:
    return cast("Any", getattr(error, "err_code", None)) in OUT_OF_ORDER
