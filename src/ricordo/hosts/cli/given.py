"""What the wiring hands to the command line, which may not look for it itself."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo
    from ricordo.model import Principal, Recollection
    from ricordo.ports import Ledger
    from ricordo.ports.moving import Movable
    from ricordo.settings import Settings


class Opener(Protocol):
    """Opens the memory that settings describe, and closes it."""

    def __call__(self, settings: "Settings", /) -> AbstractAsyncContextManager["Ricordo"]:
        """An async context manager that yields the opened memory."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What an agent of the framework is made of for a chat with this memory.

    Args:
        client: the framework's chat client for the endpoint in the settings.
        providers: its context providers: short-term history and this memory.
        session: one conversation of one principal.
    """

    client: Any
    providers: Sequence[Any]
    session: Any


class Companion(Protocol):
    """Makes the parts of an agent that has this memory."""

    def __call__(
        self,
        memory: "Ricordo",
        settings: "Settings",
        /,
        *,
        principal: "Principal",
        on_recall: Callable[["Recollection"], None],
    ) -> Kit:
        """Everything for one conversation; `on_recall` is shown each recollection."""
        ...


class Demo(Protocol):
    """Plays the demonstration."""

    async def __call__(self, *, as_json: bool, color: bool, database: Path | None) -> int:
        """Play it as JSON or for a person; returns an exit code.

        Args:
            database: keep the memory in this new file; None keeps nothing.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What a database was made into.

    Args:
        name: the memory's address, without secrets.
        role: what programs connect as.
        password: of that role where one was made up; None otherwise.
        created: whether there was no memory in it before.
        lacking: what it lacks to search large partitions by itself; None where it can.
        indexed, unindexed: approximate indexes that were made and removed, by name.
    """

    name: str
    role: str
    password: str | None
    created: bool
    lacking: str | None = None
    indexed: Sequence[str] = ()
    unindexed: Sequence[str] = ()


class Founder(Protocol):
    """Makes a database on a server a memory."""

    async def __call__(
        self, address: str, /, *, role: str, password: str | None, approximate: int | None
    ) -> Made:
        """Make roles, rights and tables, as far as they are not there yet.

        Args:
            address: of the database, as an administrator.
            role: what programs connect as.
            password: of that role; None keeps its own, or makes one up.
            approximate: memories from which a partition that is searched in the database gets an
                approximate index; None leaves indexes as they are.
        """
        ...


class Prepared(Protocol):
    """What was done, or would be, to a stream or consumer at a NATS server."""

    @property
    def sort(self) -> str:
        """``"stream"`` or ``"consumer"``."""
        ...

    @property
    def name(self) -> str:
        """Its name; of a consumer after its stream's."""
        ...

    @property
    def act(self) -> str:
        """``"create"``, ``"update"`` or ``"keep"``."""
        ...

    @property
    def fields(self) -> tuple[str, ...]:
        """What differs, of an update."""
        ...


class Preparer(Protocol):
    """Makes the streams that events over NATS need."""

    async def __call__(
        self,
        ledger: "Ledger",
        settings: "Settings",
        /,
        *,
        consumers: Sequence[tuple[str, str | None]],
        dry_run: bool,
    ) -> Sequence[Prepared]:
        """Make what is missing and mend what differs.

        Args:
            consumers: of events: a name each, and the tenant whose events it gets, or None.
            dry_run: only say what would be done.
        """
        ...


class Mover(Protocol):
    """Opens one end of a move of a whole memory, and closes it."""

    def __call__(
        self, address: str, /, *, fill: bool = False
    ) -> AbstractAsyncContextManager["Movable"]:
        """An async context manager that yields the end.

        Args:
            address: a file's path, or of a server as an administrator.
            fill: open it to be filled, and make it where it is a file; else it is only read.
        """
        ...


class Service(Protocol):
    """Answers requests of other programs."""

    async def run(self) -> None:
        """Answer until cancelled."""
        ...

    async def wind_down(self, *, within: float) -> bool:
        """Take no more; whether all that were taken are answered `within` seconds."""
        ...


class Answerer(Protocol):
    """Makes what answers requests about a memory."""

    def __call__(
        self, memory: "Ricordo", settings: "Settings", /
    ) -> AbstractAsyncContextManager[Service]:
        """An async context manager; closes it at the end."""
        ...


class Serving(Protocol):
    """A platform outside that is served."""

    @property
    def counts(self) -> Any:
        """What became of its messages: a dataclass of numbers."""
        ...

    async def run(self) -> None:
        """Serve until cancelled; what was begun is finished."""
        ...


class Server(Protocol):
    """Reaches the platform that settings name."""

    def __call__(
        self, memory: "Ricordo", settings: "Settings", /
    ) -> AbstractAsyncContextManager[Serving]:
        """An async context manager that yields what serves it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The parts that commands work with; a command whose part is missing says so.

    Args:
        opener: opens the memory that settings describe.
        demo: plays the demonstration.
        companion: gives an agent of the framework its memory, for `chat`.
        founder: makes a PostgreSQL database a memory.
        preparer: makes the streams of events.
        mover: opens the two ends of a move.
        answerer: makes what answers requests.
        server: serves a platform in its own protocol.
    """

    opener: Opener
    demo: Demo | None = None
    companion: Companion | None = None
    founder: Founder | None = None
    preparer: Preparer | None = None
    mover: Mover | None = None
    answerer: Answerer | None = None
    server: Server | None = None
