"""How requests come from other programs, and who is behind one."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from ricordo.model import Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request as it came; nothing in it is believed yet.

    Args:
        tenant: on whose behalf it was addressed.
        what: what is asked for, for example ``"recall"``.
        token: says who asks, and proves it; None where there was none.
        deadline: seconds in which an answer is of use, where the message says so beside its
            payload.
    """

    tenant: str
    what: str
    payload: bytes = field(repr=False)
    token: str | None = field(default=None, repr=False)
    deadline: float | None = None


Answer = Callable[[Request], Awaitable[bytes]]
"""Answers one request. Raises a `RicordoError` where it cannot; never anything else."""


class Requests(Protocol):
    """Requests that come over a message bus.

    1. Of all processes that serve, one gets a request.
    2. A request is answered once, by what the answer returns or by the name of its error. One that
       names no place for an answer is put away where it fails, with the reason.
    3. What is no sound request never gets to the answer.
    """

    async def serve(self, answer: Answer) -> None:
        """Answer until cancelled; while the bus is away, that is logged, and tried again."""
        ...

    async def wind_down(self, *, within: float) -> bool:
        """Take no more; whether all that were taken are answered `within` seconds."""
        ...

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        ...


class Verifier(Protocol):
    """Tells from a token who is behind a request."""

    async def principal(self, token: str) -> Principal:
        """The person whom a token vouches for. Raises `Denied`, and shows nothing of the token."""
        ...
