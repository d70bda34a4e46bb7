"""What an agent observed, on its way to becoming memory."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Self

from ricordo.model.ids import check_id
from ricordo.model.scope import Scope
from ricordo.model.times import check_time


class Speaker(StrEnum):
    """Who spoke; only a user's own words are a source of memories."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One message of a turn.

    Args:
        trusted: False for text that the speaker did not say themselves: a pasted document, a tool's
            output, recalled memory. Never a source of memories.
    """

    speaker: Speaker
    text: str
    id: str | None = None
    trusted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One run of an agent for one user: what was said, and where.

    The same (scope, thread_id, run_id) is the same turn, however often it is delivered.
    """

    thread_id: str
    run_id: str
    agent: str
    at: datetime
    said: tuple[Said, ...]
    display_id: str | None = None

    def __post_init__(self) -> None:
        for what in ("thread_id", "run_id", "agent"):
            check_id(getattr(self, what), what=what)
        if self.display_id is not None:
            check_id(self.display_id, what="display_id")
        if self.at.tzinfo is None:
            raise ValueError("a turn's time needs a time zone")
        check_time(self.at, what="a turn's time")
        object.__setattr__(self, "said", tuple(self.said))
        for said in self.said:
            if said.id is not None:
                check_id(said.id, what="message id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Relate:
    """A request to propose relations for a memory that was stored without any."""

    memory_id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One queued turn or request, as a worker sees it; `attempts` counts earlier failures."""

    id: int
    scope: Scope
    work: Turn | Relate
    attempts: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Jobs of one scope, one sort and (turns) one agent, in order, leased to one worker.

    `lease` is proof of ownership: finishing with a lease that ran out is refused.
    """

    scope: Scope
    jobs: tuple[Job, ...]
    lease: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A job that could not be processed, kept with its reason until replayed or forgotten."""

    job: Job
    reason: str
    parked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """What was forgotten before it became memory: numbers of turns and of refusals."""

    turns: int = 0
    refusals: int = 0


class Forgotten(int):
    """How many memories were forgotten, and what else went with them.

    Args:
        memories: the number itself.
        turns: that waited, were being worked on or were parked; what they said is gone.
        refusals: that were kept to see.
    """

    turns: int
    refusals: int

    def __new__(cls, memories: int, *, turns: int = 0, refusals: int = 0) -> Self:
        """Make the number."""
        made = super().__new__(cls, memories)
        made.turns, made.refusals = turns, refusals
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Backlog:
    """What waits in the queue: numbers of jobs, and since when the oldest one has.

    Args:
        oldest, oldest_leased, oldest_parked: when the oldest of those that wait, are being worked
            on, or are parked was queued.
    """

    waiting: int = 0
    leased: int = 0
    parked: int = 0
    oldest: datetime | None = None
    oldest_leased: datetime | None = None
    oldest_parked: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof of an erasure: what was removed, and what a scan of every place found afterwards.

    Args:
        subject: keyed hash of the erased scope; the person's id is not kept.
        erased_at: when.
        removed: rows removed, by place.
        remaining: rows that the scan still found, by place; all zero.
        outside: places outside the ledger that could not be emptied, each with the way to do it.
        log_cleared: whether the write-ahead log was emptied as well; False while another process
            reads, then it is emptied by the next checkpoint.
        pending: views outside that could not be cleared now: switched off, or not reached. The
            erasure is applied to them before they are searched again.
    """

    subject: str
    erased_at: datetime
    removed: dict[str, int] = field(default_factory=dict[str, int])
    remaining: dict[str, int] = field(default_factory=dict[str, int])
    outside: dict[str, str] = field(default_factory=dict[str, str])
    log_cleared: bool = True
    pending: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """True when the scan found nothing, and every place could be looked at."""
        return not (any(self.remaining.values()) or self.outside or self.pending)
