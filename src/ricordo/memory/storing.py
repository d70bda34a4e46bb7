"""How a memory enters a scope, and how a newer one takes its place. Runs inside a transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.memory import announcing
from ricordo.memory.integrity import admit
from ricordo.memory.services import Services
from ricordo.model import (
    Indexed,
    Memory,
    Origin,
    Refusal,
    Relation,
    RelationClaim,
    Scope,
    Source,
    Space,
    Status,
)
from ricordo.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What became of something said.

    Args:
        memory: as it now stands; its status tells whether a person must still approve it.
        created: False when the same was remembered before and only gained an origin.
        relations: relations that entered the graph, or gained evidence.
        refusals: relations that broke a rule, each with the rule's name.
    """

    memory: Memory
    created: bool
    relations: tuple[Relation, ...] = ()
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory about to be stored, made ready to be found."""

    memory: Memory
    claims: tuple[RelationClaim, ...]
    indexed: Indexed
    space: Space


async def store(tx: Writing, draft: Draft, *, services: Services) -> Stored:
    """Store a draft once: the same text in the same partition gains an origin instead.

    An active memory's claims go through the integrity rules at once; a proposed one keeps them
    until it is approved.
    """
    memory = draft.memory
    known = await tx.same_text(memory.digest, partition=memory.partition)
    if known is not None and _was_true(known, memory):
        # True once, and now again: the two are not one memory.
        await supersede(
            tx,
            [known.id],
            scope=known.scope,
            at=memory.updated_at,
            services=services,
            cause=memory.origins,
        )
        known = None
    if known is None:
        return await _create(tx, draft, services=services)
    if known.status is Status.REJECTED and memory.source is Source.INFERRED:
        return Stored(memory=known, created=False)  # a person said no; a model may not insist
    status = Status.ACTIVE if Status.ACTIVE in (known.status, memory.status) else known.status
    merged = replace(
        known,
        status=status,
        origins=together(known.origins, memory.origins),
        confidence=max(known.confidence, memory.confidence),
        pinned=known.pinned or memory.pinned,
        expires_at=memory.expires_at if _expired(known, memory) else known.expires_at,
        reasons=() if status is Status.ACTIVE else known.reasons,
        demoted_at=None,  # said again
        updated_at=memory.updated_at,
        version=known.version + 1,
    )
    claims = draft.claims
    if status is Status.ACTIVE:
        claims = (*known.pending, *claims) if known.status is Status.PROPOSED else claims
        merged = replace(merged, pending=()) if known.status is Status.PROPOSED else merged
    else:
        merged = replace(merged, pending=tuple(dict.fromkeys((*known.pending, *claims))))
    await tx.put(merged, indexed=None, space=None)
    return await _settle(tx, merged, claims, created=False, services=services, cause=memory.origins)


def _was_true(known: Memory, said: Memory) -> bool:
    until = known.valid_until
    return known.status is Status.ACTIVE and until is not None and until <= said.updated_at


def _expired(known: Memory, said: Memory) -> bool:
    return known.expires_at is not None and known.expires_at <= said.updated_at


async def _create(tx: Writing, draft: Draft, *, services: Services) -> Stored:
    memory = draft.memory
    if memory.status is Status.PROPOSED:
        memory = replace(memory, pending=draft.claims)
    await tx.put(memory, indexed=draft.indexed, space=draft.space)
    return await _settle(
        tx, memory, draft.claims, created=True, services=services, cause=memory.origins
    )


async def _settle(
    tx: Writing,
    memory: Memory,
    claims: Sequence[RelationClaim],
    *,
    created: bool,
    services: Services,
    cause: Sequence[Origin],
) -> Stored:
    """Admit the claims of an active memory, let it take others' places, and announce it."""
    if memory.status is not Status.ACTIVE:
        if memory.status is Status.PROPOSED:
            await tx.emit(announcing.proposed(memory, services=services, cause=cause))
        return Stored(memory=memory, created=created)
    relations, refusals = await relate(tx, memory, claims, services=services, cause=cause)
    if memory.replaces and created:
        await supersede(
            tx,
            memory.replaces,
            scope=memory.scope,
            at=memory.updated_at,
            services=services,
            cause=cause,
        )
    await tx.emit(announcing.stored(memory, relations, services=services, cause=cause))
    return Stored(memory=memory, created=created, relations=relations, refusals=refusals)


async def relate(
    tx: Writing,
    memory: Memory,
    claims: Sequence[RelationClaim],
    *,
    services: Services,
    named_in: Sequence[str] | None = None,
    cause: Sequence[Origin] | None = None,
) -> tuple[tuple[Relation, ...], tuple[Refusal, ...]]:
    """Let an active memory's claims into the graph, and retire memories whose value they replace.

    Args:
        named_in: texts in which a model that proposed the claims must have found their ends.
        cause: origins of the memory that led to it just now; without any, the newest.

    Returns the relations admitted and the refusals kept.
    """
    if not claims:
        return (), ()
    cause = memory.origins[-1:] if cause is None else cause
    admission = await admit(
        tx,
        claims,
        scope=memory.scope,
        memory=memory,
        vocabulary=services.vocabulary,
        at=memory.updated_at,
        new_id=services.new_id,
        named_in=named_in,
    )
    if admission.closed:
        event = announcing.relations_changed(
            [relation.id for relation in admission.closed],
            "closed",
            scope=memory.scope,
            services=services,
            origins=cause,
        )
        await tx.emit(event)
    await _retire(tx, admission.closed, memory, services=services, cause=cause)
    return admission.relations, admission.refusals


async def _retire(
    tx: Writing,
    closed: Sequence[Relation],
    newer: Memory,
    *,
    services: Services,
    cause: Sequence[Origin],
) -> None:
    """Supersede memories all of whose relations are closed: nothing that they say still holds.

    One whose value ends only later (somebody moves next month) stays active until then.
    """
    scope, at = newer.scope, newer.updated_at
    candidates = dict.fromkeys(m for relation in closed for m in relation.evidence)
    for memory_id in candidates:
        relations = await tx.relations_of([memory_id], scope=scope)
        if memory_id == newer.id or any(relation.closed_at is None for relation in relations):
            continue
        until = max(relation.valid_until or at for relation in relations)
        if until <= at:
            await supersede(tx, [memory_id], scope=scope, at=at, services=services, cause=cause)
        else:
            await _limit(tx, memory_id, newer, until=until, services=services, cause=cause)


async def _limit(
    tx: Writing,
    memory_id: str,
    newer: Memory,
    *,
    until: datetime,
    services: Services,
    cause: Sequence[Origin],
) -> None:
    [memory] = await tx.memories([memory_id], scope=newer.scope)
    limited = replace(
        memory, valid_until=until, updated_at=newer.updated_at, version=memory.version + 1
    )
    await tx.put(limited, indexed=None, space=None)
    await tx.emit(announcing.updated(limited, "limited", services=services, cause=cause))


async def supersede(
    tx: Writing,
    ids: Sequence[str],
    *,
    scope: Scope,
    at: datetime,
    services: Services,
    cause: Sequence[Origin] = (),
) -> None:
    """Close active memories at `at`: found no more, except by questions about the past.

    Relations that only they support are closed with them.

    Args:
        cause: where what takes their place was said.
    """
    for memory in await tx.memories(ids, scope=scope):
        if memory.status is not Status.ACTIVE:
            continue
        until = min(memory.valid_until, at) if memory.valid_until else at
        closed = replace(
            memory,
            status=Status.SUPERSEDED,
            pending=(),
            valid_until=until,
            updated_at=at,
            version=memory.version + 1,
        )
        await tx.put(closed, indexed=None, space=None)
        await close_relations(tx, memory.id, scope=scope, at=at)
        await tx.emit(announcing.updated(closed, "superseded", services=services, cause=cause))


async def close_relations(tx: Writing, memory_id: str, *, scope: Scope, at: datetime) -> None:
    """Close the current relations that this memory alone supports."""
    for relation in await tx.relations_of([memory_id], scope=scope):
        if relation.closed_at is None and relation.evidence == (memory_id,):
            until = min(relation.valid_until, at) if relation.valid_until else at
            await tx.put_relation(replace(relation, closed_at=at, valid_until=until))


def together(known: Sequence[Origin], new: Sequence[Origin]) -> tuple[Origin, ...]:
    """Origins of both, each once, oldest first."""
    return tuple(sorted(dict.fromkeys((*known, *new)), key=lambda origin: origin.at))
