"""Where events go for others: a log outside, in the order of the outbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ricordo.events import Event, UserMemoryErased


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The newest event of a stream: its place in the outbox it came from, and its id."""

    position: int
    event_id: str


class EventStream(Protocol):
    """A log that one writer at a time appends to.

    1. What was appended stands in the order of the calls, and of the events in a call. A writer
       that was paused while another one appended can append nothing until it has opened anew.
    2. An event that is appended again within the stream's window is there once.
    3. Every call ends within the stream's own patience: by an answer, or by an error.
    """

    async def open(self) -> Reached | None:
        """Reach it, and see how far it is; None where its newest event is not there any more.

        Raises:
            NotFound: there is no such stream yet. Conflict: it belongs to another ledger.
            Denied: it refuses the credentials. Invalid: it cannot do what is needed.
            Unavailable: it does not answer.
        """
        ...

    async def append(self, events: Sequence[tuple[int, Event]]) -> int:
        """Append events with their positions; how many of them, from the first on, are surely
        there. Where those are not all, the stream must be opened before it is appended to again.

        Raises: as `open`, where not even the first is there.
        """
        ...

    async def forget(self, event: UserMemoryErased) -> None:
        """Remove everything that was announced of a person before their erasure."""
        ...

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        ...
