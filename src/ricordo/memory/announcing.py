"""What is announced of a change, in the event that fits its scope."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from ricordo.events import (
    Event,
    OrganizationEntityAliased,
    OrganizationEntityMerged,
    OrganizationEntityUnmerged,
    OrganizationEvent,
    OrganizationMemoryDocumented,
    OrganizationMemoryRetracted,
    OrganizationMemoryUpdated,
    OrganizationRelationUpdated,
    OrganizationReviewDecided,
    UserEntityAliased,
    UserEntityMerged,
    UserEntityUnmerged,
    UserEvent,
    UserMemoryForgotten,
    UserMemoryProposed,
    UserMemoryRefused,
    UserMemoryStored,
    UserMemoryUpdated,
    UserMergeDecided,
    UserMergeProposed,
    UserRelationUpdated,
    UserReviewDecided,
)
from ricordo.memory.services import Services
from ricordo.model import (
    Memory,
    MergeProposal,
    OrganizationScope,
    Origin,
    Refusal,
    Relation,
    Scope,
    Status,
    UserScope,
)


class Telling(TypedDict):
    """Who changed the names of a scope's entities."""

    by: str
    scope: Scope
    services: Services


@dataclass(frozen=True, slots=True)
class _Twins:
    """What may happen to a user's and to an organization's memory: two events, the same fields."""

    user: Callable[..., UserEvent]
    organization: Callable[..., OrganizationEvent]

    def event(
        self, scope: Scope, *, services: Services, at: datetime | None = None, **told: object
    ) -> Event:
        """The one that fits the scope; of now, unless `at` says when."""
        kind = self.organization if isinstance(scope, OrganizationScope) else self.user
        return kind(id=services.new_id("e"), at=at or services.clock(), scope=scope, **told)

    def of(
        self, memory: Memory, *, services: Services, cause: Sequence[Origin] = (), **told: object
    ) -> Event:
        """The one of a memory, from when it was changed last; `cause` led to that."""
        return self.event(
            memory.scope,
            services=services,
            at=memory.updated_at,
            origins=_ending(memory.origins, cause),
            memory_id=memory.id,
            **told,
        )


_UPDATED = _Twins(UserMemoryUpdated, OrganizationMemoryUpdated)
_FORGOTTEN = _Twins(UserMemoryForgotten, OrganizationMemoryRetracted)
_DECIDED = _Twins(UserReviewDecided, OrganizationReviewDecided)
_RELATIONS_UPDATED = _Twins(UserRelationUpdated, OrganizationRelationUpdated)
_ALIASED = _Twins(UserEntityAliased, OrganizationEntityAliased)
_MERGED = _Twins(UserEntityMerged, OrganizationEntityMerged)
_UNMERGED = _Twins(UserEntityUnmerged, OrganizationEntityUnmerged)

_IN_ONE = 1_000
"""Memories that one event tells of at most."""


def stored(
    memory: Memory,
    relations: Sequence[Relation],
    *,
    services: Services,
    cause: Sequence[Origin] = (),
) -> Event:
    """A memory became active, or gained an origin.

    Args:
        cause: what led to it just now.
    """
    event_id, at = services.new_id("e"), memory.updated_at
    origins = _ending(memory.origins, cause)
    relation_ids = tuple(relation.id for relation in relations)
    if isinstance(memory.scope, OrganizationScope):
        return OrganizationMemoryDocumented(
            id=event_id,
            at=at,
            scope=memory.scope,
            origins=origins,
            memory_id=memory.id,
            relation_ids=relation_ids,
        )
    return UserMemoryStored(
        id=event_id,
        at=at,
        scope=memory.scope,
        origins=origins,
        memory_id=memory.id,
        kind=memory.kind,
        relation_ids=relation_ids,
    )


def proposed(memory: Memory, *, services: Services, cause: Sequence[Origin] = ()) -> Event:
    """A memory waits for a person; `cause` led to it just now."""
    if isinstance(memory.scope, OrganizationScope):
        raise TypeError("nothing is inferred for an organization")
    return UserMemoryProposed(
        id=services.new_id("e"),
        at=memory.updated_at,
        scope=memory.scope,
        origins=_ending(memory.origins, cause),
        memory_id=memory.id,
        kind=memory.kind,
        reasons=memory.reasons,
    )


def entered(memory: Memory, relations: Sequence[Relation], *, services: Services) -> Event:
    """A memory came from a file: as what it came, and where it is only history, as imported."""
    if memory.status is Status.ACTIVE:
        return stored(memory, relations, services=services)
    if memory.status is Status.PROPOSED and isinstance(memory.scope, UserScope):
        return proposed(memory, services=services)
    return updated(memory, "imported", services=services)


def refused(refusal: Refusal, *, scope: UserScope, services: Services) -> Event:
    """What a model made of a turn was no memory."""
    origins = () if refusal.origin is None else (refusal.origin,)
    return UserMemoryRefused(
        id=services.new_id("e"),
        at=refusal.at,
        scope=scope,
        origins=origins,
        refusal_id=refusal.id,
    )


def relations_changed(
    ids: Sequence[str],
    change: str,
    *,
    scope: Scope,
    services: Services,
    origins: Sequence[Origin] = (),
) -> Event:
    """Relations changed by themselves.

    Args:
        origins: of what closed them, where something did.
    """
    return _RELATIONS_UPDATED.event(
        scope,
        services=services,
        origins=tuple(origins),
        relation_ids=tuple(ids),
        change=change,
    )


def merge_proposed(proposal: MergeProposal, *, scope: UserScope, services: Services) -> Event:
    """Two entities seem to be one."""
    return UserMergeProposed(
        id=services.new_id("e"),
        at=proposal.at,
        scope=scope,
        proposal_id=proposal.id,
        entity_id=proposal.source,
        into_id=proposal.target,
    )


def merge_decided(
    proposal: MergeProposal, *, approved: bool, by: str, scope: UserScope, services: Services
) -> Event:
    """A person decided on a proposed merge."""
    return UserMergeDecided(
        id=services.new_id("e"),
        at=services.clock(),
        scope=scope,
        proposal_id=proposal.id,
        entity_id=proposal.source,
        into_id=proposal.target,
        approved=approved,
        by=by,
    )


def updated(
    memory: Memory, change: str, *, services: Services, cause: Sequence[Origin] = ()
) -> Event:
    """A memory changed.

    Args:
        cause: what led to it, where that is known.
    """
    return _UPDATED.of(
        memory, services=services, cause=cause, version=memory.version, change=change
    )


def decided(memory: Memory, *, approved: bool, by: str, services: Services) -> Event:
    """A person decided on a proposal."""
    return _DECIDED.of(memory, services=services, approved=approved, by=by)


def forgotten(ids: Sequence[str], *, scope: Scope, services: Services) -> list[Event]:
    """Memories were removed: events of so many each that none is too large for a message."""
    parts = (tuple(ids[first : first + _IN_ONE]) for first in range(0, len(ids), _IN_ONE))
    return [_FORGOTTEN.event(scope, services=services, memory_ids=part) for part in parts]


def _ending(origins: Sequence[Origin], cause: Sequence[Origin]) -> tuple[Origin, ...]:
    """All of these, oldest first; but those last that led to what is announced."""
    last = set(cause)
    return (*(origin for origin in origins if origin not in last), *dict.fromkeys(cause))


def aliased(entity_id: str, *, by: str, scope: Scope, services: Services) -> Event:
    """An entity got another name."""
    return _ALIASED.event(scope, services=services, entity_id=entity_id, by=by)


def merged(
    merge_id: str, ends: Sequence[str], *, by: str, scope: Scope, services: Services
) -> Event:
    """The first entity is one with the second from now on."""
    entity_id, into_id = ends
    return _MERGED.event(
        scope, services=services, entity_id=entity_id, into_id=into_id, merge_id=merge_id, by=by
    )


def unmerged(
    merge_id: str, ends: Sequence[str], *, by: str, scope: Scope, services: Services
) -> Event:
    """The two entities are two again."""
    entity_id, into_id = ends
    return _UNMERGED.event(
        scope, services=services, entity_id=entity_id, into_id=into_id, merge_id=merge_id, by=by
    )
