"""What can happen: one frozen class each, distinct for user and organization memory.

Events carry ids and origins, never a memory's text. They are written to the ledger's outbox in the
same transaction as what they announce, and leave from there at least once, in order per scope.
"""

from dataclasses import dataclass, field
from datetime import datetime

from ricordo.model import OrganizationScope, Origin, Rule, Scope, UserScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened in one scope.

    Args:
        id: unique; a second delivery of the same event has the same id.
        at: when it became true.
        scope: where.
        origins: the turns or statements that led to it, oldest first; but last the one that led to
            what is announced.
    """

    id: str
    at: datetime
    scope: Scope
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEvent(Event):
    """Something happened in a user's memory."""

    scope: UserScope


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationEvent(Event):
    """Something happened in an organization's memory."""

    scope: OrganizationScope


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryProposed(UserEvent):
    """An inferred memory waits for a person."""

    memory_id: str
    kind: str
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryRefused(UserEvent):
    """What a model made of a turn was no memory; it is kept for the user to see."""

    refusal_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryStored(UserEvent):
    """A memory became active, or gained an origin when it was said again."""

    memory_id: str
    kind: str
    relation_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryUpdated(UserEvent):
    """A memory changed: edited, pinned, superseded, put in order, or given relations."""

    memory_id: str
    version: int
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryForgotten(UserEvent):
    """Memories were removed, with everything derived from them."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryRecalled(UserEvent):
    """Memories were given to an agent."""

    memory_ids: tuple[str, ...]
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMemoryErased(UserEvent):
    """A person was erased. The scope's user is replaced by the keyed hash of the receipt."""

    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationMemoryDocumented(OrganizationEvent):
    """A fact was documented for an organization."""

    memory_id: str
    relation_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationMemoryUpdated(OrganizationEvent):
    """A documented fact changed: edited, pinned, superseded, or given relations."""

    memory_id: str
    version: int
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationMemoryRetracted(OrganizationEvent):
    """Documented facts were removed, with everything derived from them."""

    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationMemoryRecalled(OrganizationEvent):
    """Documented facts were given to an agent."""

    memory_ids: tuple[str, ...]
    agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRelationRefused(UserEvent):
    """A relation in a user's memory broke an integrity rule; it is kept for the user to see."""

    refusal_id: str
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationRelationRefused(OrganizationEvent):
    """A documented relation broke an integrity rule; it is kept for a curator to see."""

    refusal_id: str
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class UserRelationUpdated(UserEvent):
    """Relations of a user's graph changed by themselves: a newer value closed them, their last day
    was over, or a pass that had closed them was taken back."""

    relation_ids: tuple[str, ...]
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationRelationUpdated(OrganizationEvent):
    """Relations of an organization's graph were closed by a newer value."""

    relation_ids: tuple[str, ...]
    change: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParked(UserEvent):
    """A turn could not be extracted and went to the dead letters."""

    thread_id: str
    run_id: str
    reason: str = field(default="")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReplayed(UserEvent):
    """A turn left the dead letters, and is tried anew."""

    thread_id: str
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserReviewDecided(UserEvent):
    """A user approved or rejected what was proposed for their memory."""

    memory_id: str
    approved: bool
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationReviewDecided(OrganizationEvent):
    """A curator approved or rejected what was proposed for an organization's memory."""

    memory_id: str
    approved: bool
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMergeProposed(UserEvent):
    """A pass found two entities of a user's graph that seem to be one; it waits for a person."""

    proposal_id: str
    entity_id: str
    into_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMergeDecided(UserEvent):
    """A user approved or rejected that two entities become one."""

    proposal_id: str
    entity_id: str
    into_id: str
    approved: bool
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntityAliased(UserEvent):
    """An entity of a user's graph got another name."""

    entity_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntityMerged(UserEvent):
    """Two entities of a user's graph became one, which the other stands for."""

    entity_id: str
    into_id: str
    merge_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserEntityUnmerged(UserEvent):
    """A merge of two entities of a user's graph was taken back."""

    entity_id: str
    into_id: str
    merge_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationEntityAliased(OrganizationEvent):
    """An entity of an organization's graph got another name."""

    entity_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationEntityMerged(OrganizationEvent):
    """Two entities of an organization's graph became one, which the other stands for."""

    entity_id: str
    into_id: str
    merge_id: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationEntityUnmerged(OrganizationEvent):
    """A merge of two entities of an organization's graph was taken back."""

    entity_id: str
    into_id: str
    merge_id: str
    by: str


ALL: tuple[type[Event], ...] = (
    OrganizationEntityAliased,
    OrganizationEntityMerged,
    OrganizationEntityUnmerged,
    OrganizationMemoryDocumented,
    OrganizationMemoryRecalled,
    OrganizationMemoryRetracted,
    OrganizationMemoryUpdated,
    OrganizationRelationRefused,
    OrganizationRelationUpdated,
    OrganizationReviewDecided,
    TurnParked,
    TurnReplayed,
    UserEntityAliased,
    UserEntityMerged,
    UserEntityUnmerged,
    UserMemoryErased,
    UserMemoryForgotten,
    UserMemoryProposed,
    UserMemoryRecalled,
    UserMemoryRefused,
    UserMemoryStored,
    UserMemoryUpdated,
    UserMergeDecided,
    UserMergeProposed,
    UserRelationRefused,
    UserRelationUpdated,
    UserReviewDecided,
)
"""Every event that can be announced."""
