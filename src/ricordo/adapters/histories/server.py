"""Conversations in Redis, by the framework's `RedisHistoryProvider`."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from ricordo.adapters.histories.opened import Opened
from ricordo.errors import Denied, Invalid, RicordoError, Unavailable
from ricordo.model import UserScope, owner_key

APPLICATION = "ricordo"
"""Under which the framework keeps the conversations."""


@asynccontextmanager
async def open_redis(url: str, *, patience: float = 5.0) -> AsyncGenerator[Opened]:
    """Conversations in the Redis at `url`, closed at the end.

    Raises:
        ImportError: the extra ``ricordo[redis]`` is not installed.
        Invalid: the address cannot be used.
    """
    try:
        from agent_framework_redis import RedisHistoryProvider
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ImportError(
            "Redis is not installed; install the extra with: pip install 'ricordo[redis]'"
        ) from error
    vendor: Any = Redis  # its own annotations leave parts of it unknown
    try:
        client = vendor.from_url(
            url,
            decode_responses=True,
            socket_timeout=patience,
            socket_connect_timeout=patience,
            # A message whose answer was lost may be there; sent again, it would be there twice.
            retry=Retry(NoBackoff(), 0),
        )
    except ValueError as error:
        raise Invalid("history_url is no address of Redis: redis://host:port") from error
    async with client:
        provider = RedisHistoryProvider(redis_client=client, application_id=APPLICATION)
        yield Opened(provider=provider, outside=_RedisConversations(client, url=url))


class _RedisConversations:
    """Empties the framework's lists of a person; each key ends with the conversation's name."""

    def __init__(self, client: Any, *, url: str) -> None:
        self._client = client
        parts = urlsplit(url)
        self.name = "conversations (redis)"
        self.remedy = f"reach Redis at {parts.hostname}:{parts.port or 6379}, and erase again"

    async def erase(self, *, scope: UserScope) -> int:
        """Delete the person's lists; how many there were."""
        keys = await self._keys(scope)
        try:
            for key in keys:
                await self._client.delete(key)
        except _faults() as error:
            raise _ours(error) from error
        return len(keys)

    async def count(self, *, scope: UserScope) -> int:
        """How many lists of the person there are."""
        return len(await self._keys(scope))

    async def _keys(self, scope: UserScope) -> list[str]:
        try:
            scan = self._client.scan_iter(match=f"*|{owner_key(scope)}.*", count=1_000)
            return sorted({key async for key in scan})
        except _faults() as error:
            raise _ours(error) from error


def _faults() -> tuple[type[Exception], ...]:
    from redis.exceptions import RedisError

    return (RedisError, OSError)


def _ours(error: Exception) -> RicordoError:
    from redis.exceptions import AuthenticationError, AuthorizationError, NoPermissionError

    if isinstance(error, AuthenticationError | AuthorizationError | NoPermissionError):
        return Denied("the histories' Redis refuses the credentials; check history_url")
    return Unavailable(f"the histories' Redis did not answer ({type(error).__name__})")
