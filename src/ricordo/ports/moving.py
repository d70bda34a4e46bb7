"""Moving a ledger as a whole: its tables, row by row, from one engine into an empty other one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

Value = int | float | str | bytes | None
"""What a column holds, alike on every engine."""

Row = tuple[Value, ...]
"""Values in the order of a table's columns, or of a part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as rows are moved.

    Attributes:
        name: of the table.
        columns: all that are moved.
        key: the columns that tell its rows apart, and by which they are ordered.
        scope: the column with the number of the scope that a row belongs to; None without.
        shown: the columns that may name a row in a message: ids and numbers, no words.
        late: columns that refer to other rows of the same table, so that they follow once all
            rows are there.
    """

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    scope: str | None
    shown: tuple[str, ...]
    late: tuple[str, ...] = ()

    def places(self, columns: Sequence[str]) -> tuple[int, ...]:
        """Where these columns stand in a row."""
        return tuple(self.columns.index(each) for each in columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What a ledger has beside its rows.

    Attributes:
        secret: its own key; what is remembered of the erased is hashed with it.
        counters: by table, the last number given, so that none is given twice.
    """

    secret: bytes = field(repr=False)
    counters: Mapping[str, int]


class Movable(Protocol):
    """One end of a move, opened by somebody who may see every row of it.

    1. Rows come in the order of their keys, which is the same on every engine.
    2. What `put` and `link` add becomes true together with the note that comes along, or not.
    3. While there is a note, nobody else can open the ledger.
    4. A note that is not the one that was expected is a `Conflict`: another move is at work.
    """

    @property
    def name(self) -> str:
        """The ledger, without secrets."""
        ...

    @property
    def tables(self) -> Sequence[Table]:
        """What is moved, each after those that it refers to."""
        ...

    async def head(self) -> Head:
        """Its secret and counters. Events that have no position yet get theirs."""
        ...

    async def counts(self) -> Mapping[str, int]:
        """Rows by table."""
        ...

    async def page(self, table: Table, *, after: Row | None, limit: int) -> list[Row]:
        """The next rows above a key."""
        ...

    async def note(self) -> str | None:
        """How far a move into it came; None when none is under way."""
        ...

    async def begin(self, secret: bytes, *, note: str) -> None:
        """Take the secret on, and leave the first note. Raises `Conflict` if there is one."""
        ...

    async def put(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """Add rows, their late columns empty."""
        ...

    async def link(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """Fill the late columns of rows."""
        ...

    async def finish(self, counters: Mapping[str, int], *, was: str) -> None:
        """Go on counting where the other ledger stopped, and take the note away."""
        ...

    async def clear(self) -> None:
        """Remove what a move that is under way brought, and its note. Without one, nothing is
        touched, and it is a `Conflict`."""
        ...
