"""Whether two ledgers hold the same, by one and the same code for both."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from ricordo.ports.moving import Movable, Row, Table, Value

PAGE = 500
"""Rows that are read, and written, at once."""

NAMED = 20
"""Differences of a table that are named; further ones are counted."""

_SIZE = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A row that is not the same on both sides.

    Attributes:
        table: where it is.
        row: its id or numbers, never a text.
        what: ``missing``, ``extra`` or ``changed``, as the target has it.
    """

    table: str
    row: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sum:
    """What a table holds.

    Attributes:
        rows: how many.
        scopes: how many scopes they belong to.
        checksum: of their content, whatever their order.
    """

    rows: int
    scopes: int
    checksum: str


@dataclass(slots=True)
class Tally:
    """Rows and sums of their digests, by scope."""

    scopes: dict[Value, tuple[int, int]] = field(default_factory=dict[Value, tuple[int, int]])

    def add(self, rows: list[Row], *, table: Table) -> None:
        """Count rows."""
        place = None if table.scope is None else table.columns.index(table.scope)
        for row in rows:
            scope = None if place is None else row[place]
            count, total = self.scopes.get(scope, (0, 0))
            self.scopes[scope] = count + 1, (total + _digest(row)) % (1 << 8 * _SIZE)

    def sum(self) -> Sum:
        """Of all scopes."""
        rows = sum(count for count, _ in self.scopes.values())
        total = sum(total for _, total in self.scopes.values()) % (1 << 8 * _SIZE)
        checksum = total.to_bytes(_SIZE, "big").hex()
        return Sum(rows=rows, scopes=len(self.scopes), checksum=checksum)


def _digest(row: Row) -> int:
    # `repr` of text, bytes, numbers and None is exact, and tells all of them apart.
    told = hashlib.blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=_SIZE)
    return int.from_bytes(told.digest(), "big")


async def pages(end: Movable, table: Table) -> AsyncIterator[list[Row]]:
    """Every row, in the order of keys, page by page."""
    key = table.places(table.key)
    after: Row | None = None
    while True:
        page = await end.page(table, after=after, limit=PAGE)
        if page:
            yield page
            after = tuple(page[-1][place] for place in key)
        if len(page) < PAGE:
            return


async def rows(end: Movable, table: Table) -> AsyncIterator[Row]:
    """Every row, in the order of keys."""
    async for page in pages(end, table):
        for row in page:
            yield row


async def differences(source: Movable, target: Movable, table: Table) -> list[Difference]:
    """The first rows that differ: both sides are walked side by side."""
    found: list[Difference] = []
    ours, theirs = aiter(rows(source, table)), aiter(rows(target, table))
    mine, other = await anext(ours, None), await anext(theirs, None)
    while (mine is not None or other is not None) and len(found) < NAMED:
        side = _side(table, mine, other)
        what = {-1: "missing", 1: "extra", 0: "changed"}[side]
        if side or mine != other:
            found.append(_difference(table, mine if side <= 0 else other, what))
        if side <= 0:
            mine = await anext(ours, None)
        if side >= 0:
            other = await anext(theirs, None)
    return found


def _side(table: Table, mine: Row | None, other: Row | None) -> int:
    """Whose row comes first: -1 is ours, 1 is the other's, 0 is both."""
    if mine is None or other is None:
        return 1 if mine is None else -1
    ours, theirs = _key(table, mine), _key(table, other)
    return 0 if ours == theirs else -1 if ours < theirs else 1


def _key(table: Table, row: Row) -> tuple[tuple[bool, object], ...]:
    # Numbers and texts never meet in one column; the engines order both as Python does.
    return tuple((isinstance(row[place], str), row[place]) for place in table.places(table.key))


def _difference(table: Table, row: Row | None, what: str) -> Difference:
    shown = zip(table.shown, () if row is None else _values(table, row), strict=False)
    return Difference(
        table=table.name, row=" ".join(f"{name}={value}" for name, value in shown), what=what
    )


def _values(table: Table, row: Row) -> list[Value]:
    return [row[place] for place in table.places(table.shown)]
