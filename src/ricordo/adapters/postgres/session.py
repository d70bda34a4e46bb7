"""One open transaction, as a work sees it: statements that somebody else carries out.

A work is a coroutine that awaits nothing but its transaction. So each statement is an `Ask`, which
comes out where the work is stepped; there it is carried out on the connection, and the answer goes
back in. Anything else that comes out is refused, as on the embedded ledger.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo.columns.scopes import NOWHERE, scope_key
from ricordo.columns.times import Clock
from ricordo.errors import Denied, Invalid
from ricordo.model import Scope


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement gave."""

    rows: list[Any]
    changed: int


@dataclass(frozen=True, slots=True)
class Ask:
    """One statement of a work.

    Args:
        sql: made of fixed parts.
        values: its parameters; with `many`, one sequence for each time that it is carried out.
        binary: fetch values as they are stored; for large ones.
    """

    sql: str
    values: Sequence[Any] | Mapping[str, Any]
    many: bool = False
    binary: bool = False

    def __await__(self) -> Generator["Ask", Answer, Answer]:
        return (yield self)


class Session:
    """What the parts of a transaction share.

    Args:
        numbers: of the scopes that may be touched and hold something.
        scopes: the only scopes that may be touched.
        secret: the ledger's own key, for keyed hashes.
        clock: the time.
        types: the schema of pgvector's types and operators; '' where the database has none.
    """

    def __init__(
        self,
        numbers: dict[Scope, int],
        *,
        scopes: Sequence[Scope],
        secret: bytes,
        clock: Clock,
        types: str = "",
    ) -> None:
        self._numbers = numbers
        self._scopes = frozenset(scopes)
        self._secret = secret
        self._clock = clock
        self._types = types
        self._ended = False

    def end(self) -> None:
        """Refuse every later call."""
        self._ended = True

    async def _rows(self, sql: str, *values: Any) -> list[Any]:
        return (await Ask(sql, values)).rows

    async def _rows_named(self, sql: str, values: Mapping[str, Any]) -> list[Any]:
        return (await Ask(sql, values)).rows

    async def _row(self, sql: str, *values: Any) -> Any:
        rows = (await Ask(sql, values)).rows
        return rows[0] if rows else None

    async def _change(self, sql: str, *values: Any) -> int:
        """Run a statement; the number of rows that it changed."""
        return (await Ask(sql, values)).changed

    async def _insert(self, sql: str, *values: Any) -> int:
        """Run an insert that returns the new row's number."""
        return (await Ask(sql, values)).rows[0][0]

    async def _each(self, sql: str, values: Sequence[Sequence[Any]]) -> None:
        """Run a statement once for each of these."""
        if values:
            await Ask(sql, values, many=True)

    def _number(self, scope: Scope) -> int:
        """The scope's number, `NOWHERE` while it holds nothing. Raises `Denied` for another one."""
        if self._ended:
            raise Invalid("this transaction has ended; open a new one")
        if scope not in self._scopes:
            raise Denied("this transaction was not opened for that scope")
        return self._numbers.get(scope, NOWHERE)

    async def _owned(self, scope: Scope) -> int:
        """The scope's number, given now if it had none."""
        number = self._number(scope)
        if number == NOWHERE:
            number = await self._insert("select add_scope(%s, %s, %s)", *scope_key(scope))
            self._numbers[scope] = number
        return number


def storable(values: Iterable[str]) -> list[str]:
    """Those values that can be stored, and so can be found; for asking by them."""
    return [each for each in values if can_be_stored(each)]


def can_be_stored(value: str) -> bool:
    """Whether the server takes this text: no NUL, no lone surrogate."""
    return "\0" not in value and not any("\ud800" <= each <= "\udfff" for each in value)
