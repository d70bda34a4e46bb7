"""What an operator may be told of work while it is done: names from fixed lists, and numbers."""

from enum import StrEnum
from typing import Protocol

BOUNDS = (
    *(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
"""Upper bounds of a histogram's buckets, in seconds; the last bucket has none."""


class Act(StrEnum):
    """What can be watched, from its beginning to its end."""

    ANSWER = "answer"
    """A request over a message bus, whatever it asks for."""
    OBSERVE = "observe"
    EXTRACT = "extract"
    RECALL = "recall"
    EMBED = "embed"
    SEARCH = "search"
    WALK = "walk"
    REMEMBER = "remember"
    DOCUMENT = "document"
    FORGET = "forget"
    ERASE = "erase"
    CONSOLIDATE = "consolidate"


class Fact(StrEnum):
    """What can be said about one act."""

    DEGRADED = "degraded"
    """Arms of a recall that were missing, in a fixed order."""
    VISIBLE = "visible"
    """Memories that could have been found."""
    FOUND = "found"
    """Memories that were given, or that a search found; entities that a walk reached."""
    LEFT_OUT = "left_out"
    """Found memories that did not fit the token budget."""
    HOPS = "hops"
    MESSAGES = "messages"
    FRESH = "fresh"
    """Whether a turn was observed for the first time."""
    JOBS = "jobs"
    """Turns or requests in a batch."""
    ATTEMPT = "attempt"
    STORED = "stored"
    REFUSED = "refused"
    OUTCOME = "outcome"
    """How a batch ended: ``stored``, ``given_back``, ``parked``, ``lost`` or ``alone``."""
    REMOVED = "removed"
    CLEAN = "clean"
    """Whether the scan after an erasure found nothing."""


class Count(StrEnum):
    """What is added up; each counts by one word of a short list."""

    DEGRADED = "recalls.degraded"
    """By arm."""
    REFUSED = "relations.refused"
    """By integrity rule."""
    PARKED = "jobs.parked"
    """Turns and requests that went to the dead letters, by name of the error."""
    SIGNS = "signs"
    """Signs of waiting turns that a worker ``taken`` or ``returned``."""
    UNSOUND = "messages.refused"
    """Messages that were refused and put away, by name of the error."""
    TOKENS = "tokens"
    """Spent on extraction: ``input`` and ``output``."""


class Level(StrEnum):
    """What goes up and down; each by one word of a short list."""

    JOBS = "queue.jobs"
    """By state: ``waiting``, ``leased``, ``parked``."""
    OLDEST = "queue.oldest"
    """Seconds since the oldest waiting job was queued; of ``waiting``."""
    EVENTS = "outbox.events"
    """Announced events that are yet to be relayed; of ``waiting``."""
    EVENT_AGE = "outbox.oldest"
    """Seconds since the oldest of these happened; of ``waiting``."""


Told = int | float | bool | str | tuple[str, ...]
"""A number, or words that stand in the source of this program, never in what anybody wrote."""


class Span(Protocol):
    """One act while it is going on."""

    def tell(self, fact: Fact, value: Told) -> None:
        """Say something about it."""
        ...

    def end(self, *, seconds: float, error: str | None) -> None:
        """It is over; `error` names the class of what went wrong."""
        ...


class Telemetry(Protocol):
    """Is told what is done, for those who operate it.

    1. Nothing that it is told names a person, a tenant, an agent, a thread or a memory, or holds
       a text or a part of one.
    2. It neither waits nor raises.
    3. An act that begins while another is going on in the same task is part of that.
    """

    def begin(self, act: Act) -> Span:
        """An act begins; its span is ended by the same task."""
        ...

    def add(self, count: Count, amount: int, *, by: str) -> None:
        """Add to a count."""
        ...

    def set(self, level: Level, value: float, *, by: str) -> None:
        """State a level."""
        ...
