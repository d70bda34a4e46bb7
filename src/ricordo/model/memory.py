"""What is remembered: `Memory`, its earlier values, and pages of memories."""

from dataclasses import dataclass
from datetime import datetime

from ricordo.model.graph import RelationClaim
from ricordo.model.ids import check_text, digest
from ricordo.model.kinds import Kind, Sensitivity, Source, Status
from ricordo.model.scope import Origin, Partition, Scope
from ricordo.model.times import check_time

_TIMES = (
    "recorded_at",
    "updated_at",
    "valid_from",
    "valid_until",
    "expires_at",
    "last_recalled_at",
    "demoted_at",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One thing remembered, in exactly one scope.

    Args:
        id: opaque, for example ``m_3f…``.
        scope: whose it is.
        kind: preference or fact.
        text: the memory in words, at most 8,192 characters.
        agent: the agent that learned it; required for a preference.
        status: only `ACTIVE` is recalled.
        source: how it came to be.
        origins: every turn or statement that it came from, oldest first.
        recorded_at: when it entered the ledger (transaction time).
        updated_at: when it last changed.
        valid_from, valid_until: when it is true in the world (valid time); None is open.
        expires_at: not recalled from then on; None is never.
        confidence, importance: from 0 to 1.
        sensitivity: how carefully it must be handled.
        pinned: a person wants it kept at hand; it ranks higher and does not expire.
        recalls, last_recalled_at: how often and when last it was given to an agent.
        demoted_at: since when it ranks lower, for it is stale and unused; None while it does not.
        merged_into: id of the memory that stands for it since consolidation found that both say
            the same; then it is superseded, and never found.
        version: counts its changes from 1; guards against lost updates.
        pending: relations that wait for a person or for the memory's approval.
        reasons: why a person must look at it (names of policy checks).
        replaces: ids of the memories whose place it took, or would take once approved.
        prompt, model: version of the prompt and name of the model that extracted it.
    """

    id: str
    scope: Scope
    kind: Kind
    text: str
    recorded_at: datetime
    updated_at: datetime
    agent: str | None = None
    status: Status = Status.ACTIVE
    source: Source = Source.SAID
    origins: tuple[Origin, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    confidence: float = 1.0
    importance: float = 0.5
    sensitivity: Sensitivity = Sensitivity.NORMAL
    pinned: bool = False
    recalls: int = 0
    last_recalled_at: datetime | None = None
    version: int = 1
    pending: tuple[RelationClaim, ...] = ()
    reasons: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    prompt: str | None = None
    model: str | None = None
    demoted_at: datetime | None = None
    merged_into: str | None = None

    def __post_init__(self) -> None:
        check_text(self.text)
        for what in ("confidence", "importance"):
            if not 0.0 <= getattr(self, what) <= 1.0:
                raise ValueError(f"{what} must lie between 0 and 1")
        if self.kind is Kind.PREFERENCE and self.agent is None:
            raise ValueError("a preference needs the agent that learned it")
        for what in _TIMES:
            at: datetime | None = getattr(self, what)
            if at is not None:
                check_time(at, what=what)

    @property
    def partition(self) -> Partition:
        """What this memory is visible and ranked together with."""
        agent = self.agent if self.kind is Kind.PREFERENCE else None
        return Partition(scope=self.scope, kind=self.kind, agent=agent)

    @property
    def digest(self) -> str:
        """Equal for two memories that say the same in the same words."""
        return digest(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """An earlier text of a memory, kept until the memory is forgotten."""

    memory_id: str
    version: int
    text: str
    replaced_at: datetime
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which memories of a scope to list; None does not restrict.

    Args:
        agents: preferences of these agents only; facts are not restricted by it.
        review: True lists only what waits for a person (proposed, or with pending relations).
        before: recorded before that time.
        after: the cursor that the page before returned.
        limit: at most this many, 1 to 1,000.
    """

    kind: Kind | None = None
    statuses: tuple[Status, ...] | None = None
    agents: tuple[str, ...] | None = None
    thread_id: str | None = None
    review: bool = False
    before: datetime | None = None
    after: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some memories, oldest first, and the cursor to go on with; None at the end."""

    memories: tuple[Memory, ...]
    cursor: str | None
