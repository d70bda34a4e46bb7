"""What the acts of a pass have in common. Each runs inside a transaction, looks again, and tells
step by step what it did; what has changed since it was planned is left to the next pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from ricordo.memory import announcing
from ricordo.memory.services import Services
from ricordo.model import (
    Memory,
    Pass,
    PassStep,
    Plain,
    Relation,
    StepAct,
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
    tx: Writing, doing: Doing, old: Memory, act: StepAct, *, other: str | None = None, **fields: Any
) -> PassStep:
    """Store a memory with some fields changed, announce it, and tell the step."""
    new = replace(old, **fields, updated_at=doing.at, version=old.version + 1)
    await tx.put(new, indexed=None, space=None)
    await tx.emit(announcing.updated(new, act.value, services=doing.services))
    before, after = difference(old, new, *fields)
    return PassStep(act=act, memory_id=old.id, other_id=other, before=before, after=after)
