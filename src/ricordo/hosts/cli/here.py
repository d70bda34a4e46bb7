"""Where a command runs: its settings, on whose behalf, and the opened memory."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ricordo.access import grants_of
from ricordo.errors import Denied, Invalid, NotFound
from ricordo.hosts.cli.given import Given
from ricordo.hosts.cli.screen import Screen
from ricordo.model import Grant, OrganizationScope, Principal, check_id

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo
    from ricordo.memory.organization import OrganizationMemory
    from ricordo.memory.user import UserMemory
    from ricordo.settings import Loaded, Settings

_FIELDS = {"db": "database", "tenant": "tenant", "user": "user", "agent": "agent"}


class Here:
    """What a command knows: shared options, settings, principal, screen.

    Args:
        given: the parts from the wiring.
        options: values of the shared options, by name.

    Attributes:
        warned: whether mistyped variables were told of already.
    """

    def __init__(self, *, given: Given, options: Mapping[str, Any]) -> None:
        self.given = given
        self.options = options
        self.warned = False
        self.screen = Screen(json_lines=bool(options.get("json")))

    def load(self, **more: Any) -> "Loaded":
        """The settings: file, environment, then this command's options and `more`."""
        from ricordo.settings import load_settings

        named = {_FIELDS[k]: v for k, v in self.options.items() if k in _FIELDS}
        config = self.options.get("config")
        loaded = load_settings({**named, **more}, config=config, warn=False)
        if not self.warned:
            self.warned = True
            for line in loaded.stray:
                self.screen.remark(f"ricordo: {line}")
        return loaded

    @cached_property
    def settings(self) -> "Settings":
        """Settings for a command that answers and ends; it starts no worker of its own."""
        return self.load(worker=False).settings

    @property
    def agent(self) -> str:
        """The agent that acts: the named one, else the one in the settings."""
        return self.settings.agent

    @property
    def named_agent(self) -> str | None:
        """The agent, only where one was named; without one the person looks at it themselves."""
        name: str | None = self.options.get("agent")
        return name if name is None else check_id(name, what="agent")

    @property
    def about_organization(self) -> bool:
        """Whether the command is about the organization's memory rather than the user's."""
        return bool(self.options.get("org")) or self.options.get("namespace") is not None

    @property
    def namespace(self) -> str | None:
        """The organization's namespace in question; None is the common one."""
        named: str | None = self.options.get("namespace")
        return self.settings.namespace if named is None else check_id(named, what="namespace")

    def principal(self, *, namespaces: Sequence[str | None] = ()) -> Principal:
        """The person at the keyboard, with what they may do.

        Without grants in the settings they are the local operator, who holds the file and so the
        data: admin of the common namespace, of the settings' one, and of those that are named.
        With grants, they may do exactly what those say.
        """
        settings = self.settings
        if settings.grants is None:
            grants = grants_of(admin=[None, self.namespace, settings.namespace, *namespaces])
        else:
            grants = frozenset(
                Grant(role=role, namespace=name or None) for name, role in settings.grants.items()
            )
        return Principal(tenant=settings.tenant, user=settings.user, grants=grants)

    async def principal_everywhere(
        self, memory: "Ricordo", *, namespaces: Sequence[str | None] = ()
    ) -> Principal:
        """The person at the keyboard; as local operator granted every namespace in the file."""
        if self.settings.grants is not None:
            return self.principal()
        kept = [
            scope.namespace
            for scope in await memory.ledger.scopes()
            if isinstance(scope, OrganizationScope) and scope.tenant == self.settings.tenant
        ]
        return self.principal(namespaces=[*namespaces, *kept])

    def user_memory(self, memory: "Ricordo", *, agent: str | None) -> "UserMemory":
        """The user's memory, through an agent or directly."""
        return memory.user(self.principal(), agent=agent)

    def organization_memory(self, memory: "Ricordo") -> "OrganizationMemory":
        """The organization's memory of the namespace in question."""
        return memory.organization(self.principal(), namespace=self.namespace)

    def records(self, memory: "Ricordo") -> "UserMemory | OrganizationMemory":
        """The memory that the command is about, as the person sees it."""
        if self.about_organization:
            return self.organization_memory(memory)
        return self.user_memory(memory, agent=self.named_agent)

    def as_operator(self) -> None:
        """Stop unless the caller is the local operator, who may look at the file as a whole.

        Raises:
            Denied: the settings list grants, so the caller is one user among others.
        """
        if self.settings.grants is not None:
            raise Denied("the file as a whole is for the local operator; the settings list grants")

    def exists(self, database: str) -> bool:
        """Whether there is a memory file already; a server is asked when it is opened."""
        return "://" in database or Path(database).expanduser().exists()

    @asynccontextmanager
    async def memory(
        self, *, create: bool = False, settings: "Settings | None" = None
    ) -> AsyncGenerator["Ricordo", None]:
        """The opened memory.

        Args:
            create: make the file where there is none.

        Raises:
            NotFound: there is no such file, and the command only reads.
        """
        chosen = settings or self.settings
        _prepare(chosen.database, create=create)
        async with self.given.opener(chosen) as memory:
            yield memory


def _prepare(database: str, *, create: bool) -> None:
    if "://" in database:
        return
    path = Path(database).expanduser()
    if not create:
        if not path.exists():
            raise NotFound(f"there is no memory at {path}; `ricordo init` makes one")
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise Invalid(f"the directory of {path} cannot be made: {error.strerror}") from error
