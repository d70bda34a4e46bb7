"""Messages of a platform outside, which belong to it: taken, answered and settled one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from ricordo.errors import RicordoError


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message that was handed out.

    Args:
        token: says for whom it is, and proves it; None where there was none.
        source: name of the log that it lies in.
        sequence: its number there.
        at: when that log took it.
        attempts: how often it was handed out, this time included.
        receipt: by what it is settled.
    """

    subject: str
    payload: bytes = field(repr=False)
    token: str | None = field(repr=False)
    source: str
    sequence: int
    at: datetime
    attempts: int
    receipt: str


class Exchange(Protocol):
    """Some sort of a platform's messages, wherever the platform keeps them.

    1. A message that is neither settled nor refused comes again, after a while or after its taker
       died; whoever takes them together shares them.
    2. Where it is said to be in order, one message of a source is out at a time, so none overtakes
       another, over all takers.
    3. A message that is refused comes no more. Where it lies and why is kept; what it says is not.
    4. Every call ends within its patience.
    """

    async def open(self) -> None:
        """Reach it.

        Raises:
            NotFound: there is no place for what is refused. Denied: it refuses the credentials.
            Unavailable: it does not answer.
        """
        ...

    async def sources(self) -> Sequence[str]:
        """The logs that keep such messages now; the platform adds and removes some."""
        ...

    async def take(self, source: str, *, patience: float) -> Delivery | None:
        """The next message; None when there is none within `patience` seconds.

        Raises:
            NotFound: the log is gone. Unavailable: it does not answer.
        """
        ...

    async def settle(self, delivery: Delivery) -> None:
        """It is done with, for good."""
        ...

    async def postpone(self, delivery: Delivery, *, seconds: float) -> None:
        """Let it come again, not before that."""
        ...

    async def working(self, delivery: Delivery) -> None:
        """It is still being worked on; let it not come again meanwhile."""
        ...

    async def refuse(self, delivery: Delivery, *, error: RicordoError) -> None:
        """Note where it lies, and why it was refused; then settle it."""
        ...

    async def first(self, source: str, *, subject: str) -> bytes | None:
        """What the oldest message says whose subject fits that pattern; None without any."""
        ...

    async def publish(self, subject: str, payload: bytes, *, message_id: str) -> bool:
        """Send a message that the platform keeps; False where it keeps none of that subject.

        The same id again within the platform's window is there once.
        """
        ...

    async def bury(self, subject: str, payload: bytes, *, error: RicordoError) -> None:
        """Note of a message of ours that it could not be sent, and why; not what it says."""
        ...

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        ...
