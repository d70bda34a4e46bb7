"""What is announced of a change, in the event that fits its scope."""

from collections.abc import Sequence

from ricordo.events import (
    Event,
    OrganizationMemoryDocumented,
    OrganizationMemoryRetracted,
    OrganizationMemoryUpdated,
    OrganizationReviewDecided,
    UserMemoryForgotten,
    UserMemoryProposed,
    UserMemoryStored,
    UserMemoryUpdated,
    UserReviewDecided,
)
from ricordo.memory.services import Services
from ricordo.model import Memory, OrganizationScope, Relation, Scope


def stored(memory: Memory, relations: Sequence[Relation], *, services: Services) -> Event:
    """A memory became active, or gained an origin."""
    event_id, at, origins = services.new_id("e"), memory.updated_at, memory.origins
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


def proposed(memory: Memory, *, services: Services) -> Event:
    """A memory waits for a person."""
    if isinstance(memory.scope, OrganizationScope):
        raise TypeError("nothing is inferred for an organization")
    return UserMemoryProposed(
        id=services.new_id("e"),
        at=memory.updated_at,
        scope=memory.scope,
        origins=memory.origins,
        memory_id=memory.id,
        kind=memory.kind,
        reasons=memory.reasons,
    )


def updated(memory: Memory, change: str, *, services: Services) -> Event:
    """A memory changed."""
    event_id, at, origins = services.new_id("e"), memory.updated_at, memory.origins
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


def forgotten(ids: tuple[str, ...], *, scope: Scope, services: Services) -> Event:
    """Memories were removed."""
    event_id, at = services.new_id("e"), services.clock()
    if isinstance(scope, OrganizationScope):
        return OrganizationMemoryRetracted(id=event_id, at=at, scope=scope, memory_ids=ids)
    return UserMemoryForgotten(id=event_id, at=at, scope=scope, memory_ids=ids)
