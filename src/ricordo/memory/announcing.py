"""What is announced of a change, in the event that fits its scope."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from ricordo.events import (
    Event,
    OrganizationEntityAliased,
    OrganizationEntityMerged,
    OrganizationEntityUnmerged,
    OrganizationMemoryDocumented,
    OrganizationMemoryRetracted,
    OrganizationMemoryUpdated,
    OrganizationRelationUpdated,
    OrganizationReviewDecided,
    UserEntityAliased,
    UserEntityMerged,
    UserEntityUnmerged,
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
    event_id, at = services.new_id("e"), services.clock()
    if isinstance(scope, OrganizationScope):
        return OrganizationRelationUpdated(
            id=event_id,
            at=at,
            scope=scope,
            origins=tuple(origins),
            relation_ids=tuple(ids),
            change=change,
        )
    return UserRelationUpdated(
        id=event_id,
        at=at,
        scope=scope,
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
    event_id, at = services.new_id("e"), memory.updated_at
    origins = _ending(memory.origins, cause)
    if isinstance(memory.scope, OrganizationScope):
        return OrganizationMemoryUpdated(
            id=event_id,
            at=at,
            scope=memory.scope,
            origins=origins,
            memory_id=memory.id,
            version=memory.version,
            change=change,
        )
    return UserMemoryUpdated(
        id=event_id,
        at=at,
        scope=memory.scope,
        origins=origins,
        memory_id=memory.id,
        version=memory.version,
        change=change,
    )


def decided(memory: Memory, *, approved: bool, by: str, services: Services) -> Event:
    """A person decided on a proposal."""
    event_id, at, origins = services.new_id("e"), memory.updated_at, memory.origins
    if isinstance(memory.scope, OrganizationScope):
        return OrganizationReviewDecided(
            id=event_id,
            at=at,
            scope=memory.scope,
            origins=origins,
            memory_id=memory.id,
            approved=approved,
            by=by,
        )
    return UserReviewDecided(
        id=event_id,
        at=at,
        scope=memory.scope,
        origins=origins,
        memory_id=memory.id,
        approved=approved,
        by=by,
    )


def forgotten(ids: Sequence[str], *, scope: Scope, services: Services) -> list[Event]:
    """Memories were removed: events of so many each that none is too large for a message."""
    return [
        _forgotten(tuple(ids[first : first + _IN_ONE]), scope=scope, services=services)
        for first in range(0, len(ids), _IN_ONE)
    ]


def _ending(origins: Sequence[Origin], cause: Sequence[Origin]) -> tuple[Origin, ...]:
    """All of these, oldest first; but those last that led to what is announced."""
    last = set(cause)
    return (*(origin for origin in origins if origin not in last), *dict.fromkeys(cause))


def _forgotten(ids: tuple[str, ...], *, scope: Scope, services: Services) -> Event:
    event_id, at = services.new_id("e"), services.clock()
    if isinstance(scope, OrganizationScope):
        return OrganizationMemoryRetracted(id=event_id, at=at, scope=scope, memory_ids=ids)
    return UserMemoryForgotten(id=event_id, at=at, scope=scope, memory_ids=ids)


def aliased(entity_id: str, *, by: str, scope: Scope, services: Services) -> Event:
    """An entity got another name."""
    event_id, at = services.new_id("e"), services.clock()
    if isinstance(scope, OrganizationScope):
        return OrganizationEntityAliased(
            id=event_id, at=at, scope=scope, entity_id=entity_id, by=by
        )
    return UserEntityAliased(id=event_id, at=at, scope=scope, entity_id=entity_id, by=by)


def merged(
    merge_id: str, ends: Sequence[str], *, by: str, scope: Scope, services: Services
) -> Event:
    """The first entity is one with the second from now on."""
    kind = _Joined(UserEntityMerged, OrganizationEntityMerged)
    return kind.event(merge_id, ends, by=by, scope=scope, services=services)


def unmerged(
    merge_id: str, ends: Sequence[str], *, by: str, scope: Scope, services: Services
) -> Event:
    """The two entities are two again."""
    kind = _Joined(UserEntityUnmerged, OrganizationEntityUnmerged)
    return kind.event(merge_id, ends, by=by, scope=scope, services=services)


@dataclass(frozen=True, slots=True)
class _Joined:
    """The two events of what happens to a merge."""

    user: type[UserEntityMerged] | type[UserEntityUnmerged]
    organization: type[OrganizationEntityMerged] | type[OrganizationEntityUnmerged]

    def event(
        self, merge_id: str, ends: Sequence[str], *, by: str, scope: Scope, services: Services
    ) -> Event:
        entity_id, into_id = ends
        event_id, at = services.new_id("e"), services.clock()
        if isinstance(scope, OrganizationScope):
            return self.organization(
                id=event_id,
                at=at,
                scope=scope,
                entity_id=entity_id,
                into_id=into_id,
                merge_id=merge_id,
                by=by,
            )
        return self.user(
            id=event_id,
            at=at,
            scope=scope,
            entity_id=entity_id,
            into_id=into_id,
            merge_id=merge_id,
            by=by,
        )
