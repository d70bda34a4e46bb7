"""`RedisHistoryCache`: copies of conversations in Redis (or Valkey), for many processes."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from ricordo.adapters.redis.faults import translated
from ricordo.adapters.redis.scripts import FILL, HOLD, LOOK, RELEASE
from ricordo.errors import Denied, Invalid, Unavailable
from ricordo.model import Conversation, UserScope, new_id, owner_key
from ricordo.ports import Glance

_log = logging.getLogger(__name__)

FORMAT = "1"
"""Of the keys and what lies under them; another format has other keys, and is never read."""

SWEEP = 60.0
"""Seconds that forgetting a person may take: it looks through all keys."""


class RedisHistoryCache:
    """Copies of conversations, as `ricordo.ports.HistoryCache` promises them.

    All keys of a person carry one hash tag, so that they lie in one slot of a cluster. `open` makes
    one.
    """

    name = "history cache (redis)"

    def __init__(
        self,
        client: Any,
        *,
        address: str,
        lifetime: float,
        deadline: float,
        lease: float,
        patience: float,
        prefix: str,
    ) -> None:
        self._client = client
        self._address = address
        self.lifetime = lifetime
        self._deadline = deadline
        self._lease = lease
        self._patience = patience
        self._prefix = f"{prefix}:{FORMAT}"
        self._look = client.register_script(LOOK)
        self._fill = client.register_script(FILL)
        self._hold = client.register_script(HOLD)
        self._release = client.register_script(RELEASE)
        self.remedy = f"wait {lifetime:.0f} seconds, after which every copy is gone; or erase again"

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        lifetime: float = 3_600.0,
        deadline: float = 0.25,
        lease: float = 5.0,
        patience: float = 30.0,
        prefix: str = "ricordo:history",
        refusable: bool = False,
    ) -> AsyncGenerator["RedisHistoryCache"]:
        """A cache on the server at `url`, closed at the end.

        A server that cannot be reached is no error: it is the cache, and may come later.

        Args:
            url: ``redis://``, ``rediss://`` or ``unix://``, with user and password where needed.
            lifetime: seconds after which Redis drops a copy.
            deadline: seconds that a call may take.
            lease: seconds that a loader has to come back.
            patience: seconds that a writer has to come back.
            prefix: of all keys.
            refusable: a server that refuses the credentials is no error either, but logged.

        Raises:
            Invalid: the address cannot be used. Denied: the server refuses the credentials.
        """
        vendor: Any = Redis  # its own annotations leave parts of it unknown
        try:
            client = vendor.from_url(
                url,
                socket_timeout=deadline,
                socket_connect_timeout=deadline,
                retry=Retry(NoBackoff(), 0),  # a second try would come after the deadline
                decode_responses=False,
            )
        except ValueError as error:
            raise Invalid("history_cache_url is no address of Redis: redis://host:port") from error
        async with client:
            cache = cls(
                client,
                address=_shown(url),
                lifetime=lifetime,
                deadline=deadline,
                lease=lease,
                patience=patience,
                prefix=prefix,
            )
            try:
                await cache.greet()
            except Denied as error:
                if not refusable:
                    raise
                _log.warning("the cache of histories is of no use: %s", error)
            yield cache

    async def greet(self) -> None:
        """See whether the server answers; log it when not. Raises `Denied`."""
        try:
            async with self._translated():
                await self._client.ping()
        except Unavailable as error:
            _log.warning("the cache of histories is not used for now: %s", error)

    async def look(self, conversation: Conversation, *, within: float) -> Glance:
        """The copy, if it is at most `within` seconds old; else, if possible, a lease."""
        arguments = [_milliseconds(within), new_id("l"), _milliseconds(self._lease)]
        answer = await self._run(self._look, conversation, arguments)
        found = cast("list[bytes]", answer)
        if found[0] == b"copy":
            return Glance(payload=found[2], age=float(found[1]) / 1_000)
        if found[0] == b"lease":
            return Glance(lease=found[1].decode())
        return Glance(loading=found[0] == b"loading")

    async def fill(self, conversation: Conversation, *, payload: bytes, lease: str) -> bool:
        """Put a copy there, if the lease still holds; whether it was kept."""
        arguments = [lease, payload, _milliseconds(self.lifetime)]
        return bool(await self._run(self._fill, conversation, arguments))

    async def hold(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: a writing begins."""
        await self._run(self._hold, conversation, [writer, _milliseconds(self._patience)])

    async def release(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: the writing is over."""
        await self._run(self._release, conversation, [writer])

    async def forget(self, *, scope: UserScope) -> int:
        """Drop everything of a person; how many copies there were."""
        gone = 0
        async with translated(self._address, deadline=SWEEP):
            async for key in self._client.scan_iter(match=self._pattern(scope), count=1_000):
                gone += await self._client.delete(key) if key.endswith(b":copy") else 0
                await self._client.delete(key)
        return gone

    async def count(self, *, scope: UserScope) -> int:
        """How many entries of the person there are."""
        async with translated(self._address, deadline=SWEEP):
            scan = self._client.scan_iter(match=self._pattern(scope), count=1_000)
            return len({key async for key in scan})

    async def erase(self, *, scope: UserScope) -> int:
        """As `forget`, for an erasure."""
        return await self.forget(scope=scope)

    async def _run(self, script: Any, conversation: Conversation, arguments: Sequence[Any]) -> Any:
        stem = f"{self._prefix}:{{{conversation.owner}}}:{conversation.place}"
        keys = [f"{stem}:copy", f"{stem}:lease", f"{stem}:writers"]
        async with self._translated():
            return await script(keys=keys, args=arguments)

    def _translated(self) -> Any:
        return translated(self._address, deadline=self._deadline)

    def _pattern(self, scope: UserScope) -> str:
        # The prefix is an operator's, and may hold what a pattern would read as a wildcard.
        prefix = "".join(f"\\{c}" if c in "*?[]\\^-" else c for c in self._prefix)
        return f"{prefix}:{{{owner_key(scope)}}}:*"


def _milliseconds(seconds: float) -> int:
    return max(int(seconds * 1_000), 0)


def _shown(url: str) -> str:
    """The address without its credentials."""
    parts = urlsplit(url)
    return f"{parts.hostname or ''}:{parts.port or 6379}" if parts.scheme != "unix" else parts.path
