"""Who asks, and where a memory belongs: `Principal`, `Grant`, `Scope`, `Partition`, `Origin`."""

import hashlib
from dataclasses import astuple, dataclass, field
from datetime import datetime
from enum import StrEnum

from ricordo.model.ids import check_id
from ricordo.model.kinds import Kind
from ricordo.model.times import check_time


class Role(StrEnum):
    """What a principal may do in a namespace; each role includes the ones before it."""

    READER = "reader"
    CURATOR = "curator"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """1 for a reader, 2 for a curator, 3 for an admin."""
        return (Role.READER, Role.CURATOR, Role.ADMIN).index(self) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """One role in one namespace of the principal's tenant.

    Args:
        role: what may be done there.
        namespace: the department; None is the tenant's own, common namespace, not "all".
    """

    role: Role
    namespace: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "role", Role(self.role))
        if self.namespace is not None:
            check_id(self.namespace, what="namespace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A verified person in a tenant, with the namespaces that they may use.

    The host makes it from a verified token or from its own session, never from a model's words.

    Args:
        tenant: id of the tenant.
        user: id of the person within the tenant.
        grants: rights in organization namespaces; none means none.

    Raises:
        Invalid: an id that cannot serve as one.
    """

    tenant: str
    user: str
    grants: frozenset[Grant] = field(default_factory=frozenset[Grant])

    def __post_init__(self) -> None:
        check_id(self.tenant, what="tenant")
        check_id(self.user, what="user")
        object.__setattr__(self, "grants", frozenset(self.grants))


@dataclass(frozen=True, slots=True, kw_only=True)
class UserScope:
    """Everything that belongs to one user of one tenant."""

    tenant: str
    user: str

    def __post_init__(self) -> None:
        check_id(self.tenant, what="tenant")
        check_id(self.user, what="user")

    def __str__(self) -> str:
        return f"user:{self.tenant}/{self.user}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationScope:
    """Everything that belongs to one namespace of one tenant; None is the tenant's common one."""

    tenant: str
    namespace: str | None = None

    def __post_init__(self) -> None:
        check_id(self.tenant, what="tenant")
        if self.namespace is not None:
            check_id(self.namespace, what="namespace")

    def __str__(self) -> str:
        return f"organization:{self.tenant}/{self.namespace or ''}"


Scope = UserScope | OrganizationScope
"""Where a memory belongs; minted by `ricordo.access` from a principal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """What is visible together, and so is ranked together.

    One user's facts, one user's preferences at one agent, or one namespace's facts.
    """

    scope: Scope
    kind: Kind
    agent: str | None = None

    def __post_init__(self) -> None:
        if (self.agent is not None) != (self.kind is Kind.PREFERENCE):
            raise ValueError("a preference partition has an agent, a fact partition has none")
        if self.kind is Kind.PREFERENCE and not isinstance(self.scope, UserScope):
            raise ValueError("only a user has preferences")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a memory comes from: one turn, or one deliberate statement.

    Args:
        agent: the agent that heard it.
        at: when it was said, with a time zone.
        thread_id: the conversation or goal; the unit of access control.
        display_id: one view for a person.
        run_id: one start-to-stop execution.
        author: id of the person who said it, where that is not the scope's user.
        message_ids: ids of the messages, in order.
        quote: the literal span of the person's words that supports the memory.
    """

    at: datetime
    agent: str | None = None
    thread_id: str | None = None
    display_id: str | None = None
    run_id: str | None = None
    author: str | None = None
    message_ids: tuple[str, ...] = ()
    quote: str | None = None

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise ValueError("an origin's time needs a time zone")
        check_time(self.at, what="an origin's time")
        for what in ("agent", "thread_id", "display_id", "run_id", "author"):
            value = getattr(self, what)
            if value is not None:
                check_id(value, what=what)
        object.__setattr__(self, "message_ids", tuple(self.message_ids))
        for message_id in self.message_ids:
            check_id(message_id, what="message id")

    @property
    def mark(self) -> str:
        """A short hash by which a record can name an origin without holding what it says."""
        return hashlib.sha256(repr(astuple(self)).encode("utf-8", "replace")).hexdigest()[:20]
