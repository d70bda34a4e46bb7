"""What can be asked for, each from a body to a result."""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from ricordo.errors import Unreadable
from ricordo.hosts.bus.reading import Fields, claim, names, question, said, stored_text
from ricordo.memory.engine import Ricordo
from ricordo.memory.organization import UNSAID, Unsaid
from ricordo.memory.portable import recollection_record, relation_record
from ricordo.model import Origin, Principal, Turn

Body = Mapping[str, Any]

_MARGIN = 0.9
"""Of a request's time, what a recall may take: it gives what it has rather than nothing."""


async def observe(
    memory: Ricordo, body: Body, *, principal: Principal, seconds: float
) -> Mapping[str, Any]:
    """Queue a turn; ``fresh`` is false where it was observed before."""
    del seconds
    with Fields(body, what="body") as fields:
        at = fields.time("at")
        turn = Turn(
            thread_id=fields.text("thread_id"),
            run_id=fields.text("run_id"),
            agent=fields.text("agent"),
            display_id=fields.text_or_none("display_id"),
            at=at or memory.services.clock().astimezone(UTC),
            said=tuple(said(message) for message in fields.items("messages")),
        )
    if not turn.said:
        raise Unreadable("a turn has at least one message")
    return {"fresh": await memory.user(principal, agent=turn.agent).observe(turn)}


async def recall(
    memory: Ricordo, body: Body, *, principal: Principal, seconds: float
) -> Mapping[str, Any]:
    """Find what helps with a question."""
    with Fields(body, what="body") as fields:
        given = fields.has("namespaces") and body["namespaces"] is not None
        ask: dict[str, Any] = {
            "agent": fields.text_or_none("agent"),
            "limit": fields.whole("limit"),
            "tokens": fields.whole("tokens"),
            "hops": fields.whole("hops"),
            "as_of": fields.time("as_of"),
            "user": fields.flag("user", default=True),
            "organization": fields.flag("organization", default=True),
            "namespaces": names(fields.items("namespaces")) if given else None,
            "explain": fields.flag("explain", default=False),
        }
        if not given:
            fields.items("namespaces")
        origin = Origin(
            at=memory.services.clock(),
            agent=ask["agent"],
            thread_id=fields.text_or_none("thread_id"),
            display_id=fields.text_or_none("display_id"),
            run_id=fields.text_or_none("run_id"),
        )
        asked = question(fields)
    deadline = min(memory.services.bounds.deadline, seconds * _MARGIN)
    known = origin.thread_id or origin.display_id or origin.run_id
    found = await memory.recall(
        asked,
        principal=principal,
        deadline=deadline,
        origin=origin if known else None,
        **ask,
    )
    return recollection_record(found)


async def document(
    memory: Ricordo, body: Body, *, principal: Principal, seconds: float
) -> Mapping[str, Any]:
    """Document a fact for the organization, word for word."""
    del seconds
    with Fields(body, what="body") as fields:
        namespace = _namespace(fields)
        relations = [claim(value) for value in fields.items("relations")]
        importance = fields.number("importance", default=0.5)
        text = stored_text(fields)
    stored = await memory.organization(principal, namespace=namespace).document(
        text, relations=relations, importance=importance
    )
    return {
        "id": stored.memory.id,
        "created": stored.created,
        "relations": [relation_record(relation) for relation in stored.relations],
        "refused": [each.rule.name.lower() for each in stored.refusals if each.rule is not None],
    }


async def forget(
    memory: Ricordo, body: Body, *, principal: Principal, seconds: float
) -> Mapping[str, Any]:
    """Forget one memory of the user, or (``of``) of the organization."""
    del seconds
    with Fields(body, what="body") as fields:
        of = fields.text_or_none("of") or "user"
        id_ = fields.text("id")
        if of == "user":
            mine = memory.user(principal, agent=fields.text_or_none("agent"))
        elif of == "organization":
            mine = memory.organization(principal, namespace=_namespace(fields))
        else:
            raise Unreadable("of is user or organization")
    return {"removed": await mine.forget(id_)}


def _namespace(fields: Fields) -> str | Unsaid | None:
    """The namespace that was named; null is the common one, and none is the only writable one."""
    return fields.text_or_none("namespace") if fields.has("namespace") else UNSAID
