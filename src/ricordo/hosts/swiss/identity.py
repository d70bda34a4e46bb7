"""For whom an event acts. Its payload alone is believed by nobody: default deny.

Either a signed token in the message's headers names the person, or the operator has said that the
publishers of some agents speak for the people of one tenant; then the event names one of these.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ricordo.errors import Denied
from ricordo.hosts.swiss.requests import Person
from ricordo.hosts.swiss.subject import Subject
from ricordo.model import Grant, Principal, Role
from ricordo.ports import Verifier

ANY = "*"
"""In a rule of trust: every agent; or every tenant, as the event says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """Whose word is taken.

    Args:
        tenants: by agent (``class/id``), class of agents, or `ANY`: the tenant for whose people its
            publishers speak, or `ANY` where that is the tenant that the user acts within. The
            narrowest rule holds. Without any, nobody's word is taken.
        namespaces: of the organization, which people known in this way may read; None is the
            common one. Whoever has a token reads what that grants.
    """

    tenants: Mapping[str, str]
    namespaces: Sequence[str | None] = ()

    def tenant_of(self, agent: str) -> str | None:
        """The tenant for whose people the publishers of that agent speak; may be `ANY`."""
        named = self.named(agent)
        return self.tenants.get(ANY) if named is None else named

    def named(self, agent: str) -> str | None:
        """The same, where a rule names the agent or its class."""
        for rule in (agent, agent.partition("/")[0]):
            if rule in self.tenants:
                return self.tenants[rule]
        return None


class Identity:
    """Tells for whom an event acts.

    Args:
        verifier: knows tokens; without one, tokens mean nothing.
    """

    def __init__(self, *, trust: Trust, verifier: Verifier | None) -> None:
        self._trust = trust
        self._verifier = verifier

    @property
    def trust(self) -> Trust:
        """Whose word is taken."""
        return self._trust

    async def of_token(self, token: str | None) -> Principal | None:
        """The person whom a token names; None without one. Raises `Denied`."""
        if token is None or self._verifier is None:
            return None
        return await self._verifier.principal(token)

    def of_word(
        self, person: Person, *, subject: Subject, origin: str | None = None
    ) -> Principal | None:
        """The person whom an event names; None where its publisher's word is not taken.

        Args:
            origin: the agent whose run the event is about, where a writer hands it over. Then the
                rule of that agent holds; a rule that names the writer must agree.

        Raises:
            Denied: the event says itself that they are of another tenant, or two rules disagree.
        """
        rules = [self._trust.tenant_of(origin or subject.agent)]
        if origin is not None:
            rules.append(self._trust.named(subject.agent))
        found = {person.tenant if rule == ANY else rule for rule in rules} - {None}
        if len(found) > 1:
            raise Denied("the writer's publishers speak for another tenant than the origin's agent")
        tenant = next(iter(found), None)
        if tenant is None:
            return None
        if person.tenant not in (None, tenant):
            raise Denied(
                "the user acts within another tenant than the agent's publishers speak for"
            )
        grants = frozenset(Grant(role=Role.READER, namespace=n) for n in self._trust.namespaces)
        return Principal(tenant=tenant, user=person.id, grants=grants)

    @staticmethod
    def check_same(principal: Principal, person: Person | None) -> None:
        """Raise `Denied` where an event names somebody else than its token does."""
        if person is not None and (
            person.id != principal.user or person.tenant not in (None, principal.tenant)
        ):
            raise Denied("the event names somebody else than its token")
