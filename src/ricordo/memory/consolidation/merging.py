"""Letting one memory stand for others that say the same."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from ricordo.memory import announcing
from ricordo.memory.consolidation.doing import Doing, change, difference
from ricordo.memory.storing import together
from ricordo.model import Memory, PassStep, Sensitivity, Status, StepAct
from ricordo.ports import Writing

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
                tx, doing, drop, StepAct.MERGED, other=first.id,
                status=Status.SUPERSEDED, merged_into=first.id,
            )  # fmt: skip
            steps.append(merged)
        keep = replace(keep, updated_at=doing.at, version=first.version + 1)
        await tx.put(keep, indexed=None, space=None)
        await tx.emit(announcing.updated(keep, StepAct.GATHERED.value, services=doing.services))
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
        act=StepAct.GATHERED,
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
            act=StepAct.SUPPORTED,
            memory_id=drop,
            other_id=keep,
            relation_id=relation.id,
            after={"joined": joined},
        )
