"""One scene of the demonstration: what happened, as plain data for a screen or a script."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ricordo.memory.rendering import path_line
from ricordo.model import (
    Kind,
    Memory,
    OrganizationScope,
    Path,
    Recalled,
    Receipt,
    Recollection,
    Refusal,
    Relation,
    UserScope,
)

Plain = dict[str, Any]
"""JSON-ready data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What one scene showed.

    Args:
        title: what it proves, in words.
        at: the story's time.
        who, agent, thread: who talked to which agent, in which conversation.
        said, answer: the words of both, where somebody talked.
        recalled: memories given to the agent before it answered, each with origin and reason.
        paths: walks that led through the graphs.
        learned: what was remembered afterwards.
        documented: what was written for the organization.
        refused: items of the model that did not pass the checks, with the reason.
        receipt: of an erasure.
        note: what else there is to say.
    """

    title: str
    at: str
    who: str
    agent: str | None = None
    thread: str | None = None
    said: str | None = None
    answer: str | None = None
    model: str | None = None
    recalled: Sequence[Plain] | None = None
    paths: Sequence[Plain] = ()
    degraded: Sequence[str] = ()
    took_ms: float | None = None
    learned: Sequence[Plain] | None = None
    documented: Sequence[Plain] = ()
    refused: Sequence[Plain] = ()
    receipt: Plain | None = None
    note: str | None = None

    def plain(self, number: int) -> Plain:
        """The scene as JSON-ready data, without what it does not have."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        kept = {name: value for name, value in fields.items() if value not in (None, ())}
        return {"step": number, **kept}


@dataclass(slots=True)
class Overheard:
    """What providers recalled, by conversation; filled by their `on_recall` hook."""

    by_thread: dict[str, Recollection] = field(default_factory=dict[str, Recollection])

    def note(self, session: Any, found: Recollection) -> None:
        """Keep the newest recollection of a conversation."""
        self.by_thread[session.session_id] = found


def recalled(item: Recalled) -> Plain:
    """A recalled memory: what, from where, and why."""
    shown = memory(item.memory)
    shown["score"] = round(item.score, 3)
    shown["why"] = {name: round(value, 3) for name, value in sorted(item.signals.items())}
    if item.path is not None:
        shown["path"] = path_line(item.path)
    return shown


def memory(one: Memory) -> Plain:
    """A memory with where it comes from and who sees it."""
    newest = one.origins[-1] if one.origins else None
    shown: Plain = {
        "id": one.id,
        "kind": one.kind.value,
        "text": one.text,
        "scope": str(one.scope),
        "seen_by": seen_by(one),
        "status": one.status.value,
    }
    if newest is not None:
        places = {
            "agent": newest.agent,
            "thread_id": newest.thread_id,
            "at": newest.at.isoformat(timespec="seconds"),
            "author": newest.author,
            "quote": newest.quote,
        }
        shown["origin"] = {name: value for name, value in places.items() if value is not None}
    if one.prompt is not None:
        shown["extracted_by"] = {"model": one.model, "prompt": one.prompt}
    return shown


def seen_by(one: Memory) -> str:
    """Who is ever given this memory, in words."""
    if isinstance(one.scope, OrganizationScope):
        return f"everybody who may read {one.scope.namespace or 'the organization'}"
    if one.kind is Kind.PREFERENCE:
        return f"{one.agent}, for {one.scope.user}"
    return f"every agent that serves {one.scope.user}"


def relation(edge: Relation) -> str:
    """An edge as an arrow."""
    return f"{edge.source_name} —{edge.type}→ {edge.target_name}"


def path(walk: Path) -> Plain:
    """A walk, with the graph that each step is in."""
    return {
        "text": path_line(walk),
        "steps": [
            {
                "source": step.source,
                "relation": step.type,
                "target": step.target,
                "graph": "user" if isinstance(step.scope, UserScope) else str(step.scope),
            }
            for step in walk.steps
        ],
    }


def refused(one: Refusal) -> Plain:
    """What did not pass, and by which rule."""
    shown = {"reason": one.reason, "rule": one.rule.value if one.rule else None, "text": one.text}
    return {name: value for name, value in shown.items() if value is not None}


def receipt(given: Receipt) -> Plain:
    """Proof of an erasure."""
    return {
        "subject": given.subject,
        "erased_at": given.erased_at.isoformat(timespec="seconds"),
        "removed": {place: n for place, n in sorted(given.removed.items()) if n},
        "remaining": dict(sorted(given.remaining.items())),
        "clean": given.clean,
        "log_cleared": given.log_cleared,
    }
