"""Finding inside a ledger's own store, for partitions that are too large for a program's memory.

A power that a ledger declares: one that has it is a `SearchingLedger` as well as a `Ledger`.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar, runtime_checkable

from ricordo.model import Partition, Scope, Sought
from ricordo.ports.rows import PartitionState, Rows

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Searchable:
    """A partition, and whether the store has all of it ready to be searched."""

    state: PartitionState
    ready: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """What the store found of one partition for one question, with the whole partition's figures.

    Args:
        visible: memories valid at the asked instant.
        words: of all of those together.
        held: for each word of the question, how many of those hold any of its alternatives.
        rows: those found, and those said just before and after them; also ones not valid then.
    """

    visible: int
    words: int
    held: tuple[int, ...]
    rows: Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Rows spread evenly over a partition, which tell what is usual there.

    Args:
        ids: of the rows that were drawn; `rows` has their neighbours as well.
    """

    ids: frozenset[str]
    rows: Rows


class Searching(Protocol):
    """What a transaction can find in the store itself.

    1. Only the asked partition is looked at, counted, or of any influence.
    2. Everything is of the one state that the transaction sees.
    3. Figures are exact. So is finding, except by meaning where there is an approximate index.
    """

    async def searchable(self, *, scope: Scope) -> list[Searchable]:
        """The partitions of a scope."""
        ...

    async def found(
        self, sought: Sought, *, partition: Partition, limit: int, at: datetime | None
    ) -> Excerpt:
        """At least the best `limit` by meaning, by words, and on the dates that are named."""
        ...

    async def drawn(self, *, partition: Partition, count: int) -> Drawn:
        """About `count` visible rows; all of them where there are no more."""
        ...

    async def disturbed(self, *, partition: Partition, since: int) -> bool:
        """Whether something that was visible at that generation is gone, hidden or changed."""
        ...


@runtime_checkable
class SearchingLedger(Protocol):
    """A ledger that can find in its own store."""

    async def check_search(self) -> None:
        """Raise unless it can, saying what is missing and who can mend it.

        Raises:
            Invalid: something has to be installed or set up first.
        """
        ...

    async def search(
        self, look: Callable[[Searching], Awaitable[T]], *, scopes: Sequence[Scope]
    ) -> T:
        """Run `look` on a snapshot restricted to `scopes`."""
        ...

    async def prepare(self, *, partition: Partition) -> bool:
        """Go one step in making a partition searchable; True once it is. From the first step on
        every change of it is carried along, by whoever makes it.

        Raises:
            NotFound: it is gone. Invalid: see `check_search`.
        """
        ...
