"""One connection to NATS, made when it is first needed and again when it was lost."""

import asyncio
import importlib.util
import logging
import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from ricordo.adapters.nats.faults import told, translated
from ricordo.errors import DeadlineExceeded, Denied, Invalid, RicordoError, Unavailable

_log = logging.getLogger(__name__)

_CLOSING = 1.0
"""Seconds that a server may take to see a connection off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Where NATS is, and as whom one comes.

    Args:
        servers: addresses of one or more nodes, without secrets: ``nats://host:4222``.
        user, password: where the server knows users.
        credentials: a file of a JWT and its key, where the server knows accounts.
        authority: file of the certificates by which the server is known; the system's without.
        patience: seconds that a call may take, connecting included.
        inbox: first part of the subjects on which answers come.
    """

    servers: tuple[str, ...]
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    credentials: Path | None = None
    authority: Path | None = None
    patience: float = 5.0
    inbox: str = "_INBOX"

    @property
    def address(self) -> str:
        """The addresses, for people."""
        return ", ".join(self.servers)


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
        async with translated(self.access.address, deadline=deadline or self.access.patience):
            yield

    @asynccontextmanager
    async def in_words(self) -> AsyncGenerator[None]:
        """Errors of ours, for calls that have deadlines of their own."""
        async with translated(self.access.address, deadline=None):
            yield

    def silent(self, what: str) -> RicordoError:
        """The error of a call that was not answered: NATS tells beside it what it refuses."""
        if self._heard is not None:
            kind, reason = told(self._heard)
            if kind is Denied:
                return Denied(f"NATS at {self.access.address}: {reason}")
        return DeadlineExceeded(f"NATS at {self.access.address}: {what} in time")

    async def drop(self) -> None:
        """Close this connection; the next call makes another one."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING):
                    await client.close()

    async def close(self) -> None:
        """Close it for good; closing twice is not an error."""
        self._closed = True
        await self.drop()

    async def _connected(self) -> Client:
        self._heard = None
        options = self._options()
        async with AsyncExitStack() as stack:
            client = _Tolerant()
            stack.push_async_callback(client.close)
            try:
                async with self.asking():
                    await client.connect(**options)
            except Unavailable as error:
                # The client loses the reason on its way through the nodes.
                kind, reason = told(self._heard or ConnectionError())
                raise kind(f"NATS at {self.access.address}: {reason}") from error
            stack.pop_all()
        return client

    def _options(self) -> dict[str, Any]:
        access = self.access
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
        }
        if access.user is not None:
            options |= {"user": access.user, "password": access.password or ""}
        if access.credentials is not None:
            options["user_credentials"] = _readable(access.credentials)
        if access.authority is not None:
            options["tls"] = _trusting(access.authority)
        return options

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


class _Tolerant(Client):
    """Survives what others publish: subjects and headers that are no text would end its reading,
    and nobody would be told."""

    def _build_message(
        self,
        sid: int,
        subject: bytes,
        reply: bytes,
        data: bytes,
        headers: dict[str, str] | None,
    ) -> Msg:
        readable = subject.decode(errors="replace").encode()
        return super()._build_message(sid, readable, reply, data, headers)

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        try:
            parent: Any = super()
            return await parent._process_headers(headers)  # noqa: SLF001
        except (ValueError, IndexError) as error:
            await self._error_cb(error)
            return None


def _readable(path: Path) -> str:
    if importlib.util.find_spec("nkeys") is None:
        raise ImportError("credentials need nkeys: pip install 'nats-py[nkeys]'")
    try:
        with path.open("rb"):
            return str(path)
    except OSError as error:
        raise Denied(f"the credentials {path} cannot be read: {error.strerror}") from error


def _trusting(path: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(path))
    except (OSError, ssl.SSLError) as error:
        raise Invalid(f"nats_ca {path} is no readable file of certificates") from error
