"""Redis's errors in the words of `ricordo.errors`."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from redis import exceptions as raised

from ricordo.errors import DeadlineExceeded, Denied, RicordoError, Unavailable

BY_CLASS: tuple[tuple[type[Exception], type[RicordoError], str], ...] = (
    (raised.AuthenticationError, Denied, "it refuses the user or password; check the address"),
    (raised.AuthenticationWrongNumberOfArgsError, Denied, "it wants another way to log in"),
    (raised.AuthorizationError, Denied, "the user lacks the right"),
    (raised.NoPermissionError, Denied, "the user lacks the right to a command or key"),
    (raised.TimeoutError, DeadlineExceeded, "no answer in time"),
    (raised.BusyLoadingError, Unavailable, "it is still loading its data; try again"),
    (raised.ReadOnlyError, Unavailable, "it is a replica and may not be written"),
    (raised.OutOfMemoryError, Unavailable, "its memory is full"),
    (raised.ConnectionError, Unavailable, "it cannot be reached"),
    (raised.RedisError, Unavailable, "it could not carry out the call"),
    (raised.RedisClusterException, Unavailable, "its cluster could not carry out the call"),
    (raised.ChildDeadlockedError, Unavailable, "its connection was used after a fork"),
    (raised.IncorrectPolicyType, Unavailable, "it could not carry out the call"),
    (TimeoutError, DeadlineExceeded, "no answer in time"),
    (OSError, Unavailable, "it cannot be reached"),
)
"""By class; the first that fits."""


@asynccontextmanager
async def translated(address: str, *, deadline: float) -> AsyncGenerator[None]:
    """Let the calls inside take `deadline` seconds; raise their faults as errors of ours."""
    try:
        async with asyncio.timeout(deadline):
            yield
    except tuple(kind for kind, _, _ in BY_CLASS) as error:
        kind, reason = next((k, r) for cause, k, r in BY_CLASS if isinstance(error, cause))
        raise kind(f"Redis at {address}: {reason} ({type(error).__name__})") from error
