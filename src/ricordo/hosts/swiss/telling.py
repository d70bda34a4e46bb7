"""What the platform is told: answers to a recall, and what was recalled and stored, by ids.

All of it goes out as control events of the run that it is about, nothing as a display event. Only
the answer to a recall carries memories' texts, for that is what was asked for. Where the protocol
has a text in another event, there is an empty one, so that its own classes can read the event.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo.events import (
    Event,
    OrganizationMemoryDocumented,
    OrganizationMemoryUpdated,
    UserMemoryStored,
    UserMemoryUpdated,
)
from ricordo.hosts.swiss.payload import write_event
from ricordo.hosts.swiss.subject import Subject
from ricordo.memory.rendering import render
from ricordo.model import OrganizationScope, Origin, Path, Recalled, Recollection

CONTROL = "ControlEvent"
RECALLED = "MemoryRecalledEvent"
RETRIEVED = ("RetrieveUserMemoryEvent", "RetrieveOrganizationMemoryEvent")
STORED = ("StoreUserMemoryEvent", "StoreOrganizationMemoryEvent")
"""Of a user, and of an organization."""

_NAMES: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    RECALLED: (
        {
            "de": "Erinnerungen abgerufen",
            "en": "Memory recalled",
            "fr": "Mémoire rappelée",
            "it": "Memoria richiamata",
        },
        {
            "de": "Was zur Frage erinnert wird.",
            "en": "What is remembered for the question.",
            "fr": "Ce dont on se souvient pour la question.",
            "it": "Ciò che si ricorda per la domanda.",
        },
    ),
    **dict.fromkeys(
        RETRIEVED,
        (
            {
                "de": "Erinnerungen gefunden",
                "en": "Memories found",
                "fr": "Souvenirs trouvés",
                "it": "Ricordi trovati",
            },
            {
                "de": "Welche Erinnerungen gefunden wurden.",
                "en": "Which memories were found.",
                "fr": "Quels souvenirs ont été trouvés.",
                "it": "Quali ricordi sono stati trovati.",
            },
        ),
    ),
    **dict.fromkeys(
        STORED,
        (
            {
                "de": "Erinnerung gespeichert",
                "en": "Memory stored",
                "fr": "Souvenir enregistré",
                "it": "Ricordo salvato",
            },
            {
                "de": "Welche Erinnerungen sich geändert haben.",
                "en": "Which memories changed.",
                "fr": "Quels souvenirs ont changé.",
                "it": "Quali ricordi sono cambiati.",
            },
        ),
    ),
}
"""By event: its name and description for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A recollection, parted by whose memory it is."""

    user: Recollection
    organization: Recollection


def parted(found: Recollection) -> Found:
    """What was found, by whose memory it is; a walk that touches the user's own graph is theirs."""
    shared = tuple(item for item in found.items if _is_shared(item))
    own = tuple(item for item in found.items if not _is_shared(item))
    walks = tuple(path for path in found.paths if _only_shared(path))
    joined = tuple(path for path in found.paths if not _only_shared(path))
    return Found(
        user=Recollection(items=own, paths=joined),
        organization=Recollection(items=shared, paths=walks),
    )


def recalled(subject: Subject, found: Found | None, *, tool_call_id: str | None, at: int) -> bytes:
    """The answer to a recall: a block each, of one message or of none."""
    fields = {
        "user_block": _block(found.user) if found else [],
        "organization_block": _block(found.organization) if found else [],
        "tool_call_id": tool_call_id,
    }
    return _written(subject, fields, at=at, parents=(CONTROL,))


def retrieved(subject: Subject, found: Recollection, *, owner: str, at: int) -> bytes:
    """Which memories a recall gave.

    Args:
        owner: of the memories: the keyed hash of a person, or a tenant.
    """
    steps = {step.relation_id: None for path in found.paths for step in path.steps}
    fields = {
        "memories": [_memory(item, owner=owner) for item in found.items],
        "relations": [_relation(relation_id) for relation_id in steps],
    }
    return _written(subject, fields, at=at, parents=("BaseRetrieveMemoryEvent", CONTROL))


def stored(subject: Subject, event: Event, *, at: int, model: str) -> bytes:
    """Which memories and relations changed.

    Args:
        model: name of the one that made them of what was said; empty for none.
    """
    added: Sequence[str] = ()
    updated: Sequence[str] = ()
    relations: Sequence[str] = ()
    if isinstance(event, UserMemoryStored | OrganizationMemoryDocumented):
        added, relations = (event.memory_id,), event.relation_ids
    elif isinstance(event, UserMemoryUpdated | OrganizationMemoryUpdated):
        updated = (event.memory_id,)
    fields: dict[str, Any] = {
        "added_memories": list(added),
        "updated_memories": list(updated),
        "deleted_memories": [],
        "added_relations": [_relation(relation_id) for relation_id in relations],
        "deleted_relations": [],
        "llm_model_name": model,
    }
    return _written(subject, fields, at=at, parents=("BaseStoreMemoryEvent", CONTROL))


def _written(
    subject: Subject, fields: Mapping[str, Any], *, at: int, parents: Sequence[str]
) -> bytes:
    name, description = _NAMES[subject.event_name]
    return write_event(subject, fields, at=at, parents=parents, name=name, description=description)


def _block(found: Recollection) -> list[dict[str, Any]]:
    """The rendering as the protocol's messages. In the user's role: what is remembered is data, and
    instructs nobody."""
    text = render(found)
    if not text:
        return []
    block = {"block_type": "text", "text": text}
    return [{"role": "user", "additional_kwargs": {}, "blocks": [block]}]


def _memory(item: Recalled, *, owner: str) -> dict[str, Any]:
    memory = item.memory
    newest = memory.origins[-1] if memory.origins else Origin(at=memory.recorded_at)
    shared = _is_shared(item)
    return {
        "id": memory.id,
        "owner_id": owner,
        "memory": "",
        "score": item.score,
        "created_at": memory.recorded_at.isoformat(),
        "metadata": {
            "_type": "organization" if shared else "user",
            "_user_id": "" if shared else owner,
            "_agent_id": newest.agent or "",
            "_thread_id": newest.thread_id or "",
            "_display_id": newest.display_id or "",
            "_run_id": newest.run_id or "",
        },
    }


def _relation(relation_id: str) -> dict[str, str]:
    return {"id": relation_id, "source": "", "relation": "", "target": ""}


def _is_shared(item: Recalled) -> bool:
    return isinstance(item.memory.scope, OrganizationScope)


def _only_shared(path: Path) -> bool:
    return all(isinstance(step.scope, OrganizationScope) for step in path.steps)
