"""One end of a move on a PostgreSQL server, as an administrator who sees every row of it."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from ricordo.adapters.postgres.address import SCHEMA, Address, address_of
from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.faults import translated
from ricordo.adapters.postgres.lanes import GRACE, connect
from ricordo.adapters.postgres.opening import check_to_move
from ricordo.adapters.postgres.session import Ask
from ricordo.adapters.postgres.watching import WATCH, Watch
from ricordo.columns.moved import COUNTED, MOVED, MOVING, another_move, named, no_move
from ricordo.errors import Conflict, Corrupt, DeadlineExceeded, Unavailable
from ricordo.ports.moving import Head, Row, Table, Value

STAYS = {
    "meta": "the secret goes along by itself; the note of a move belongs to one ledger",
    "outbox_end": "goes along as the outbox's counter",
    "alembic_version": "the schema's own",
    "offices": "who holds one is of the processes that work on this ledger",
    **dict.fromkeys(
        ("search_partitions", "search_rows", "search_totals"), "copies, made when they are needed"
    ),
}
"""Tables whose rows are not moved, and why."""

OWN = {("outbox", "row"): "numbers events until they have a position"}
"""Columns that only this engine has, and why they are not moved."""

_NAMES = {("erasures", "scope_id"): "former_id"}
"""Columns that have another name here: what is named scope_id is guarded."""

_PATIENCE = 600.0

Types = Mapping[tuple[str, str], str]


class PostgresMovable:
    """See `ricordo.ports.moving.Movable`. Made by `moving`."""

    def __init__(self, connection: Connection, *, address: Address, types: Types) -> None:
        self._connection = connection
        self._address = address
        self._types = types

    @property
    def name(self) -> str:
        """See `ricordo.ports.moving.Movable`."""
        return self._address.name

    @property
    def tables(self) -> Sequence[Table]:
        """See `ricordo.ports.moving.Movable`."""
        return MOVED

    async def head(self) -> Head:
        """See `ricordo.ports.moving.Movable`."""
        async with self._doing(writing=True):
            while await self._one("select 1 from outbox where position is null limit 1"):
                await self._all("select number_events()")
            secret = await self._one("select value from meta where name = 'secret'")
            if not secret:
                raise Corrupt(
                    f"the ledger {self.name} has lost its secret; restore it from a backup"
                )
            counters = {name: await self._counter(name) for name in COUNTED}
        return Head(secret=secret[0], counters=counters)

    async def counts(self) -> Mapping[str, int]:
        """See `ricordo.ports.moving.Movable`."""
        async with self._doing():
            return {
                table.name: (await self._one(f"select count(*) from {table.name}"))[0]
                for table in MOVED
            }

    async def page(self, table: Table, *, after: Row | None, limit: int) -> list[Row]:
        """See `ricordo.ports.moving.Movable`."""
        key = named(self._real(table, table.key))
        marks = ", ".join("%s" for _ in table.key)
        above = "" if after is None else f"where ({key}) > ({marks}) "
        columns = named(self._real(table, table.columns))
        async with self._doing():
            rows = await self._all(
                f"select {columns} from {table.name} {above}order by {key} limit %s",
                *(after or ()),
                limit,
            )
        return [tuple(map(_plain, row)) for row in rows]

    async def note(self) -> str | None:
        """See `ricordo.ports.moving.Movable`."""
        # A process that was killed may have left a transaction that the server is still ending.
        async with self._doing(writing=True):
            return await self._note()

    async def begin(self, secret: bytes, *, note: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        async with self._doing(writing=True):
            # Two that begin at once take turns at this row.
            await self._change("update meta set value = %s where name = 'secret'", secret)
            added = await self._change(
                "insert into meta (name, value) values (%s, %s) on conflict do nothing",
                MOVING,
                note.encode(),
            )
            if not added:
                raise Conflict(another_move(self.name))

    async def put(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        columns = [each for each in table.columns if each not in table.late]
        into = self._real(table, columns)
        taken = [self._taken(table, each) for each in columns]
        if table.name == "outbox":
            into, taken = [*into, "row"], [*taken, 'f."position"']
        sql_ = (
            f"insert into {table.name} ({named(into)}) overriding system value "
            f"select {', '.join(taken)} from {self._given(table, columns)}"
        )
        await self._noting(sql_, table, columns, rows, note=note, was=was)

    async def link(self, table: Table, rows: Sequence[Row], *, note: str, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        columns = [*table.late, *table.key]
        changes = ", ".join(f'"{each}" = f."{each}"' for each in table.late)
        same = " and ".join(f't."{each}" = f."{each}"' for each in table.key)
        sql_ = (
            f"update {table.name} t set {changes} from {self._given(table, columns)} where {same}"
        )
        await self._noting(sql_, table, columns, rows, note=note, was=was)

    async def finish(self, counters: Mapping[str, int], *, was: str) -> None:
        """See `ricordo.ports.moving.Movable`."""
        async with self._doing(writing=True):
            await self._replace_note(None, was=was)
            numbered = await self._all(
                "select table_name, column_name from information_schema.columns "
                "where table_schema = %s and is_identity = 'YES'",
                SCHEMA,
            )
            for table, column in numbered:
                await self._go_on(table, column, least=counters.get(table, 0))
            await self._all(
                "select setval('served_turns', nullif(max(served), 0)) from scopes "
                "having max(served) > 0"
            )
            await self._change("update outbox_end set position = %s", counters["outbox"])
        await self._analyze()

    async def clear(self) -> None:
        """See `ricordo.ports.moving.Movable`."""
        async with self._doing(writing=True):
            note = await self._note()
            if note is None:
                raise Conflict(no_move(self.name))
            for table in reversed(MOVED):
                await self._change(f"delete from {table.name}")
            await self._replace_note(None, was=note)

    async def _go_on(self, table: str, column: str, *, least: int) -> None:
        await self._all(
            f"select setval(pg_get_serial_sequence('{SCHEMA}.{table}', '{column}'), n) from ("
            f'select greatest(%s, max("{column}")) as n from {table}) f where n > 0',
            least,
        )

    async def _analyze(self) -> None:
        """Let the server know what it holds now, for how it searches depends on that."""
        async with self._doing():
            known = await self._one("select pg_has_role(session_user, 'ricordo_owner', 'member')")
        if not known[0]:
            return
        async with self._doing(writing=True):
            await self._all("set local role ricordo_owner")
            await self._all(f"analyze {', '.join(table.name for table in MOVED)}")

    async def _counter(self, table: str) -> int:
        if table == "outbox":
            return (await self._one("select position from outbox_end"))[0]
        column = next(each for each in MOVED if each.name == table).key[0]
        found = await self._one(
            f"select case when is_called then last_value else 0 end from {table}_{column}_seq"
        )
        return found[0]

    async def _note(self) -> str | None:
        found = await self._one("select value from meta where name = %s for share", MOVING)
        return bytes(found[0]).decode() if found else None

    async def _noting(
        self,
        statement: str,
        table: Table,
        columns: Sequence[str],
        rows: Sequence[Row],
        *,
        note: str,
        was: str,
    ) -> None:
        places = table.places(columns)
        given = [
            [self._sent(table, table.columns[place], row[place]) for row in rows]
            for place in places
        ]
        async with self._doing(writing=True):
            await self._replace_note(note, was=was)
            await self._change(statement, *given)

    async def _replace_note(self, note: str | None, *, was: str) -> None:
        known = (MOVING, was.encode())
        if note is None:
            changed = await self._change("delete from meta where name = %s and value = %s", *known)
        else:
            changed = await self._change(
                "update meta set value = %s where name = %s and value = %s", note.encode(), *known
            )
        if changed != 1:
            raise Conflict(another_move(self.name))

    def _real(self, table: Table, columns: Sequence[str]) -> list[str]:
        return [_NAMES.get((table.name, each), each) for each in columns]

    def _type(self, table: Table, column: str) -> str:
        return self._types[table.name, _NAMES.get((table.name, column), column)]

    def _given(self, table: Table, columns: Sequence[str]) -> str:
        """The rows that are sent, one array for each column."""
        sent = {"bool": "int8", "_text": "text"}
        types = [self._type(table, each) for each in columns]
        arrays = ", ".join(f"%s::{sent.get(each, each)}[]" for each in types)
        return f"unnest({arrays}) f ({named(columns)})"

    def _taken(self, table: Table, column: str) -> str:
        """A column of what is sent as the table keeps it."""
        value = f'f."{column}"'
        match self._type(table, column):
            case "bool":
                return f"{value} <> 0"
            case "_text":
                return f"array(select json_array_elements_text({value}::json))"
            case _:
                return value

    def _sent(self, table: Table, column: str, value: Value) -> Value:
        if self._type(table, column) == "_text":
            return json.dumps(value.split("\0") if isinstance(value, str) and value else [])
        return value

    async def _one(self, statement: str, *values: Any) -> tuple[Any, ...]:
        rows = await self._all(statement, *values)
        return rows[0] if rows else ()

    async def _all(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        return (await perform(Ask(statement, values, binary=True), on=self._connection)).rows

    async def _change(self, statement: str, *values: Any) -> int:
        return (await perform(Ask(statement, values), on=self._connection)).changed

    @asynccontextmanager
    async def _doing(self, *, writing: bool = False) -> AsyncGenerator[None]:
        """A transaction, given up when the server says nothing."""
        watch = Watch(self._connection, seconds=_PATIENCE + GRACE)
        begun = WATCH.set(watch)
        try:
            with translated(self.name):
                async with self._connection.transaction():
                    if not writing:
                        await self._connection.execute(b"set transaction read only")
                    yield
        except Unavailable as error:
            if watch.cut:
                raise DeadlineExceeded(
                    f"the ledger {self.name}: the server said nothing for {_PATIENCE + GRACE:g} "
                    "seconds; the connection was given up. Run the same command again to go on"
                ) from error
            raise
        finally:
            WATCH.reset(begun)
            watch.end()


@asynccontextmanager
async def moving(url: str) -> AsyncGenerator[PostgresMovable]:
    """A ledger to move from or into, as somebody who may see every row of it.

    Args:
        url: of the database, as the administrator that `ricordo init --postgres` was run as.

    Raises:
        Invalid: the URL cannot be read. NotFound: there is no ledger, or no such database.
        ForeignFile, WrongSchema: what is there is no ledger of this version.
        Denied: the server refused the role, or guards rows against it.
        Unavailable: the server is not there, too old, or only reads.
    """
    address = address_of(url)
    async with await connect(address, patience=_PATIENCE) as connection:
        await check_to_move(connection, address)
        with translated(address.name):
            await connection.execute(b"set role ricordo_mover")
            types = await connection.execute(
                b"select table_name, column_name, udt_name from information_schema.columns "
                b"where table_schema = %s",
                (SCHEMA,),
            )
            known = {(table, column): kind for table, column, kind in await types.fetchall()}
        yield PostgresMovable(connection, address=address, types=known)


def _plain(value: Any) -> Value:
    """A value as every engine has it."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, list):
        return "\0".join(cast("list[str]", value))
    return value
