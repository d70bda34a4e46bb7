"""One event of each kind, every field filled, as it would be announced."""

import json
from dataclasses import fields
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from ricordo.adapters.nats import write_event
from ricordo.events import Event, UserEvent, UserMemoryErased
from ricordo.model import OrganizationScope, Origin, Rule, UserScope
from ricordo.wire import Name, event_subject, name_of, people, subject_key

AT = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
ALICE = UserScope(tenant="acme", user="alice")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")

WITHOUT = frozenset(
    Name(of, thing, happened)
    for of in ("user", "organization")
    for thing, happened in (
        *(("memory", past) for past in ("erased", "forgotten", "retracted")),
        *(("entity", past) for past in ("aliased", "merged", "unmerged")),
        *(("merge", past) for past in ("proposed", "decided")),
        ("turn", "replayed"),
    )
) | {Name("organization", "memory", "recalled")}
"""Events to which no turn or statement led: somebody acted on what is remembered."""


def hashed(person: UserScope) -> str:
    """What stands for a person; a ledger's own is keyed."""
    return sha256(str(person).encode()).hexdigest()


def example(kind: type[Event]) -> Event:
    """An event of that kind."""
    user = issubclass(kind, UserEvent)
    origin = Origin(
        at=AT,
        agent="coder",
        thread_id="thread-7",
        display_id="display-1",
        run_id="run-42",
        author=None if user else "alice",
        message_ids=("message-3",),
    )
    filled: dict[str, Any] = {
        "id": "e_5d0c8a4e21b7f39c6a10",
        "at": AT,
        "scope": ALICE if user else PLATFORM,
        "origins": (origin,),
        "memory_id": "m_0b54c6f1d29e8a7730fd",
        "memory_ids": ("m_0b54c6f1d29e8a7730fd", "m_77aa1c902be4d6f05321"),
        "entity_id": "n_40c2f7e1a95d3b86e012",
        "into_id": "n_9e61d0b7c25f48a3107d",
        "merge_id": "g_c8d2a70915fe36b4d0e7",
        "kind": "fact",
        "reasons": ("special category",),
        "relation_ids": ("r_2f6b90d4ce817a35f1b0",),
        "version": 2,
        "change": "edited",
        "agent": "coder",
        "subject": hashed(ALICE),
        "proposal_id": "p_7c41e8a90d2fb6351e08",
        "refusal_id": "x_1f0e9d8c7b6a59483726",
        "rule": Rule.VOCABULARY,
        "thread_id": "thread-7",
        "run_id": "run-42",
        "reason": "Malformed",
        "approved": True,
        "by": "alice",
    }
    if name_of(kind) in WITHOUT:
        filled["origins"] = ()
    if kind is UserMemoryErased:
        filled |= {"scope": UserScope(tenant="acme", user=hashed(ALICE))}
    return kind(**{field.name: filled[field.name] for field in fields(kind)})


def message(kind: type[Event]) -> Any:
    """Its message, as read from a stream."""
    event = example(kind)
    hashes = {person: hashed(person) for person in people(event)}
    return json.loads(write_event(event, position=1042, hashes=hashes))


def subject(kind: type[Event]) -> str:
    """The subject on which it is announced."""
    event = example(kind)
    key = subject_key(event.scope, person=hashed(ALICE))
    return event_subject(kind, prefix="ricordo", scope=event.scope, key=key)
