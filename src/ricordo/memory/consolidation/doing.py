"""The acts of a pass. Each runs inside a transaction, looks again, and tells step by step what it
did; what has changed since it was planned is left to the next pass."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from ricordo.memory import announcing, validity
from ricordo.memory.consolidation.strength import is_firm_again, is_weak
from ricordo.memory.services import Services
from ricordo.memory.storing import together
from ricordo.model import (
    Act,
    Memory,
    MergeProposal,
    Pass,
    PassStep,
    Plain,
    Relation,
    Sensitivity,
    Status,
    UserScope,
)
from ricordo.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing:
    """One pass on its way: where, when, and with what."""

    services: Services
    scope: UserScope
    pass_id: str
    at: datetime
    by: str

    def record(self, steps: Sequence[PassStep] = ()) -> Pass:
        """The record of the pass, with some of its steps."""
        return Pass(id=self.pass_id, scope=self.scope, at=self.at, by=self.by, steps=tuple(steps))


class Action(Protocol):
    """Something that a pass means to do."""

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """Do it; no steps where it is not to be done any more."""
        ...


def difference(
    old: Memory | Relation, new: Memory | Relation, *names: str
) -> tuple[Mapping[str, Plain], Mapping[str, Plain]]:
    """Those of the named fields that differ: as they were, and as they are."""
    before, after = ({n: _plain(getattr(one, n)) for n in names} for one in (old, new))
    changed = [name for name in names if before[name] != after[name]]
    return {n: before[n] for n in changed}, {n: after[n] for n in changed}


def _plain(value: Any) -> Plain:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, StrEnum) else value


async def change(
    tx: Writing, doing: Doing, old: Memory, act: Act, *, other: str | None = None, **fields: Any
) -> PassStep:
    """Store a memory with some fields changed, announce it, and tell the step."""
    new = replace(old, **fields, updated_at=doing.at, version=old.version + 1)
    await tx.put(new, indexed=None, space=None)
    await tx.emit(announcing.updated(new, act.value, services=doing.services))
    before, after = difference(old, new, *fields)
    return PassStep(act=act, memory_id=old.id, other_id=other, before=before, after=after)


GATHERED = (
    "confidence",
    "importance",
    "sensitivity",
    "pinned",
    "recalls",
    "last_recalled_at",
    "recorded_at",
    "valid_from",
    "demoted_at",
)
"""What a memory takes over from one that says the same, besides its origins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Let one memory stand for others that say the same."""

    keep: tuple[str, int]
    drop: tuple[tuple[str, int], ...]

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`. Nothing of what was merged is lost: the others are superseded."""
        wanted = dict((self.keep, *self.drop))
        found = await tx.memories(list(wanted), scope=doing.scope)
        same = [m for m in found if m.version == wanted[m.id] and m.status is Status.ACTIVE]
        if len(same) < 2 or same[0].id != self.keep[0]:
            return []
        first, keep = same[0], same[0]
        steps: list[PassStep] = []
        for drop in same[1:]:
            keep, gathered = _gather(keep, drop)
            steps.append(gathered)
            steps += [step async for step in _support(tx, doing, first.id, drop.id)]
            merged = await change(
                tx, doing, drop, Act.MERGED, other=first.id,
                status=Status.SUPERSEDED, merged_into=first.id,
            )  # fmt: skip
            steps.append(merged)
        keep = replace(keep, updated_at=doing.at, version=first.version + 1)
        await tx.put(keep, indexed=None, space=None)
        await tx.emit(announcing.updated(keep, Act.GATHERED.value, services=doing.services))
        return steps


def _gather(keep: Memory, drop: Memory) -> tuple[Memory, PassStep]:
    ranks = list(Sensitivity)
    known = {origin.mark for origin in keep.origins}
    recalled = [m.last_recalled_at for m in (keep, drop) if m.last_recalled_at is not None]
    demoted = [m.demoted_at for m in (keep, drop) if m.demoted_at is not None]
    new = replace(
        keep,
        origins=together(keep.origins, drop.origins),
        confidence=max(keep.confidence, drop.confidence),
        importance=max(keep.importance, drop.importance),
        sensitivity=max(keep.sensitivity, drop.sensitivity, key=ranks.index),
        pinned=keep.pinned or drop.pinned,
        recalls=keep.recalls + drop.recalls,
        last_recalled_at=max(recalled, default=None),
        recorded_at=min(keep.recorded_at, drop.recorded_at),
        valid_from=keep.valid_from or drop.valid_from,
        demoted_at=max(demoted) if len(demoted) == 2 else None,
    )
    before, after = difference(keep, new, *GATHERED)
    marks = tuple(origin.mark for origin in drop.origins if origin.mark not in known)
    step = PassStep(
        act=Act.GATHERED,
        memory_id=keep.id,
        other_id=drop.id,
        before=before,
        after=after,
        marks=marks,
    )
    return new, step


async def _support(tx: Writing, doing: Doing, keep: str, drop: str) -> AsyncIterator[PassStep]:
    """Let the relations of `drop` be supported by `keep` instead."""
    for relation in await tx.relations_of([drop], scope=doing.scope):
        joined = keep not in relation.evidence
        evidence = dict.fromkeys(keep if each == drop else each for each in relation.evidence)
        await tx.put_relation(replace(relation, evidence=tuple(evidence)))
        yield PassStep(
            act=Act.SUPPORTED,
            memory_id=drop,
            other_id=keep,
            relation_id=relation.id,
            after={"joined": joined},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Close:
    """End a value of a single-valued relation where a later one is known."""

    relation_id: str
    rival_id: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`. A memory that has nothing left that holds is superseded."""
        wanted = [self.relation_id, self.rival_id]
        found = {r.id: r for r in await tx.relations(wanted, scope=doing.scope)}
        if len(found) < 2 or found[self.relation_id].closed_at is not None:
            return []
        closed = validity.ended(
            found[self.relation_id], by=holding(found[self.rival_id], at=doing.at), at=doing.at
        )
        steps = [await _close(tx, found[self.relation_id], closed, rival=self.rival_id)]
        for memory in await tx.memories(closed.evidence, scope=doing.scope):
            steps += await _retire(tx, doing, memory)
        return steps


def holding(relation: Relation, *, at: datetime) -> validity.Holds:
    """When a stored relation holds, as if it were stated now."""
    return validity.Holds(
        since=relation.valid_from,
        until=relation.valid_until,
        said=min(validity.said_at(relation), at),
    )


async def _close(
    tx: Writing, old: Relation, closed: Relation, *, rival: str | None = None
) -> PassStep:
    await tx.put_relation(closed)
    before, after = difference(old, closed, "closed_at", "valid_until")
    return PassStep(act=Act.CLOSED, relation_id=old.id, rival_id=rival, before=before, after=after)


async def _retire(tx: Writing, doing: Doing, memory: Memory) -> list[PassStep]:
    """Supersede a memory all of whose relations are closed; one that ends later, then."""
    relations = await tx.relations_of([memory.id], scope=doing.scope)
    if memory.status is not Status.ACTIVE or any(r.closed_at is None for r in relations):
        return []
    until = max(relation.valid_until or doing.at for relation in relations)
    if memory.valid_until is not None:
        until = min(until, memory.valid_until)
    fields: dict[str, Any] = {"valid_until": until}
    if until <= doing.at:
        fields["status"] = Status.SUPERSEDED
    return [await change(tx, doing, memory, Act.SUPERSEDED, **fields)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """Close a relation whose last day is over."""

    relation_id: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`."""
        for relation in await tx.relations([self.relation_id], scope=doing.scope):
            if relation.closed_at is None and validity.lapsed(relation, at=doing.at):
                return [await _close(tx, relation, replace(relation, closed_at=doing.at))]
        return []


def end_of(memory: Memory) -> datetime | None:
    """When a memory ends by itself: by its expiry, or because it is true no more."""
    ends = [end for end in (memory.expires_at, memory.valid_until) if end is not None]
    return min(ends, default=None)


def is_over(memory: Memory, *, at: datetime) -> bool:
    """Whether an active memory has come to its end. What a person pinned has none here."""
    end = end_of(memory)
    over = end is not None and end <= at
    return over and memory.status is Status.ACTIVE and not memory.pinned


@dataclass(frozen=True, slots=True, kw_only=True)
class Expire:
    """Put away a memory whose end has come."""

    memory_id: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`. Relations that only it supports are closed with it."""
        steps: list[PassStep] = []
        for memory in await tx.memories([self.memory_id], scope=doing.scope):
            end = end_of(memory)
            if end is None or not is_over(memory, at=doing.at):
                continue
            steps.append(
                await change(
                    tx, doing, memory, Act.EXPIRED, status=Status.SUPERSEDED, demoted_at=None
                )
            )
            for relation in await tx.relations_of([memory.id], scope=doing.scope):
                if relation.closed_at is None and relation.evidence == (memory.id,):
                    until = min(relation.valid_until or end, end)
                    closed = replace(relation, closed_at=doing.at, valid_until=until)
                    steps.append(await _close(tx, relation, closed))
        return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh:
    """Demote what is weak; promote what is firm again."""

    memory_id: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`."""
        for memory in await tx.memories([self.memory_id], scope=doing.scope):
            if is_weak(memory, at=doing.at):
                return [await change(tx, doing, memory, Act.DEMOTED, demoted_at=doing.at)]
            if is_firm_again(memory, at=doing.at):
                return [await change(tx, doing, memory, Act.PROMOTED, demoted_at=None)]
        return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Propose that two entities are one."""

    source: str
    target: str
    source_name: str
    target_name: str
    reason: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`."""
        ends = await tx.entities_by_id([self.source, self.target], scope=doing.scope)
        if len(ends) < 2 or any(entity.merged_into for entity in ends.values()):
            return []
        known = await tx.merge_proposals(scope=doing.scope)
        if any({one.source, one.target} == {self.source, self.target} for one in known):
            return []  # proposed before, perhaps rejected
        # The record of the pass first: the proposal refers to it.
        await tx.note(doing.record(), scope=doing.scope)
        proposal = MergeProposal(
            id=doing.services.new_id("p"),
            scope=doing.scope,
            source=self.source,
            target=self.target,
            source_name=self.source_name,
            target_name=self.target_name,
            reason=self.reason,
            at=doing.at,
            pass_id=doing.pass_id,
        )
        await tx.propose_merge(proposal, scope=doing.scope)
        return [PassStep(act=Act.PAIRED, proposal_id=proposal.id)]
