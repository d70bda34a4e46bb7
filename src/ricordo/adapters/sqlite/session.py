"""One open transaction: its connection and the scopes that it may touch."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from ricordo.columns.scopes import NOWHERE, scope_key
from ricordo.errors import Denied, Invalid
from ricordo.model import Scope

Clock = Callable[[], datetime]


class Session:
    """What the parts of a transaction share.

    Args:
        connection: in a transaction, used by no other thread meanwhile.
        scopes: the only scopes that may be touched.
        secret: the ledger's own key, for keyed hashes.
        clock: the time.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        scopes: Sequence[Scope],
        secret: bytes,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._scopes = frozenset(scopes)
        self._secret = secret
        self._clock = clock
        self._numbers: dict[Scope, int] = {}
        self._ended = False

    def end(self) -> None:
        """Refuse every later call."""
        self._ended = True

    def _rows(self, sql: str, *values: Any) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()

    def _row(self, sql: str, *values: Any) -> Any:
        return self._connection.execute(sql, values).fetchone()

    def _change(self, sql: str, *values: Any) -> int:
        """Run a statement; the number of rows that it changed."""
        return self._connection.execute(sql, values).rowcount

    def _insert(self, sql: str, *values: Any) -> int:
        """Run an insert; the new row's number."""
        return self._connection.execute(sql, values).lastrowid or 0

    def _number(self, scope: Scope) -> int:
        """The scope's number, `NOWHERE` while it holds nothing. Raises `Denied` for another one."""
        if self._ended:
            raise Invalid("this transaction has ended; open a new one")
        number = self._numbers.get(scope)
        if number is not None:
            return number
        if scope not in self._scopes:
            raise Denied("this transaction was not opened for that scope")
        number = find_scope(self._connection, scope)
        if number != NOWHERE:
            self._numbers[scope] = number
        return number

    def _owned(self, scope: Scope) -> int:
        """The scope's number, given now if it had none."""
        number = self._number(scope)
        if number == NOWHERE:
            number = self._numbers[scope] = add_scope(self._connection, scope)
        return number


def find_scope(connection: sqlite3.Connection, scope: Scope) -> int:
    """The number of a scope, or `NOWHERE`."""
    found = connection.execute(
        "select id from scopes where kind = ? and tenant = ? and owner = ?", scope_key(scope)
    ).fetchone()
    return found[0] if found else NOWHERE


def add_scope(connection: sqlite3.Connection, scope: Scope) -> int:
    """Give a scope its number, or find the one that it has."""
    number = find_scope(connection, scope)
    if number == NOWHERE:
        number = connection.execute(
            "insert into scopes (kind, tenant, owner) values (?, ?, ?)", scope_key(scope)
        ).lastrowid
    return number or NOWHERE


def as_numbers(values: Iterable[int]) -> str:
    """Many numbers as one parameter, for `json_each`; several times quicker than `as_list`."""
    return f"[{','.join(map(str, values))}]"


def as_list(values: Iterable[int | str]) -> str:
    """Many values as one parameter, for `json_each`.

    SQLite ends a JSON string at a NUL, so a value with one would match what it is not; nothing
    stored has one (`check_keys`), so such a value is left out.
    """
    return json.dumps([each for each in values if not (isinstance(each, str) and "\0" in each)])
