"""Whose conversation a session is: put there by the host, read on every run, never guessed.

The framework's session carries no user. The principal is kept in the session's state as plain
JSON, so it survives `AgentSession.to_dict` and `from_dict`.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from agent_framework import AgentSession

from ricordo.errors import Denied, Invalid
from ricordo.model import Grant, Principal, Role, check_id

IDENTITY_KEY = "ricordo.identity"
"""Key of the principal in a session's state."""

OWNER_KEY = "owner_id"
"""Key of the owner in a session's state, as the framework's `MemoryFileStore` wants it."""

Resolve = Callable[[AgentSession], Principal]
"""Finds the person for whom a run acts; raises `Denied` when nobody is known."""


def new_session(
    session_id: str | None = None, *, principal: Principal, display_id: str | None = None
) -> AgentSession:
    """A session that belongs to `principal`, so that memory knows whose it is.

    Args:
        session_id: the conversation; a new one without. It becomes the origin's `thread_id`.
        principal: the verified person, for example from a checked token.
        display_id: one view for a person, where a user interface has several.
    """
    session = AgentSession(session_id=session_id)
    identify(session, principal=principal, display_id=display_id)
    return session


def identify(session: AgentSession, *, principal: Principal, display_id: str | None = None) -> None:
    """Give a session its person, or renew their grants; call it whenever a session is restored.

    Args:
        display_id: left out, the session keeps the one that it has.

    Raises:
        Denied: the session belongs to somebody else.
        Invalid: a `display_id` that cannot serve as an id.
    """
    if IDENTITY_KEY in session.state:
        known = principal_of(session)
        if (known.tenant, known.user) != (principal.tenant, principal.user):
            raise Denied("the session belongs to somebody else; start a new one")
    identity: dict[str, Any] = {
        "tenant": principal.tenant,
        "user": principal.user,
        "grants": [
            {"role": grant.role.value, "namespace": grant.namespace}
            for grant in sorted(principal.grants, key=_order)
        ],
    }
    known_display = place_of(session).display_id
    if display_id is not None:
        identity["display_id"] = check_id(display_id, what="display_id")
    elif known_display is not None:
        identity["display_id"] = known_display
    session.state[IDENTITY_KEY] = identity
    session.state[OWNER_KEY] = owner_of(principal)


def principal_of(session: AgentSession) -> Principal:
    """The person to whom the session belongs.

    Raises:
        Denied: the session names nobody, or its identity cannot be read. No principal, no memory.
    """
    identity = _identity(session)
    if identity is None:
        raise Denied(
            "the session names no principal, and without one there is no memory; make it with "
            "new_session(principal=...), or call identify(session, principal=...)"
        )
    try:
        return Principal(
            tenant=identity["tenant"],
            user=identity["user"],
            grants=frozenset(
                Grant(role=Role(grant["role"]), namespace=grant["namespace"])
                for grant in identity["grants"]
            ),
        )
    except (KeyError, TypeError, ValueError, Invalid) as error:
        raise Denied(
            f"the session's identity under {IDENTITY_KEY!r} cannot be read "
            f"({type(error).__name__}); call identify(session, principal=...)"
        ) from error


def owner_of(principal: Principal) -> str:
    """One name for tenant and user together, safe as a path and as an id of other stores.

    Two principals never share one: both parts are percent-encoded, so that the colon between them
    and the wildcards, dots and spaces of other systems occur in neither.
    """
    return f"{_encoded(principal.tenant)}:{_encoded(principal.user)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something is said: the ids that become a memory's origin."""

    thread_id: str
    display_id: str | None


def place_of(session: AgentSession) -> Place:
    """Thread and display of a session."""
    identity = _identity(session) or {}
    display = identity.get("display_id")
    return Place(
        thread_id=as_id(session.session_id),
        display_id=as_id(display) if isinstance(display, str) else None,
    )


def as_id(value: str) -> str:
    """`value` where it may serve as an id, else a digest of it: nothing is lost for a bad id."""
    try:
        return check_id(value, what="id")
    except Invalid:
        hashed = hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return f"sha256-{hashed[:40]}"


def _identity(session: AgentSession) -> Mapping[str, Any] | None:
    identity = session.state.get(IDENTITY_KEY)
    return cast("Mapping[str, Any]", identity) if isinstance(identity, Mapping) else None


def _encoded(part: str) -> str:
    return quote(part, safe="").replace(".", "%2E").replace("~", "%7E")


def _order(grant: Grant) -> tuple[str, str]:
    return (grant.namespace or "", grant.role.value)
