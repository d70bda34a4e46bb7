"""Reads a memory back from a record, as an export wrote it or a person typed it, and stores it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from ricordo.errors import Invalid
from ricordo.memory import announcing
from ricordo.memory.records import storable
from ricordo.memory.services import Services
from ricordo.memory.storing import relate, together
from ricordo.model import (
    EntityClaim,
    Kind,
    Memory,
    OrganizationScope,
    Origin,
    Refusal,
    RelationClaim,
    Scope,
    Sensitivity,
    Source,
    Status,
    UserScope,
    check_id,
    check_text,
    digest,
)
from ricordo.ports import Writing

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restorable:
    """A memory read from a record: its final state, its earlier texts, what it relates."""

    memory: Memory
    earlier: tuple[str, ...] = ()
    claims: tuple[RelationClaim, ...] = ()


def read_record(
    record: Mapping[str, Any], *, scope: Scope, agent: str, now: datetime
) -> Restorable:
    """The memory in a record, moved to `scope`.

    Args:
        record: needs ``text``; every other field of an export is used where it is there.
        agent: whose preferences those are that name no agent.
        now: when it was said, where the record does not tell.

    Raises:
        Invalid: a field of the wrong type or out of range (the message names it), or a secret.
    """
    text = storable(record.get("text"))
    kind = (
        Kind.FACT
        if isinstance(scope, OrganizationScope)
        else _one_of(Kind, record, "kind", default=Kind.FACT)
    )
    origins = tuple(_origin(item) for item in _list(record, "origin"))
    learned_by = _text(record, "agent") or (agent if kind is Kind.PREFERENCE else None)
    try:
        memory = Memory(
            id=_id(record, text, scope=scope),
            scope=scope,
            kind=kind,
            text=text,
            agent=learned_by,
            status=_one_of(Status, record, "status", default=Status.ACTIVE),
            source=_one_of(Source, record, "source", default=Source.IMPORTED),
            origins=origins or (Origin(at=now, agent=agent),),
            recorded_at=_time(record, "recorded_at") or now,
            updated_at=_time(record, "updated_at") or now,
            valid_from=_time(record, "valid_from"),
            valid_until=_time(record, "valid_until"),
            expires_at=_time(record, "expires_at"),
            confidence=_share(record, "confidence", default=1.0),
            importance=_share(record, "importance", default=0.5),
            sensitivity=_one_of(Sensitivity, record, "sensitivity", default=Sensitivity.NORMAL),
            pinned=record.get("pinned") is True,
            pending=tuple(_claim(item) for item in _list(record, "pending")),
            reasons=tuple(str(item) for item in _list(record, "reasons")),
            prompt=_text(record, "prompt"),
            model=_text(record, "model"),
            demoted_at=_time(record, "demoted_at"),
        )
    except ValueError as error:
        raise Invalid(str(error)) from error
    relations = [_object(item, "relations") for item in _list(record, "relations")]
    return Restorable(
        memory=memory,
        earlier=tuple(
            storable(_object(item, "history").get("text")) for item in _list(record, "history")
        ),
        claims=tuple(_claim(item) for item in relations if item.get("closed_at") is None),
    )


async def restore(services: Services, found: Restorable, *, by: str) -> bool:
    """Store a memory that was read from a record; False if it was there already.

    Its earlier texts become history again, and its relations go through the integrity rules like
    any others. The same text that is there already gains the origins it lacks.
    """
    memory = found.memory
    texts = (*found.earlier, memory.text)
    indexed = await services.indexed(texts)
    space = await services.space()

    async def work(tx: Writing) -> tuple[bool, tuple[Refusal, ...]]:
        if await _known(tx, memory):
            return False, ()
        refusals: tuple[Refusal, ...] = ()
        for at, (text, row) in enumerate(zip(texts, indexed, strict=True), start=1):
            await tx.put(replace(memory, text=text, version=at), indexed=row, space=space)
        final = replace(memory, version=len(texts))
        if final.status is Status.ACTIVE:
            _, refusals = await relate(tx, final, found.claims, services=services)
        await tx.audit("import", by=by, scope=memory.scope, subjects=[memory.id])
        await tx.emit(announcing.updated(final, "imported", services=services))
        return True, refusals

    fresh, refusals = await services.ledger.write(work, scope=memory.scope)
    services.measures.refused(refusals)
    return fresh


async def _known(tx: Writing, memory: Memory) -> bool:
    if await tx.memories([memory.id], scope=memory.scope):
        return True
    known = await tx.same_text(memory.digest, partition=memory.partition)
    if known is None:
        return False
    origins = together(known.origins, memory.origins)
    if origins != known.origins:
        merged = replace(known, origins=origins, version=known.version + 1)
        await tx.put(merged, indexed=None, space=None)
    return True


def _id(record: Mapping[str, Any], text: str, *, scope: Scope) -> str:
    """Its own id in the scope that it comes from; elsewhere one that is the same every time."""
    given = record.get("id")
    if given is not None and _same_scope(record.get("scope"), scope):
        return check_id(given, what="id")
    return f"m_{digest(f'{scope} {given or text}')[:20]}"


def _same_scope(value: object, scope: Scope) -> bool:
    if not isinstance(value, Mapping):
        return False
    named = cast("Mapping[str, object]", value)
    if named.get("tenant") != scope.tenant:
        return False
    if isinstance(scope, UserScope):
        return named.get("user") == scope.user
    return "user" not in named and named.get("namespace") == scope.namespace


def _claim(value: object) -> RelationClaim:
    item = _object(value, "relation")
    return RelationClaim(
        source=EntityClaim(name=_needed(item, "source"), type=_text(item, "source_type")),
        relation=_needed(item, "relation"),
        target=EntityClaim(name=_needed(item, "target"), type=_text(item, "target_type")),
        valid_from=_time(item, "valid_from"),
        valid_until=_time(item, "valid_until"),
        confidence=_share(item, "confidence", default=1.0),
    )


def _origin(value: object) -> Origin:
    item = _object(value, "origin")
    at = _time(item, "at")
    if at is None:
        raise Invalid("an origin needs a time, 'at'")
    return Origin(
        at=at,
        agent=_text(item, "agent"),
        thread_id=_text(item, "thread_id"),
        display_id=_text(item, "display_id"),
        run_id=_text(item, "run_id"),
        author=_text(item, "author"),
        message_ids=tuple(str(part) for part in _list(item, "message_ids")),
        quote=_text(item, "quote"),
    )


def _object(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Invalid(f"{what} must be an object, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def _list(record: Mapping[str, Any], name: str) -> Sequence[object]:
    value: object = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Invalid(f"{name} must be a list, not {type(value).__name__}")
    return cast("list[object]", value)


def _text(record: Mapping[str, Any], name: str) -> str | None:
    value: object = record.get(name)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{name} must be a string, not {type(value).__name__}")
    return value


def _needed(record: Mapping[str, Any], name: str) -> str:
    return check_text(record.get(name), what=name)


def _one_of(closed: type[E], record: Mapping[str, Any], name: str, *, default: E) -> E:
    value = _text(record, name)
    try:
        return default if value is None else closed(value)
    except ValueError as error:
        allowed = ", ".join(closed)
        raise Invalid(f"{name} is one of {allowed}") from error


def _share(record: Mapping[str, Any], name: str, *, default: float) -> float:
    value: object = record.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Invalid(f"{name} must be a number from 0 to 1")
    return float(value)


def _time(record: Mapping[str, Any], name: str) -> datetime | None:
    value = _text(record, name)
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError as error:
        raise Invalid(f"{name} must be an ISO 8601 time") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)
