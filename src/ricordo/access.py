"""Who may do what: pure functions, default deny. Only here are scopes minted.

The visibility table, tested cell by cell (who wrote × who reads):

    cell                      the user, same agent   the user, other agent   another user   curator
    user preference           sees                   no (opt-out: sees)      no             no
    user fact                 sees                   sees                    no             no
    organization fact         readers of its namespace see it, whoever wrote it; nobody else does

Who shares a conversation, by shape: `room_of`.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum

from ricordo.errors import Denied
from ricordo.model import (
    Grant,
    Kind,
    OrganizationScope,
    Partition,
    Principal,
    Role,
    Scope,
    Shape,
    UserScope,
    check_id,
)


class PreferenceVisibility(StrEnum):
    """Which agents see what one of them learned of a user's preferences."""

    AGENT = "agent"
    """Only the agent that learned it."""
    USER = "user"
    """Every agent that serves the user."""


class Reader(StrEnum):
    """How a reader stands to what was written, for the visibility table."""

    SAME_AGENT = "the user through the agent that learned it"
    OTHER_AGENT = "the user through another agent"
    NO_AGENT = "the user directly, through no agent"
    OTHER_USER = "another user of the tenant"
    GRANTED = "a principal granted the namespace"
    NOT_GRANTED = "a principal of the tenant not granted the namespace"
    OTHER_TENANT = "anybody of another tenant"


_USER_PREFERENCE = {
    PreferenceVisibility.AGENT: frozenset({Reader.SAME_AGENT, Reader.NO_AGENT}),
    PreferenceVisibility.USER: frozenset({Reader.SAME_AGENT, Reader.OTHER_AGENT, Reader.NO_AGENT}),
}

VISIBILITY: dict[tuple[type[Scope], Kind, PreferenceVisibility], frozenset[Reader]] = {
    **{(UserScope, Kind.PREFERENCE, v): _USER_PREFERENCE[v] for v in PreferenceVisibility},
    **{
        (UserScope, Kind.FACT, v): frozenset(
            {Reader.SAME_AGENT, Reader.OTHER_AGENT, Reader.NO_AGENT}
        )
        for v in PreferenceVisibility
    },
    **{
        (OrganizationScope, Kind.FACT, v): frozenset({Reader.GRANTED}) for v in PreferenceVisibility
    },
}
"""Who sees what; a cell that is not here is seen by nobody."""


def reader_of(
    scope: Scope, learned_by: str | None, principal: Principal, agent: str | None
) -> Reader:
    """How `principal`, asking through `agent`, stands to something of `scope`."""
    if principal.tenant != scope.tenant:
        return Reader.OTHER_TENANT
    if isinstance(scope, OrganizationScope):
        granted = has_role(principal, scope.namespace, Role.READER)
        return Reader.GRANTED if granted else Reader.NOT_GRANTED
    if principal.user != scope.user:
        return Reader.OTHER_USER
    if agent is None:
        return Reader.NO_AGENT
    return Reader.SAME_AGENT if agent == learned_by else Reader.OTHER_AGENT


def may_see(
    partition: Partition,
    principal: Principal,
    *,
    agent: str | None,
    visibility: PreferenceVisibility = PreferenceVisibility.AGENT,
) -> bool:
    """Whether the principal, asking through `agent`, sees what lies in the partition."""
    cell = VISIBILITY.get((type(partition.scope), partition.kind, visibility), frozenset())
    return reader_of(partition.scope, partition.agent, principal, agent) in cell


def has_role(principal: Principal, namespace: str | None, role: Role) -> bool:
    """Whether a grant for exactly that namespace is of that role or a higher one."""
    return any(
        grant.namespace == namespace and grant.role.rank >= role.rank for grant in principal.grants
    )


def user_scope(principal: Principal) -> UserScope:
    """The principal's own scope."""
    return UserScope(tenant=principal.tenant, user=principal.user)


def readable(
    principal: Principal, *, namespaces: Sequence[str | None] | None = None
) -> tuple[OrganizationScope, ...]:
    """The organization scopes that the principal may read, in a fixed order.

    Args:
        namespaces: only these; None asks for all granted ones.

    Raises:
        Denied: one of `namespaces` is not granted.
    """
    granted = {grant.namespace for grant in principal.grants}
    if namespaces is None:
        wanted = granted
    else:
        wanted = set(namespaces)
        for namespace in sorted(wanted - granted, key=lambda n: n or ""):
            raise _denied(principal, namespace, Role.READER)
    ordered = sorted(wanted, key=lambda n: (n is not None, n or ""))
    return tuple(OrganizationScope(tenant=principal.tenant, namespace=n) for n in ordered)


def organization_scope(
    principal: Principal, namespace: str | None, *, role: Role
) -> OrganizationScope:
    """The scope of one namespace, when the principal has `role` there.

    Raises:
        Denied: they have not, or the namespace does not exist; the two look alike.
    """
    if namespace is not None:
        check_id(namespace, what="namespace")
    if not has_role(principal, namespace, role):
        raise _denied(principal, namespace, role)
    return OrganizationScope(tenant=principal.tenant, namespace=namespace)


def sole_namespace(
    principal: Principal, namespace: str | None, *, given: bool, role: Role
) -> str | None:
    """The one namespace to act in: the given one, or the only one in which `role` is granted.

    Raises:
        Denied: there is none, or it is ambiguous which; the message names the choices.
    """
    if given:
        return namespace
    choices = sorted(
        {g.namespace for g in principal.grants if g.role.rank >= role.rank},
        key=lambda n: n or "",
    )
    if len(choices) == 1:
        return choices[0]
    if not choices:
        raise Denied(f"user {principal.user!r} is {role.value} of no namespace")
    names = ", ".join("the common one" if c is None else repr(c) for c in choices)
    raise Denied(
        f"user {principal.user!r} is {role.value} of several namespaces ({names}); name one"
    )


def room_of(agent: str, *, shape: Shape, groups: Mapping[str, Collection[str]]) -> str:
    """The room in which an agent's conversations lie; agents of one room share them.

    Args:
        agent: the agent's name.
        groups: of the hybrid shape: the agents of each group. An agent in none of them is alone.
            Without any group, hybrid means a cache only, and all agents share.
    """
    if shape is Shape.SHARED or (shape is Shape.HYBRID and not groups):
        return "everybody"
    if shape is Shape.HYBRID:
        for group in sorted(groups):
            if agent in groups[group]:
                return f"group:{group}"
    return f"agent:{agent}"


def _denied(principal: Principal, namespace: str | None, role: Role) -> Denied:
    where = "the tenant's common namespace" if namespace is None else f"namespace {namespace!r}"
    return Denied(f"user {principal.user!r} is no {role.value} of {where}")


def grants_of(
    *,
    reader: Sequence[str | None] = (),
    curator: Sequence[str | None] = (),
    admin: Sequence[str | None] = (),
) -> frozenset[Grant]:
    """Grants written shortly: the namespaces of each role."""
    roles = ((Role.READER, reader), (Role.CURATOR, curator), (Role.ADMIN, admin))
    return frozenset(Grant(role=r, namespace=n) for r, names in roles for n in names)
