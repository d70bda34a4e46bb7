"""The subjects of the Swiss AI Agent Protocol: where an event happened, in nine tokens.

agent.RAGAgent.hr.thread-1.display-1.run-1.control_event.RecallMemoryEvent.65f0…
prefix class   id thread   display   run   sort          name              event
"""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

from ricordo.errors import Invalid, Unreadable
from ricordo.model import check_id

PREFIX = "agent"

_FORBIDDEN = re.compile(r"[.*>\s\ufffd]")
"""The last of them stands where a subject held bytes that are no text."""

_IDS = ("agent_class", "agent_id", "thread_id", "display_id", "run_id", "event_name", "event_id")


class Sort(StrEnum):
    """Whether an event may have consequences."""

    CONTROL = "control_event"
    """It may trigger work."""
    DISPLAY = "display_event"
    """It is shown to people, and never triggers anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Where one event happened.

    Every id can serve as one (`ricordo.model.check_id`) and is one token: without a dot, ``*``,
    ``>`` or white space. An agent's class has no slash, so `agent` names one agent only.

    Raises:
        Unreadable: a token that is none; the message says which, and not what it holds.
    """

    agent_class: str
    agent_id: str
    thread_id: str
    display_id: str
    run_id: str
    sort: Sort
    event_name: str
    event_id: str

    def __post_init__(self) -> None:
        for what in _IDS:
            token(getattr(self, what), what=what)
        if "/" in self.agent_class:
            raise Unreadable("agent_class holds a slash")
        _checked(self.agent, what="agent class and id together")

    @classmethod
    def parse(cls, subject: str) -> Self:
        """Read a subject. Raises `Unreadable`."""
        parts = subject.split(".")
        if len(parts) != 9 or parts[0] != PREFIX:
            raise Unreadable(f"the subject has {len(parts)} tokens; an event of an agent has 9")
        if parts[6] not in tuple(Sort):
            raise Unreadable("the subject is neither of a control event nor of a display event")
        return cls(
            agent_class=parts[1],
            agent_id=parts[2],
            thread_id=parts[3],
            display_id=parts[4],
            run_id=parts[5],
            sort=Sort(parts[6]),
            event_name=parts[7],
            event_id=parts[8],
        )

    def __str__(self) -> str:
        where = (self.agent_class, self.agent_id, self.thread_id, self.display_id, self.run_id)
        return ".".join((PREFIX, *where, self.sort, self.event_name, self.event_id))

    @property
    def agent(self) -> str:
        """The agent as memory knows it: class and id."""
        return agent_of(self.agent_class, self.agent_id)

    @property
    def run_control(self) -> str:
        """A pattern of all control events of the same run."""
        where = (self.agent_class, self.agent_id, self.thread_id, self.display_id, self.run_id)
        return ".".join((PREFIX, *where, Sort.CONTROL, "*", "*"))

    @property
    def run_alike(self) -> str:
        """A pattern of all control events of the same run and name."""
        where = (self.agent_class, self.agent_id, self.thread_id, self.display_id, self.run_id)
        return ".".join((PREFIX, *where, Sort.CONTROL, self.event_name, "*"))

    def control(self, event_name: str, *, event_id: str) -> "Subject":
        """The subject of a control event of the same run."""
        return replace(self, sort=Sort.CONTROL, event_name=event_name, event_id=event_id)


def agent_of(agent_class: str, agent_id: str) -> str:
    """The agent of that class and id, as memory knows it. A class has no slash."""
    return f"{agent_class}/{agent_id}"


def control_events(event_name: str) -> str:
    """A pattern of all control events of that name."""
    return f"{PREFIX}.*.*.*.*.*.{Sort.CONTROL}.{event_name}.*"


def token(value: object, *, what: str) -> str:
    """`value` where it is one token of a subject. Raises `Unreadable`."""
    found = _checked(value, what=what)
    if _FORBIDDEN.search(found):
        raise Unreadable(f"{what} holds a dot, an asterisk, a >, white space or no text")
    return found


def _checked(value: object, *, what: str) -> str:
    try:
        return check_id(value, what=what)
    except Invalid as error:
        # The message would show the beginning of what came from outside.
        raise Unreadable(f"{what} cannot serve as an id") from error
