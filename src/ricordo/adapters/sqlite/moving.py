"""One end of a move on an SQLite file: every row of it, as it lies there."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    closing,
    contextmanager,
)
from pathlib import Path
from typing import Any, TypeVar

from ricordo.adapters.sqlite.faults import translated
from ricordo.adapters.sqlite.opening import open_file, open_to_read
from ricordo.adapters.sqlite.schema import migrations
from ricordo.columns.moved import COUNTED, MOVED, MOVING, another_move, named, no_move
from ricordo.errors import Conflict, Corrupt
from ricordo.ports.moving import Head, Row, Table

T = TypeVar("T")

STAYS = {
    "meta": "the secret goes along by itself; the note of a move belongs to one ledger",
    "offices": "who holds one is of the processes that work on this ledger",
}
"""Tables whose rows are not moved, and why."""

_PATIENCE = 10.0


class SqliteMovable:
    """See `ricordo.ports.moving.Movable`. Made by `reading` and `filling`."""

    def __init__(
        self, connection: sqlite3.Connection, *, name: str, thread: ThreadPoolExecutor
    ) -> None:
        self._connection = connection
        self._name = name
        self._thread = thread

    @property
    def name(self) -> str:
        """See `ricordo.ports.moving.Movable`."""
        return self._name

    @property
    def tables(self) -> Sequence[Table]:
        """See `ricordo.ports.moving.Movable`."""
        return MOVED

    async def head(self) -> Head:
        """See `ricordo.ports.moving.Movable`."""
        return await self._run(self._head)

    async def counts(self) -> Mapping[str, int]:
        """See `ricordo.ports.moving.Movable`."""

        def count() -> dict[str, int]:
            return {
                table.name: self._one(f"select count(*) from {table.name}")[0] for table in MOVED
            }

        return await self._run(count)

    async def page(self, table: Table, *, after: Row | None, limit: int) -> list[Row]:
        """See `ricordo.ports.moving.Movable`."""
        key = named(table.key)
        above = "" if after is None else f"where ({key}) > ({_marks(table.key)}) "
        sql = f"select {named(table.columns)} from {table.name} {above}order by {key} limit ?"
        values = (*(after or ()), limit)
        return await self._run(lambda: self._connection.execute(sql, values).fetchall())

    async def note(self) -> str | None:
        """See `ricordo.ports.moving.Movable`."""
        return await self._run(self._note)

    async def begin(self, secret: bytes, *, note: str) -> None:
        """See `ricordo.ports.moving.Movable`."""

        def begin() -> None:
            if self._note() is not None:
                raise Conflict(another_move(self._name))
            execute = self._connection.execute
            execute("update meta set value = ? where name = 'secret'", (secret,))
            execute("insert into meta (name, value) values (?, ?)", (MOVING, note.encode()))

        await self._run(begin, writing=True)

    async def put(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        columns = [each for each in table.columns if each not in table.late]
        places = table.places(columns)
        values = [[row[place] for place in places] for row in rows]
        sql = f"insert into {table.name} ({named(columns)}) values ({_marks(columns)})"
        await self._noting(sql, values, note=note, was=was)

    async def link(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        places = table.places((*table.late, *table.key))
        values = [[row[place] for place in places] for row in rows]
        changes = ", ".join(f'"{each}" = ?' for each in table.late)
        sql = (
            f"update {table.name} set {changes} where ({named(table.key)}) = ({_marks(table.key)})"
        )
        await self._noting(sql, values, note=note, was=was)

    async def finish(self, counters: Mapping[str, int], *, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""

        def finish() -> None:
            self._replace_note(None, was=was)
            self._forget_counters()
            self._connection.executemany(
                "insert into sqlite_sequence (name, seq) values (?, ?)",
                [(name, counters[name]) for name in COUNTED if counters[name]],
            )

        await self._run(finish, writing=True)

    async def clear(self) -> None:
        """See `ricordo.ports.moving.Movable`."""

        def clear() -> None:
            note = self._note()
            if note is None:
                raise Conflict(no_move(self._name))
            for table in reversed(MOVED):
                self._unlink(table)
                self._connection.execute(f"delete from {table.name}")
            self._forget_counters()
            self._replace_note(None, was=note)

        await self._run(clear, writing=True)

    def _unlink(self, table: Table) -> None:
        for column in table.late:
            self._connection.execute(
                f'update {table.name} set "{column}" = null where "{column}" is not null'
            )

    def _head(self) -> Head:
        secret = self._one("select value from meta where name = 'secret'")
        if not secret:
            raise Corrupt(f"the ledger {self._name} has lost its secret; restore it from a backup")
        given = dict(self._connection.execute("select name, seq from sqlite_sequence"))
        return Head(secret=secret[0], counters={name: given.get(name, 0) for name in COUNTED})

    def _note(self) -> str | None:
        found = self._one("select value from meta where name = ?", MOVING)
        return bytes(found[0]).decode() if found else None

    async def _noting(
        self, sql: str, values: Sequence[Sequence[object]], *, note: str, was: str
    ) -> None:
        def run() -> None:
            self._replace_note(note, was=was)
            self._connection.executemany(sql, values)

        await self._run(run, writing=True)

    def _replace_note(self, note: str | None, *, was: str) -> None:
        known = (MOVING, was.encode())
        if note is None:
            sql, values = "delete from meta where name = ? and value = ?", known
        else:
            sql = "update meta set value = ? where name = ? and value = ?"
            values = (note.encode(), *known)
        if self._connection.execute(sql, values).rowcount != 1:
            raise Conflict(another_move(self._name))

    def _forget_counters(self) -> None:
        self._connection.executemany(
            "delete from sqlite_sequence where name = ?", [(name,) for name in COUNTED]
        )

    def _one(self, sql: str, *values: object) -> tuple[Any, ...]:
        return self._connection.execute(sql, values).fetchone() or ()

    async def _run(self, work: Callable[[], T], *, writing: bool = False) -> T:
        def run() -> T:
            with translated(self._name), self._transaction(writing=writing):
                return work()

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    @contextmanager
    def _transaction(self, *, writing: bool) -> Generator[None]:
        self._connection.execute("begin immediate" if writing else "begin")
        try:
            yield
            self._connection.execute("commit")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("rollback")


def reading(path: str | os.PathLike[str]) -> AbstractAsyncContextManager[SqliteMovable]:
    """A ledger to move from; nothing in it is changed. Raises as `SqliteLedger.open` does."""
    file = Path(path).absolute()

    def connect(stack: ExitStack) -> sqlite3.Connection:
        return stack.enter_context(closing(open_to_read(file, patience=_PATIENCE)))

    return _opened(file, connect)


def filling(path: str | os.PathLike[str]) -> AbstractAsyncContextManager[SqliteMovable]:
    """A ledger to move into, made if need be. Raises as `SqliteLedger.open` does."""
    file = Path(path).absolute()

    def connect(stack: ExitStack) -> sqlite3.Connection:
        opened = open_file(
            file, create=True, steps=migrations(), patience=_PATIENCE, readers=0, to_fill=True
        )
        stack.callback(opened.file.release)  # last, for it would drop the connections' locks
        stack.enter_context(closing(opened.mover))
        connection = stack.enter_context(closing(opened.writer))
        connection.execute(f"pragma busy_timeout = {round(_PATIENCE * 1000)}")
        connection.execute("pragma wal_autocheckpoint = 1000")
        return connection

    return _opened(file, connect)


@asynccontextmanager
async def _opened(
    file: Path, connect: Callable[[ExitStack], sqlite3.Connection]
) -> AsyncGenerator[SqliteMovable]:
    """Opened, used and closed on one thread: nothing is closed under a running statement."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ricordo-move")
    stack = ExitStack()
    try:
        connection = await loop.run_in_executor(thread, connect, stack)
        yield SqliteMovable(connection, name=str(file), thread=thread)
    finally:
        await asyncio.shield(loop.run_in_executor(thread, _close, file, stack))
        thread.shutdown(wait=False)


def _close(file: Path, stack: ExitStack) -> None:
    with translated(str(file)):
        stack.close()


def _marks(columns: Sequence[str]) -> str:
    return ", ".join("?" for _ in columns)
