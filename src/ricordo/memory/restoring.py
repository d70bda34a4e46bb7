"""Reads a memory back from a record, as an export wrote it or a person typed it, and stores it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from ricordo.errors import Invalid
from ricordo.memory import announcing
from ricordo.memory.fields import (
    a_count,
    a_list,
    a_share,
    a_text,
    a_time,
    an_object,
    needed,
    one_of,
)
from ricordo.memory.records import storable
from ricordo.memory.restoring_graph import ToldNames
from ricordo.memory.services import Services
from ricordo.memory.storing import relate, together
from ricordo.model import (
    EntityClaim,
    Kind,
    Memory,
    OrganizationScope,
    Origin,
    Refusal,
    Relation,
    RelationClaim,
    Scope,
    Sensitivity,
    Source,
    Status,
    UserScope,
    check_id,
    digest,
)
from ricordo.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Restorable:
    """A memory read from a record: its final state, its earlier texts, what it relates.

    Attributes:
        merged_into: id of the memory that stands for it; see `stand_in`.
    """

    memory: Memory
    earlier: tuple[str, ...] = ()
    claims: tuple[RelationClaim, ...] = ()
    merged_into: str | None = None


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
        else one_of(Kind, record, "kind", default=Kind.FACT)
    )
    origins = tuple(_origin(item) for item in a_list(record, "origin"))
    learned_by = a_text(record, "agent") or (agent if kind is Kind.PREFERENCE else None)
    try:
        memory = Memory(
            id=_id(record, text, scope=scope),
            scope=scope,
            kind=kind,
            text=text,
            agent=learned_by,
            status=one_of(Status, record, "status", default=Status.ACTIVE),
            source=one_of(Source, record, "source", default=Source.IMPORTED),
            origins=origins or (Origin(at=now, agent=agent),),
            recorded_at=a_time(record, "recorded_at") or now,
            updated_at=a_time(record, "updated_at") or now,
            valid_from=a_time(record, "valid_from"),
            valid_until=a_time(record, "valid_until"),
            expires_at=a_time(record, "expires_at"),
            confidence=a_share(record, "confidence", default=1.0),
            importance=a_share(record, "importance", default=0.5),
            sensitivity=one_of(Sensitivity, record, "sensitivity", default=Sensitivity.NORMAL),
            pinned=record.get("pinned") is True,
            pending=tuple(_claim(item) for item in a_list(record, "pending")),
            reasons=tuple(str(item) for item in a_list(record, "reasons")),
            replaces=tuple(
                _moved_id(item, record, scope=scope) for item in a_list(record, "replaces")
            ),
            recalls=a_count(record, "recalls"),
            last_recalled_at=a_time(record, "last_recalled_at"),
            prompt=a_text(record, "prompt"),
            model=a_text(record, "model"),
            demoted_at=a_time(record, "demoted_at"),
        )
    except ValueError as error:
        raise Invalid(str(error)) from error
    stands = a_text(record, "merged_into")
    relations = [an_object(item, "relations") for item in a_list(record, "relations")]
    return Restorable(
        memory=memory,
        earlier=tuple(
            storable(an_object(item, "history").get("text")) for item in a_list(record, "history")
        ),
        claims=tuple(_claim(item) for item in relations if item.get("closed_at") is None),
        merged_into=None if stands is None else _moved_id(stands, record, scope=scope),
    )


async def restore(
    services: Services, found: Restorable, *, by: str, names: ToldNames | None = None
) -> bool:
    """Store a memory that was read from a record; False if it was there already.

    Its earlier texts become history again, and its relations go through the integrity rules like
    any others. The same text that is there already gains the origins it lacks.

    Args:
        names: which names mean the same, where the file told.
    """
    memory = found.memory
    [indexed] = await services.indexed([memory.text])
    space = await services.space()

    async def work(tx: Writing) -> tuple[bool, tuple[Refusal, ...]]:
        if await _known(tx, memory, services=services):
            return False, ()
        relations: tuple[Relation, ...] = ()
        refusals: tuple[Refusal, ...] = ()
        for at, text in enumerate(found.earlier, start=1):
            # An earlier text may be what another memory says now: a past that clashes with nothing.
            past = replace(memory, text=text, version=at, status=Status.SUPERSEDED)
            await tx.put(past, indexed=None, space=None)
        final = replace(memory, version=len(found.earlier) + 1)
        await tx.put(final, indexed=indexed, space=space)
        if final.status is Status.ACTIVE:
            said_in = None
            if final.source is Source.INFERRED and names is not None:
                # As for whatever a model found; its words may have another name for an end.
                said = (final.text, *(o.quote for o in final.origins if o.quote is not None))
                said_in = (*said, *names.meant_in(said, found.claims))
            relations, refusals = await relate(
                tx, final, found.claims, services=services, named_in=said_in
            )
        await tx.audit("import", by=by, scope=memory.scope, subjects=[memory.id])
        await tx.emit(announcing.entered(final, relations, services=services))
        return True, refusals

    fresh, refusals = await services.ledger.write(work, scope=memory.scope)
    services.measures.refused(refusals)
    return fresh


async def _known(tx: Writing, memory: Memory, *, services: Services) -> bool:
    if await tx.memories([memory.id], scope=memory.scope):
        return True
    if memory.status is Status.SUPERSEDED:
        return False  # what was true once is not what is said now, in the same words
    known = await tx.same_text(memory.digest, partition=memory.partition)
    if known is None:
        return False
    origins = together(known.origins, memory.origins)
    if origins != known.origins:
        merged = replace(known, origins=origins, version=known.version + 1)
        await tx.put(merged, indexed=None, space=None)
        await tx.emit(announcing.entered(merged, (), services=services))
    return True


async def stand_in(services: Services, merged: Mapping[str, str], *, scope: Scope, by: str) -> int:
    """Let memories stand for others that were merged into them, as records told.

    This comes last, for the one that stands may come later in a file than what it stands for.

    Args:
        merged: by id, the id of the memory that stands for it. Those that are not here, or still
            hold by themselves, are left as they are.
    """

    async def work(tx: Writing) -> int:
        ids = list(dict.fromkeys((*merged, *merged.values())))
        known = {memory.id: memory for memory in await tx.memories(ids, scope=scope)}
        changed: list[str] = []
        for memory_id, stands in merged.items():
            memory = known.get(memory_id)
            fits = memory is not None and stands in known and stands != memory_id
            if memory is None or not fits or memory.status is not Status.SUPERSEDED:
                continue
            if memory.merged_into is not None or memory.partition != known[stands].partition:
                continue
            joined = replace(memory, merged_into=stands, version=memory.version + 1)
            await tx.put(joined, indexed=None, space=None)
            await tx.emit(announcing.updated(joined, "imported", services=services))
            changed.append(memory_id)
        if changed:
            await tx.audit("import", by=by, scope=scope, subjects=changed)
        return len(changed)

    return await services.ledger.write(work, scope=scope) if merged else 0


def _moved_id(value: object, record: Mapping[str, Any], *, scope: Scope) -> str:
    """The id that a memory of the same export gets in this scope."""
    return _id({"id": value, "scope": record.get("scope")}, "", scope=scope)


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
    item = an_object(value, "relation")
    return RelationClaim(
        source=EntityClaim(name=needed(item, "source"), type=a_text(item, "source_type")),
        relation=needed(item, "relation"),
        target=EntityClaim(name=needed(item, "target"), type=a_text(item, "target_type")),
        valid_from=a_time(item, "valid_from"),
        valid_until=a_time(item, "valid_until"),
        confidence=a_share(item, "confidence", default=1.0),
    )


def _origin(value: object) -> Origin:
    item = an_object(value, "origin")
    at = a_time(item, "at")
    if at is None:
        raise Invalid("an origin needs a time, 'at'")
    return Origin(
        at=at,
        agent=a_text(item, "agent"),
        thread_id=a_text(item, "thread_id"),
        display_id=a_text(item, "display_id"),
        run_id=a_text(item, "run_id"),
        author=a_text(item, "author"),
        message_ids=tuple(str(part) for part in a_list(item, "message_ids")),
        quote=a_text(item, "quote"),
    )
