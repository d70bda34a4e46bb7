"""Memories as rows, and back."""

from typing import Any

from ricordo.columns.codec import dumps, loads_all
from ricordo.columns.times import (
    EARLIEST,
    LATEST,
    micros,
    micros_or_none,
    moment,
    moment_or_none,
)
from ricordo.model import (
    Kind,
    Memory,
    Origin,
    RelationClaim,
    Scope,
    Sensitivity,
    Source,
    Status,
    UserScope,
)

NAMES = (
    "id",
    "kind",
    "agent",
    "text",
    "digest",
    "status",
    "source",
    "recorded_at",
    "updated_at",
    "valid_from",
    "valid_until",
    "expires_at",
    "confidence",
    "importance",
    "sensitivity",
    "pinned",
    "recalls",
    "last_recalled_at",
    "version",
    "pending",
    "reasons",
    "replaces",
    "prompt",
    "model",
    "demoted_at",
    "merged_into",
)
COLUMNS = ", ".join(f"m.{name}" for name in NAMES)
_KINDS = {each.value: each for each in Kind}
_STATUSES = {each.value: each for each in Status}
_SOURCES = {each.value: each for each in Source}
_SENSITIVITIES = {each.value: each for each in Sensitivity}

VISIBLE = (Status.ACTIVE, Status.SUPERSEDED)
"""Only these can be found; superseded ones by questions about the past."""


def is_visible(memory: Memory) -> bool:
    """Whether it can be found at all; for one that was merged, the other one is found."""
    return memory.status in VISIBLE and memory.merged_into is None


def memory_values(memory: Memory) -> tuple[Any, ...]:
    """A memory as column values, in the order of `NAMES`."""
    return (
        memory.id,
        memory.kind.value,
        memory.agent,
        memory.text,
        memory.digest,
        memory.status.value,
        memory.source.value,
        micros(memory.recorded_at),
        micros(memory.updated_at),
        micros_or_none(memory.valid_from),
        micros_or_none(memory.valid_until),
        micros_or_none(memory.expires_at),
        memory.confidence,
        memory.importance,
        memory.sensitivity.value,
        int(memory.pinned),
        memory.recalls,
        micros_or_none(memory.last_recalled_at),
        memory.version,
        dumps(memory.pending) if memory.pending else None,
        dumps(memory.reasons) if memory.reasons else None,
        dumps(memory.replaces) if memory.replaces else None,
        memory.prompt,
        memory.model,
        micros_or_none(memory.demoted_at),
        memory.merged_into,
    )


def memory_from(values: tuple[Any, ...], *, scope: Scope, origins: tuple[Origin, ...]) -> Memory:
    """A memory from its column values. A recall makes about a hundred, so it is spelled out."""
    id_, kind, agent, text, _, status, source, recorded_at, updated_at = values[:9]
    valid_from, valid_until, expires_at, confidence, importance, sensitivity = values[9:15]
    pinned, recalls, last_recalled_at, version, pending, reasons, replaces = values[15:22]
    prompt, model, demoted_at, merged_into = values[22:]
    return Memory(
        id=id_,
        scope=scope,
        kind=_KINDS[kind],
        agent=agent,
        text=text,
        status=_STATUSES[status],
        source=_SOURCES[source],
        origins=origins,
        recorded_at=moment(recorded_at),
        updated_at=moment(updated_at),
        valid_from=moment_or_none(valid_from),
        valid_until=moment_or_none(valid_until),
        expires_at=moment_or_none(expires_at),
        confidence=confidence,
        importance=importance,
        sensitivity=_SENSITIVITIES[sensitivity],
        pinned=bool(pinned),
        recalls=recalls,
        last_recalled_at=moment_or_none(last_recalled_at),
        version=version,
        pending=loads_all(RelationClaim, pending),
        reasons=loads_all(str, reasons),
        replaces=loads_all(str, replaces),
        prompt=prompt,
        model=model,
        demoted_at=moment_or_none(demoted_at),
        merged_into=merged_into,
    )


def span(memory: Memory) -> tuple[int, int]:
    """When a memory can be found: its valid time, cut by its expiry unless it is pinned."""
    since = EARLIEST if memory.valid_from is None else micros(memory.valid_from)
    until = LATEST if memory.valid_until is None else micros(memory.valid_until)
    if memory.expires_at is not None and not memory.pinned:
        until = min(until, micros(memory.expires_at))
    return since, until


def with_recalls(
    values: tuple[Any, ...], recalls: int, last_recalled_at: int | None
) -> tuple[Any, ...]:
    """A recall may have been counted since the memory was read; do not lose it."""
    held = dict(zip(NAMES, values, strict=True))
    held["recalls"] = max(held["recalls"], recalls)
    times = [t for t in (held["last_recalled_at"], last_recalled_at) if t is not None]
    held["last_recalled_at"] = max(times, default=None)
    return tuple(held.values())


def author_of(memory: Memory) -> str:
    """Who changed the text: the author of the newest origin, or else whose memory it is."""
    newest = memory.origins[-1] if memory.origins else None
    if newest is not None and newest.author:
        return newest.author
    if isinstance(memory.scope, UserScope):
        return memory.scope.user
    return (newest.agent if newest else None) or ""
