"""One connection to NATS, made when it is first needed and again when it was lost."""

import asyncio
import importlib.util
import logging
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, cast

from nats.aio.client import Client
from nats.js import JetStreamContext

from ricordo.adapters.nats.access import Access
from ricordo.adapters.nats.client import CarefulClient
from ricordo.adapters.nats.encryption import certificate_refused, tls_of
from ricordo.adapters.nats.faults import told, translated
from ricordo.adapters.nats.identity import Identity, identity_of
from ricordo.errors import DeadlineExceeded, Denied, Invalid, RicordoError, Unavailable

_log = logging.getLogger(__name__)

_CLOSING = 1.0
"""Seconds that a server may take to see a connection off."""

_UNMADE = 0.2
"""The same for one that was not made: after a failed start of TLS its end is never told."""


class NatsConnection:
    """A connection that is there again when it is asked for.

    It does not reconnect by itself: what was in flight when a connection broke is known to be in
    doubt, and whoever used it begins anew.
    """

    def __init__(self, access: Access, *, name: str = "ricordo") -> None:
        self.access = access
        self._name = name
        self._client: Client | None = None
        self._opening = asyncio.Lock()
        self._heard: Exception | None = None
        self._closed = False

    async def client(self) -> Client:
        """The connected client.

        Raises:
            Denied: it refuses the credentials. Invalid: the address or credentials cannot be used.
            Unavailable: it cannot be reached.
        """
        async with self._opening:
            if self._closed:
                raise Unavailable(f"the connection to NATS at {self.access.address} was closed")
            if self._client is None or self._client.is_closed:
                self._client = await self._connected()
            return self._client

    async def jetstream(self) -> JetStreamContext:
        """JetStream through the connected client. Raises as `client`."""
        client: Any = await self.client()
        return cast("JetStreamContext", client.jetstream(timeout=self.access.patience))

    @asynccontextmanager
    async def asking(self, deadline: float | None = None) -> AsyncGenerator[None]:
        """A deadline for the calls inside, by default the patience, and errors of ours."""
        before = self._heard
        try:
            async with translated(self.access.address, deadline=deadline or self.access.patience):
                yield
        except Unavailable as error:
            # What is not allowed is not answered; the server tells of it beside the call.
            if self._heard is not before and (refusal := self._refusal()) is not None:
                raise refusal from error
            raise

    @asynccontextmanager
    async def in_words(self) -> AsyncGenerator[None]:
        """Errors of ours, for calls that have deadlines of their own."""
        async with translated(self.access.address, deadline=None):
            yield

    def silent(self, what: str) -> RicordoError:
        """The error of a call that was not answered: NATS tells beside it what it refuses."""
        return self._refusal() or DeadlineExceeded(f"NATS at {self.access.address}: {what} in time")

    def _refusal(self) -> Denied | None:
        """What the server told beside the calls, where it refused something."""
        if self._heard is None:
            return None
        kind, reason = told(self._heard)
        return Denied(f"NATS at {self.access.address}: {reason}") if kind is Denied else None

    async def drop(self) -> None:
        """Close this connection; the next call makes another one."""
        client, self._client = self._client, None
        if client is not None:
            await _see_off(client, within=_CLOSING)

    async def close(self) -> None:
        """Close it for good; closing twice is not an error."""
        self._closed = True
        await self.drop()

    async def _connected(self) -> Client:
        self._heard = None
        identity, options = await asyncio.to_thread(self._options)
        async with AsyncExitStack() as stack:
            client = CarefulClient(encrypted=self.access.encrypted)
            stack.push_async_callback(_see_off, client, within=_UNMADE)
            try:
                async with self.asking():
                    await client.connect(**options)
                    if not client.is_connected:  # it hung up instead of an answer
                        raise ConnectionResetError
            except RicordoError as error:
                raise self._why(error, client, identity) from error
            stack.pop_all()
        return client

    def _why(self, error: RicordoError, client: CarefulClient, identity: Identity) -> RicordoError:
        """Why no connection could be made, with the setting that may mend it."""
        cause = error.__cause__
        if isinstance(error, Denied):
            return Denied(f"NATS at {self.access.address}: {identity.refused}")
        # Which of several errors it is, is a matter of time: the server hangs up.
        hung_up = isinstance(cause, OSError) and not isinstance(
            cause, ssl.SSLCertVerificationError | TimeoutError
        )
        if hung_up and client.wants_certificate:
            return Invalid(f"NATS at {self.access.address}: {certificate_refused(self.access)}")
        if isinstance(error, Unavailable):
            # The client loses the reason on its way through the nodes.
            kind, reason = told(self._heard or ConnectionError())
            return kind(f"NATS at {self.access.address}: {reason}")
        return error

    def _options(self) -> tuple[Identity, dict[str, Any]]:
        access = self.access
        check_transport(access.servers)
        identity = identity_of(access, now=datetime.now(UTC))
        options: dict[str, Any] = {
            "servers": list(access.servers),
            "name": self._name,
            "allow_reconnect": False,
            "max_reconnect_attempts": 1,
            "reconnect_time_wait": 0.1,
            "connect_timeout": access.patience,
            "ping_interval": max(access.patience, 1),
            "max_outstanding_pings": 2,
            "inbox_prefix": access.inbox,
            "error_cb": self._hear,
            "tls": tls_of(access),
            **identity.options,
        }
        return identity, options

    async def _hear(self, error: Exception) -> None:
        self._heard = error
        _log.debug("NATS: %s", type(error).__name__)


def heed_cancelling() -> None:
    """Raise `CancelledError` where this task was cancelled and goes on nevertheless.

    The client waits with `asyncio.wait_for`, which before Python 3.12 forgets that it was cancelled
    where what it waited for came at the same moment. A loop around it would then never end.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _see_off(client: Client, *, within: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(within):
            await client.close()


def check_transport(servers: Sequence[str]) -> None:
    """Raise `ImportError` where an address needs a package that is not there."""
    websockets = any(server.startswith(("ws://", "wss://")) for server in servers)
    if websockets and importlib.util.find_spec("aiohttp") is None:
        raise ImportError("ws:// and wss:// need aiohttp; install it with: pip install aiohttp")
