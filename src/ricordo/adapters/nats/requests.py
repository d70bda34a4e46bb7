"""Requests over NATS, shared by a group of processes that answer."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from ricordo.adapters.nats.connection import NatsConnection
from ricordo.adapters.nats.dead import DeadLetters
from ricordo.errors import Invalid, RicordoError, Unavailable, Unreadable
from ricordo.model import pause_after
from ricordo.ports import Answer, Request
from ricordo.wire import (
    AUTHORIZATION,
    DEADLINE,
    answerable,
    ask_pattern,
    read_ask_subject,
    read_deadline,
    write_error,
)

_log = logging.getLogger(__name__)

_LOOK = 0.25
"""Seconds between two looks at whether the connection still is there."""

_WORST = 5.0
"""Longest pause between attempts to be connected, in seconds."""

_PER_PLACE = 8
"""Requests that may wait for each that is being answered; the next one is turned away."""


class NatsRequests:
    """Implements `ricordo.ports.Requests` on a queue group of NATS.

    Args:
        connection: closed with it.
        prefix: first token of every subject; the group is named after it.
        dead: where requests go that fail and name no place for an answer.
        at_once: requests that are answered at the same time.
    """

    def __init__(
        self, connection: NatsConnection, *, prefix: str, dead: DeadLetters, at_once: int
    ) -> None:
        self._connection = connection
        self._prefix = prefix
        self._dead = dead
        self._places = asyncio.Semaphore(at_once)
        self._most = at_once * (1 + _PER_PLACE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending = asyncio.Event()
        self._serving: Any = None

    async def serve(self, answer: Answer) -> None:
        """See `ricordo.ports.Requests`."""
        failures, fault = 0, ""
        while not self._ending.is_set():
            try:
                client = await self._subscribed(answer)
                if failures:
                    _log.info("requests are heard again")
                failures, fault = 0, ""
                await self._lost(client)
            except RicordoError as error:
                failures += 1
                if str(error) != fault:
                    fault = str(error)
                    _log.warning("no requests are heard (%s: %s)", type(error).__name__, error)
                await self._pause(pause_after(failures, first=0.1, worst=_WORST))

    async def wind_down(self, *, within: float) -> bool:
        """See `ricordo.ports.Requests`."""
        self._ending.set()
        serving, self._serving = self._serving, None
        if serving is not None:
            try:
                async with self._connection.in_words():
                    await serving.drain()  # what was delivered to this process is answered here
            except RicordoError as error:
                _log.info("the subscription ended by itself (%s)", type(error).__name__)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within)
        return not self._tasks

    async def close(self) -> None:
        """See `ricordo.ports.Requests`."""
        await self.wind_down(within=0)  # so that the next request goes to another process
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._connection.close()

    async def _subscribed(self, answer: Answer) -> Client:
        client: Any = await self._connection.client()

        async def heard(message: Msg) -> None:
            task = asyncio.create_task(self._handle(message, answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        async with self._connection.asking():
            self._serving = await client.subscribe(
                ask_pattern(prefix=self._prefix), queue=f"{self._prefix}-answer", cb=heard
            )
            await client.flush()
        return client

    async def _lost(self, client: Client) -> None:
        """Until the connection is lost, or this ends."""
        while not client.is_closed and not self._ending.is_set():
            await self._pause(_LOOK)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._ending.wait()
        except TimeoutError:
            return

    async def _handle(self, message: Msg, answer: Answer) -> None:
        try:
            if len(self._tasks) > self._most:
                raise Unavailable("too many requests wait already; ask again, or start another one")
            request = self._read(message)
            async with self._places:
                await self._reply(message, await answer(request))
        except RicordoError as error:
            await self._refuse(message, error)

    def _read(self, message: Msg) -> Request:
        """The request in a message. Raises `Unreadable`."""
        tenant, what = read_ask_subject(message.subject, prefix=self._prefix)
        headers = {name.lower(): value for name, value in (_headers(message)).items()}
        deadline = headers.get(DEADLINE.lower())
        return Request(
            tenant=tenant,
            what=what,
            payload=message.data,
            token=bearer(headers.get(AUTHORIZATION.lower())),
            deadline=None if deadline is None else read_deadline(deadline),
        )

    async def _refuse(self, message: Msg, error: RicordoError) -> None:
        if message.reply:
            await self._reply(message, write_error(error))
        else:
            await self._dead.bury(message.data, subject=message.subject, sort="ask", error=error)

    async def _reply(self, message: Msg, payload: bytes) -> None:
        if not message.reply:
            return
        if not answerable(message.reply, tenant=self._tenant(message)):
            error = Unreadable("a request's reply subject is no inbox of its tenant's")
            await self._dead.bury(message.data, subject=message.subject, sort="ask", error=error)
            return
        try:
            client: Any = await self._connection.client()
            if len(payload) > client.max_payload:
                payload = write_error(Invalid("the answer is too large; ask for less"))
            async with self._connection.in_words():
                await client.publish(message.reply, payload)
        except RicordoError as error:
            # Whoever asked hears nothing in time, and asks again: that is safe for all there is.
            _log.warning("a request was not answered (%s: %s)", type(error).__name__, error)

    def _tenant(self, message: Msg) -> str | None:
        try:
            return read_ask_subject(message.subject, prefix=self._prefix)[0]
        except Unreadable:
            return None


def _headers(message: Msg) -> Mapping[str, str]:
    return message.headers or {}


def bearer(value: str | None) -> str | None:
    """The token in that header; None without one."""
    kind, _, token = (value or "").strip().partition(" ")
    return token.strip() or None if kind.lower() == "bearer" else None
