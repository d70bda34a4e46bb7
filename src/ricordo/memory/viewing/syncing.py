"""How a view of either sort is made equal to the ledger, scope by scope."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

from ricordo.model import Scope
from ricordo.ports import Ledger, View, ViewBuild

T = TypeVar("T")

AT_ONCE = 500
"""Entries sent to a view together."""


class Sync(Protocol):
    """Makes one build equal to the ledger. It looks at what is true now, not at what happened; so
    it may be asked again, late, or twice."""

    build: ViewBuild

    @property
    def view(self) -> View:
        """What is fed."""
        ...

    async def sync(self, scope: Scope) -> None:
        """Bring the view up to date with a scope."""
        ...

    async def expected(self, scope: Scope) -> Mapping[str, str]:
        """What the view should hold of a scope: ids with versions."""
        ...

    async def mend(self, scope: Scope, ids: Sequence[str]) -> None:
        """Make these entries what they should be, there or not."""
        ...

    async def sign(self) -> None:
        """Put the build's own entry in place, which tells that its engine lost nothing since."""
        ...

    async def signed(self) -> bool:
        """Whether that entry is there."""
        ...

    async def removed(self, scope: Scope, memory_ids: Sequence[str]) -> None:
        """Take out at once what memories that are gone left in the view."""
        ...


async def signature(ledger: Ledger, build: ViewBuild) -> str:
    """The key under which a build's own entry lies in its engine, as if it were a scope's."""
    [sealed] = await ledger.seal([f"build {build.build}"])
    return sealed


def cut(some: Sequence[T]) -> Iterator[Sequence[T]]:
    """In pieces that are sent together."""
    for start in range(0, len(some), AT_ONCE):
        yield some[start : start + AT_ONCE]
