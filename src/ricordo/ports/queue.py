"""Turns on their way in, and events on their way out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from ricordo.events import Event
from ricordo.model import Backlog, Batch, DeadLetter, Scope, Turn, UserScope

RECENT = 100_000
"""So many of the newest turns are looked through for the threads that they were said in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """When a turn of a thread was last taken in."""

    scope: UserScope
    thread_id: str
    at: datetime


class Queue(Protocol):
    """Turns on their way to becoming memory.

    1. An accepted turn survives the death of the process.
    2. The same (scope, thread, run) again changes nothing.
    3. Jobs of one scope are handed out in order, to one worker at a time.
    4. Tenants take turns, and within a tenant its scopes: a busy one does not starve another.
    """

    async def accept(self, turn: Turn, *, scope: Scope) -> bool:
        """Queue a turn durably. False when it was accepted before. Raises `Erased` when it was said
        before the person's erasure."""
        ...

    async def claim(
        self, *, at: datetime, size: int, patience: float, lease: float, scope: Scope | None = None
    ) -> Batch | None:
        """Lease up to `size` jobs of one scope that has `size` waiting, or whose oldest has waited
        `patience` seconds: turns of one agent, or requests. The lease ends by itself after `lease`
        seconds. `scope` restricts it."""
        ...

    async def renew(self, batch: Batch, *, at: datetime, lease: float) -> None:
        """Begin the time of the batch's lease anew at `at`. Raises `Conflict` if it was lost."""
        ...

    async def retry(self, batch: Batch, *, at: datetime, failed: bool = True) -> None:
        """Give the batch back, not to be handed out before `at`; its attempts grow by one if it
        failed."""
        ...

    async def park(self, batch: Batch, *, reason: str, at: datetime) -> None:
        """Move the batch's jobs to the dead letters, its turns as the batch has them, and announce
        `TurnParked` for each turn."""
        ...

    async def dead_letters(self, *, scope: Scope | None, limit: int) -> list[DeadLetter]:
        """Parked jobs, oldest first; without a scope (an operator's view) without messages."""
        ...

    async def waiting(self, *, scope: Scope, limit: int) -> list[Turn]:
        """Turns of the scope that wait or are being worked on, oldest first, for their owner."""
        ...

    async def threads(self, *, after: datetime, until: datetime, limit: int) -> list[Heard]:
        """Threads whose last turn was taken in after the one instant and no later than the other,
        the longest silent first: of everybody, and of the `RECENT` newest turns, whether they were
        extracted already or not."""
        ...

    async def replay(self, job_id: int, *, scope: Scope | None) -> None:
        """Queue a parked job again, attempts 0, and announce `TurnReplayed` of a turn. Raises
        `NotFound`."""
        ...

    async def drop(self, job_id: int, *, scope: Scope) -> None:
        """Forget a parked job of the scope; the same turn is not accepted again. Raises
        `NotFound`."""
        ...

    async def backlog(self, *, scope: Scope | None = None) -> Backlog:
        """How much waits."""
        ...


QUIET = 60.0
"""Seconds without an acknowledgement after which a reader without an office may be retired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads the outbox under a name, as the ledger knows them.

    Args:
        name: of the consumer.
        position: up to where it has acknowledged.
        behind: events that are there and that it has yet to acknowledge.
        waiting_since: when the oldest of these happened.
        seen: when it last acknowledged; None where that was not noted yet.
        held_until: until when a process has the office of that name, or feeds the view.
        retired_at: since when nothing but erasures is kept for it; None for all others.
        missed: events that were pruned since, and that it never had.
    """

    name: str
    position: int
    behind: int = 0
    waiting_since: datetime | None = None
    seen: datetime | None = None
    held_until: datetime | None = None
    retired_at: datetime | None = None
    missed: int = 0

    def at_work(self, at: datetime) -> bool:
        """Whether somebody reads under that name just now."""
        held = self.held_until is not None and self.held_until > at
        return held or (self.seen is not None and self.seen > at - timedelta(seconds=QUIET))


class Outbox(Protocol):
    """Events on their way out, in order.

    1. What a known consumer has yet to acknowledge is not pruned, however old it is.
    2. A retired consumer holds nothing up; only erasures wait for it, so that whoever comes back
       forgets whom it shall forget.
    3. A retired consumer can acknowledge nothing until it was readmitted, and is told then how many
       events it never had.
    """

    async def announced(self, *, after: int, limit: int) -> list[tuple[int, Event]]:
        """Events with a position above `after`, in order."""
        ...

    async def position(self, consumer: str) -> int | None:
        """Position up to which a named consumer has acknowledged; None for an unknown one."""
        ...

    async def acknowledge(self, consumer: str, position: int) -> None:
        """Remember that a consumer is done up to `position`. Raises `Retired`."""
        ...

    async def readers(self) -> Sequence[Reader]:
        """Every known consumer, by name, those that were retired included."""
        ...

    async def retire(self, consumer: str, *, at: datetime) -> None:
        """Wait for a consumer no more; again, nothing changes. Whoever holds the office of that
        name loses it.

        Raises:
            NotFound: nobody ever read under that name.
            Conflict: somebody reads under it at that time, see `Reader.at_work`.
        """
        ...

    async def readmit(self, consumer: str) -> int | None:
        """Wait for a retired consumer again, from where it was; how many events it never had. None,
        changing nothing, for one that was not retired."""
        ...

    async def latest(self) -> int:
        """Position of the newest event; 0 without any."""
        ...

    async def prune(self, *, before: datetime, limit: int) -> int:
        """Of the `limit` oldest events that nobody waits for, remove those that happened before
        that instant; how many those were. Positions stay."""
        ...
