"""Signs of waiting turns, on a work queue of JetStream."""

import asyncio
import hmac
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from ricordo.adapters.nats.connection import NatsConnection, heed_cancelling
from ricordo.adapters.nats.dead import DeadLetters
from ricordo.adapters.nats.plan import check_owner
from ricordo.adapters.nats.pulling import Pull
from ricordo.errors import Denied, RicordoError, Unreadable
from ricordo.model import Turn, UserScope
from ricordo.ports import Sign
from ricordo.wire import SignData, read_sign, subject_key, work_subject, write_sign

_log = logging.getLogger(__name__)

WORKERS = "workers"
"""The consumer from which all workers pull."""

_MOST_UNSENT = 10_000
"""Signs that wait to be sent; more are dropped, for the queue is looked at anyway."""

_LINGER = 10.0
"""Seconds for which one asks for the next sign, before asking again."""

_PAUSE = 2.0
"""Seconds for which no sign is sent after one could not be."""

_LAST_WORDS = 1.0
"""Seconds that signs have to get out when their sender is closed."""

Seal = Callable[[Sequence[str]], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True)
class _Told:
    scope: UserScope
    thread_id: str
    run_id: str
    due: datetime


class NatsSigns:
    """Implements `ricordo.ports.Signs` on a JetStream work queue.

    Args:
        connection: closed with it.
        stream: its name.
        prefix: first token of every subject.
        ledger: the mark of the ledger whose turns these are.
        seal: the keyed hashes of texts, by the ledger's own secret; what has none is forged.
        subject_of: the keyed hash of a person.
        dead: where messages go that are no signs.
    """

    def __init__(
        self,
        connection: NatsConnection,
        *,
        stream: str,
        prefix: str,
        ledger: str,
        seal: Seal,
        subject_of: Callable[[UserScope], Awaitable[str]],
        dead: DeadLetters,
    ) -> None:
        self._connection = connection
        self._stream = stream
        self._prefix = prefix
        self._ledger = ledger
        self._seal = seal
        self._subject_of = subject_of
        self._dead = dead
        self._unsent: deque[_Told] = deque()
        self._sending: asyncio.Task[None] | None = None
        self._silent_until = 0.0
        self._client: Client | None = None
        self._pulling: Pull | None = None

    @property
    def heard(self) -> bool:
        """See `ricordo.ports.Signs`."""
        return self._pulling is not None and self._client is not None and self._client.is_connected

    def tell(self, turn: Turn, *, scope: UserScope, due: datetime) -> None:
        """See `ricordo.ports.Signs`."""
        loop = asyncio.get_running_loop()
        if loop.time() < self._silent_until or len(self._unsent) >= _MOST_UNSENT:
            return
        self._unsent.append(_Told(scope, turn.thread_id, turn.run_id, due))
        if self._sending is None or self._sending.done():
            self._sending = loop.create_task(self._send(), name="ricordo-signs-out")

    async def take(self) -> Sign:
        """See `ricordo.ports.Signs`."""
        while True:
            pulling = await self._subscribed()
            try:
                async with self._connection.in_words():
                    message = await pulling.next(_LINGER)
            except RicordoError:
                self._pulling = None
                raise
            sign = None if message is None else await self._sound(message)
            try:
                heed_cancelling()
            except asyncio.CancelledError:
                if sign is not None:
                    await sign.later(seconds=0.0)
                raise
            if sign is not None:
                return sign

    async def close(self) -> None:
        """See `ricordo.ports.Signs`."""
        sending, self._sending = self._sending, None
        if sending is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS):
                    await asyncio.shield(sending)
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
        self._pulling = None
        await self._connection.close()

    async def _send(self) -> None:
        try:
            while self._unsent:
                await self._publish(self._unsent.popleft())
            client: Any = await self._connection.client()
            async with self._connection.asking():
                await client.flush()
        except RicordoError as error:
            _log.info("signs are not sent just now (%s: %s)", type(error).__name__, error)
            self._unsent.clear()
            self._silent_until = asyncio.get_running_loop().time() + _PAUSE

    async def _publish(self, told: _Told) -> None:
        # No answer is waited for: a sign that is lost costs a few seconds.
        client: Any = await self._connection.client()
        key = subject_key(told.scope, person=await self._subject_of(told.scope))
        subject = work_subject(told.scope, prefix=self._prefix, key=key)
        [hashed] = await self._seal([f"turn {told.scope!r} {told.thread_id!r} {told.run_id!r}"])
        sign = SignData(id=hashed[:32], due=told.due)
        [seal] = await self._seal([sign.claim(subject)])
        headers = {"Nats-Msg-Id": sign.id, "Content-Type": "application/json"}
        async with self._connection.in_words():
            await client.publish(subject, write_sign(sign, seal=seal), headers=headers)

    async def _subscribed(self) -> Pull:
        client = await self._connection.client()
        if self._pulling is not None and self._client is client:
            return self._pulling
        js = await self._connection.jetstream()
        async with self._connection.asking():
            info = await js.stream_info(self._stream)
            check_owner(self._stream, info.config.metadata, ledger=self._ledger)
            await js.consumer_info(self._stream, WORKERS)
        self._pulling = Pull(client, self._stream, WORKERS)
        self._client = client
        return self._pulling

    async def _sound(self, message: Msg) -> "NatsSign | None":
        try:
            sign, seal = read_sign(message.data)
            [ours] = await self._seal([sign.claim(message.subject)])
            if not hmac.compare_digest(ours, seal):
                raise Denied("the sign is forged: its seal is not this ledger's")
        except (Unreadable, Denied) as error:
            await self._put_away(message, error)
            return None
        return NatsSign(message, due=sign.due, connection=self._connection)

    async def _put_away(self, message: Msg, error: RicordoError) -> None:
        letter = self._dead.bury(message.data, subject=message.subject, sort="work", error=error)
        buried = await letter
        with suppress(RicordoError):
            async with self._connection.in_words():
                # Without a letter it comes again, for it must not vanish without a trace.
                await (message.term() if buried else message.nak(delay=_PAUSE))


class NatsSign:
    """Implements `ricordo.ports.Sign` on a message."""

    def __init__(self, message: Msg, *, due: datetime, connection: NatsConnection) -> None:
        self._message = message
        self._due = due
        self._connection = connection

    @property
    def due(self) -> datetime:
        """See `ricordo.ports.Sign`."""
        return self._due

    async def working(self) -> None:
        """See `ricordo.ports.Sign`."""
        await self._settle(self._message.in_progress())

    async def done(self) -> None:
        """See `ricordo.ports.Sign`."""
        await self._settle(self._message.ack())

    async def later(self, *, seconds: float) -> None:
        """See `ricordo.ports.Sign`."""
        await self._settle(self._message.nak(delay=seconds))

    async def _settle(self, words: Awaitable[None]) -> None:
        try:
            async with self._connection.in_words():
                await words
        except RicordoError as error:
            _log.debug("a sign was not settled, and comes again (%s)", type(error).__name__)
