"""What views outside need of a ledger: what changed, how far each of them is, and who feeds it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ricordo.model import Partition, Scope
from ricordo.ports.rows import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewBuild:
    """One build of a view, as the ledger knows it.

    Args:
        view: its name.
        build: counts its builds from 1; a number never comes again.
        sort: ``"vectors"`` or ``"graph"``.
        made_of: what its entries were made with: of vectors the space.
        serving: whether recalls use it; there is at most one such build of a view.
    """

    view: str
    build: int
    sort: str
    made_of: str
    serving: bool

    @property
    def consumer(self) -> str:
        """Under which name it reads the outbox."""
        return f"view:{self.view}#{self.build}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphChanges:
    """What changed in a scope's graph, by id; whether it is there still, a look tells.

    Args:
        position: up to where this tells.
        complete: True when it names everything that is there, False for changes since.
    """

    position: int
    complete: bool
    entities: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()


Mark = tuple[str, str]
"""What of a view is up to date: key of the scope, and of the partition; ``""`` for its graph."""


class ViewReading(Protocol):
    """What a view is fed with, and what its answers are checked against."""

    async def plain_rows(self, *, partition: Partition, since: int | None) -> Rows:
        """As `Reading.rows`, with empty `vectors`."""
        ...

    async def vectors(self, ids: Sequence[str], *, partition: Partition) -> Mapping[str, bytes]:
        """By id, the vectors of these memories; those not visible in the partition are left out."""
        ...

    async def graph_position(self, *, scope: Scope) -> int:
        """Up to where the scope's graph has changed; 0 when no graph view was ever enrolled."""
        ...

    async def graph_changes(self, *, scope: Scope, since: int | None) -> GraphChanges:
        """What changed after `since`; everything that is there for None."""
        ...


class Feeding(Protocol):
    """Which views there are, and how far each of them is.

    What is noted here stays when a view is switched off, so that it catches up later.
    """

    async def builds(self) -> list[ViewBuild]:
        """Every build that was enrolled and not dismissed, by view and number."""
        ...

    async def enroll(self, view: str, *, sort: str, made_of: str) -> ViewBuild:
        """Begin a new build: the first of a view serves at once. Its place in the outbox is the
        end, so what is there already must be fed beside it."""
        ...

    async def serve(self, build: ViewBuild) -> None:
        """Let this build serve instead of the one that does."""
        ...

    async def dismiss(self, build: ViewBuild) -> None:
        """Forget a build, its marks and its place in the outbox."""
        ...

    async def elect(self, build: ViewBuild, *, holder: str, at: datetime, seconds: float) -> bool:
        """Whether `holder` feeds this build for the next `seconds`; one at a time does."""
        ...

    async def resign(self, build: ViewBuild, *, holder: str) -> None:
        """Let others feed; no error when they do already."""
        ...

    async def marks(self, build: ViewBuild, *, marks: Sequence[Mark]) -> Mapping[Mark, int]:
        """How far the build is with these, as `PartitionState.generation` or `graph_position`
        count; those of which it holds nothing are left out."""
        ...

    async def mark(self, build: ViewBuild, *, marks: Mapping[Mark, int]) -> None:
        """Note how far the build is; a lower mark changes nothing."""
        ...

    async def unmark(self, build: ViewBuild, *, scope: str) -> None:
        """Note that the build holds nothing of a scope."""
        ...

    async def holding(self, *, scope: str) -> list[ViewBuild]:
        """The builds that may hold something of a scope, those that are switched off included."""
        ...

    async def seal(self, values: Sequence[str]) -> list[str]:
        """The keyed hash of each value, by the ledger's own secret; never a scope's."""
        ...
