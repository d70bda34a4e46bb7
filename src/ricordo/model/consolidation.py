"""What a pass of consolidation did, step by step, and what it proposes. Ids and numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from ricordo.model.scope import Scope, UserScope

Plain = str | int | float | bool | None
"""A value of a step: a number, a time in ISO 8601, a name of a closed vocabulary; never a text."""


class StepAct(StrEnum):
    """What one step of a pass did."""

    MERGED = "merged"
    """A memory gave way to another one that says the same."""
    GATHERED = "gathered"
    """The other one took over its origins, counters and rank."""
    SUPPORTED = "supported"
    """A relation is from now on supported by the other one."""
    CLOSED = "closed"
    """A relation holds no more, for a later value of it is known, or its time is over."""
    SUPERSEDED = "superseded"
    """Nothing that the memory says still holds."""
    EXPIRED = "expired"
    """The memory's own end has come."""
    DEMOTED = "demoted"
    """Stale and unused: it ranks lower."""
    PROMOTED = "promoted"
    """Used again: it ranks as before."""
    REWORDED = "reworded"
    """Another wording was proposed, as a memory of its own that waits for the person."""
    PAIRED = "paired"
    """It was proposed to merge two entities."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassStep:
    """One change of a pass.

    Args:
        act: what was done.
        memory_id: the memory that changed, or that the relation was taken from.
        other_id: the memory that stands for it, or that it stands for.
        relation_id: the relation that changed.
        rival_id: the relation that took its place.
        before, after: fields by name, as they were and as they became.
        marks: of the origins that the memory did not have before; see `Origin.mark`.
        proposal_id: the proposed merge.
    """

    act: StepAct
    memory_id: str | None = None
    other_id: str | None = None
    relation_id: str | None = None
    rival_id: str | None = None
    before: Mapping[str, Plain] = field(default_factory=dict[str, Plain])
    after: Mapping[str, Plain] = field(default_factory=dict[str, Plain])
    marks: tuple[str, ...] = ()
    proposal_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """A pass over one person's memory, as the ledger remembers it.

    What concerns a memory that was forgotten since is in it no more.
    """

    id: str
    scope: UserScope
    at: datetime
    by: str
    steps: tuple[PassStep, ...] = ()
    undone_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeProposal:
    """Two entities that may be one; a person decides.

    Args:
        source, target: ids; `target` would stand for `source`.
        source_name, target_name: their names.
        reason: why, by name: ``"alias"``, ``"spelling"`` or ``"initials"``.
        pass_id: the pass that proposes it.
        rejected: a person said no; kept so that it is not proposed again.
    """

    id: str
    scope: Scope
    source: str
    target: str
    source_name: str
    target_name: str
    reason: str
    at: datetime
    pass_id: str
    rejected: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to consolidate one person's memory, until it ends by itself."""

    scope: UserScope
    token: str
    seconds: float
