"""What a pass did, or would do: acts, ids and names of rules, never a text."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

from ricordo.model import PassStep, StepAct


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that a pass did.

    Args:
        act: what; see `ricordo.model.StepAct`.
        memory_id, other_id: the memory, and the one that stands for it.
        relation_id, rival_id: the relation, and the one that took its place.
        proposal_id: the proposed merge of two entities.
    """

    act: StepAct
    memory_id: str | None = None
    other_id: str | None = None
    relation_id: str | None = None
    rival_id: str | None = None
    proposal_id: str | None = None


_PARTS = (StepAct.GATHERED, StepAct.SUPPORTED)
"""Steps that belong to another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsolidationReport:
    """What a pass over one person's memory did.

    Args:
        pass_id: what `undo_consolidation` takes; None where nothing changed, or of a dry run.
        dry_run: True when nothing was changed.
        at: when it began.
        examined: memories that were looked at.
        changes: what was done, in order.
        undecided: single-valued relations with two current values of which nothing tells the later.
        notes: why something was left out, in words.
    """

    pass_id: str | None
    dry_run: bool
    at: datetime
    examined: int = 0
    changes: tuple[Change, ...] = ()
    undecided: int = 0
    notes: tuple[str, ...] = field(default=())

    @property
    def counts(self) -> dict[str, int]:
        """How often each act was done; those that were not are left out."""
        return dict(Counter(change.act.value for change in self.changes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What undoing a pass did.

    Args:
        pass_id: the pass.
        restored: steps that were taken back.
        kept: steps that were not, for what they changed has changed again since.
    """

    pass_id: str
    restored: int
    kept: int


def changes_of(steps: list[PassStep]) -> tuple[Change, ...]:
    """The steps as a person sees them."""
    shown = [step for step in steps if step.act not in _PARTS]
    firsts = {s.memory_id: s for s in reversed(shown) if s.act is StepAct.REWORDED}
    return tuple(
        Change(
            act=step.act,
            memory_id=step.memory_id,
            other_id=step.other_id,
            relation_id=step.relation_id,
            rival_id=step.rival_id,
            proposal_id=step.proposal_id,
        )
        for step in shown
        if step.act is not StepAct.REWORDED or firsts[step.memory_id] is step
    )
