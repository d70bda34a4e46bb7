"""Closing what is outdated, putting away what has ended, weighing what is stale."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ricordo.memory import announcing, validity
from ricordo.memory.consolidation.doing import Doing, change, difference
from ricordo.memory.consolidation.strength import is_firm_again, is_weak
from ricordo.model import Memory, PassStep, Relation, Status, StepAct
from ricordo.ports import Writing


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
        await _tell(tx, doing, closed, "closed")
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
    return PassStep(
        act=StepAct.CLOSED, relation_id=old.id, rival_id=rival, before=before, after=after
    )


async def _tell(tx: Writing, doing: Doing, relation: Relation, change: str) -> None:
    event = announcing.relations_changed(
        [relation.id], change, scope=doing.scope, services=doing.services
    )
    await tx.emit(event)


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
    return [await change(tx, doing, memory, StepAct.SUPERSEDED, **fields)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapse:
    """Close a relation whose last day is over."""

    relation_id: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`."""
        for relation in await tx.relations([self.relation_id], scope=doing.scope):
            if relation.closed_at is None and validity.lapsed(relation, at=doing.at):
                closed = replace(relation, closed_at=doing.at)
                await _tell(tx, doing, closed, "lapsed")
                return [await _close(tx, relation, closed)]
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
                    tx, doing, memory, StepAct.EXPIRED, status=Status.SUPERSEDED, demoted_at=None
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
                return [await change(tx, doing, memory, StepAct.DEMOTED, demoted_at=doing.at)]
            if is_firm_again(memory, at=doing.at):
                return [await change(tx, doing, memory, StepAct.PROMOTED, demoted_at=None)]
        return []
