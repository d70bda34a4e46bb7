"""Opening a database: only a ledger of ours, as a role that the server guards rows against."""

from typing import Any

from ricordo.adapters.postgres.address import SCHEMA, Address
from ricordo.adapters.postgres.driving import Connection
from ricordo.adapters.postgres.faults import translated
from ricordo.adapters.postgres.lanes import connect
from ricordo.adapters.postgres.meanings import Meanings, meanings_of
from ricordo.adapters.postgres.schema import check_version
from ricordo.adapters.postgres.server import check_server
from ricordo.columns.moved import MOVING, under_way
from ricordo.errors import Corrupt, Denied, ForeignFile, NotFound, Unavailable

_FOUND = (
    "select pg_is_in_recovery(), to_regnamespace(%s)::text, to_regclass(%s)::text, "
    "has_schema_privilege(coalesce(to_regnamespace(%s), to_regnamespace('pg_catalog')), 'usage'), "
    "(select rolsuper or rolbypassrls from pg_roles where rolname = current_user), "
    "exists (select 1 from pg_roles where rolname in "
    "('ricordo_owner', 'ricordo_operator', 'ricordo_mover', 'ricordo_finder') "
    "and pg_has_role(oid, 'member')), "
    "(select rolcreaterole or rolreplication from pg_roles where rolname = current_user)"
)


async def check_database(address: Address, *, patience: float) -> tuple[bytes, Meanings]:
    """Look at what is there, and return the ledger's secret, and what it has of pgvector.

    Raises:
        NotFound: there is no ledger in it.
        ForeignFile, WrongSchema, Corrupt: what is there is no sound ledger of this version.
        Denied: the role may see every scope's rows, or none.
        Unavailable: the server is too old, only reads, or is not there.
    """
    connection = await connect(address, patience=patience)
    async with connection:
        with translated(address.name):
            check_server(connection.info.server_version, name=address.name)
            await _check_content(connection, address)
            return await _secret(connection, address), await meanings_of(connection)


async def check_to_move(connection: Connection, address: Address) -> None:
    """Look at what is there, for somebody who is to see every row of it.

    Raises as `check_database`, but for `Denied` where the role may not.
    """
    with translated(address.name):
        check_server(connection.info.server_version, name=address.name)
        await _check_content(connection, address, to_move=True)


async def _check_content(
    connection: Connection, address: Address, *, to_move: bool = False
) -> None:
    kept = f"{SCHEMA}.alembic_version"
    standby, schema, table, usable, unguarded, elevated, could = await _one(
        connection, _FOUND, SCHEMA, kept, SCHEMA
    )
    if schema is None:
        raise NotFound(f"there is no ledger in {address.name}; `ricordo init --postgres` makes one")
    if usable and table is None:
        raise ForeignFile(
            f"the database {address.name} has a schema named {SCHEMA} that is not a Ricordo "
            "ledger; nothing was changed"
        )
    if to_move and not (unguarded or elevated):
        raise Denied(
            f"the role that connects to {address.name} may not see every scope's rows, which a "
            "move needs; connect as the administrator that `ricordo init --postgres` was run as"
        )
    if not to_move and (unguarded or elevated or could):
        raise Denied(
            f"the role that connects to {address.name} may see every scope's rows, or could make "
            "itself a role that may; connect as the role that `ricordo init --postgres` made"
        )
    (version,) = await _one(connection, f"select version_num from {kept}")
    check_version(version, name=address.name)
    if standby:
        raise Unavailable(
            f"the server {address.name} only reads; it is a standby. Name the primary"
        )
    if not to_move and await _one(
        connection, f"select 1 from {SCHEMA}.meta where name = %s", MOVING
    ):
        raise Unavailable(under_way(address.name))


async def _secret(connection: Connection, address: Address) -> bytes:
    found = await _one(connection, f"select value from {SCHEMA}.meta where name = 'secret'")
    if not found:
        raise Corrupt(f"the ledger {address.name} has lost its secret; restore it from a backup")
    return found[0]


async def _one(connection: Connection, sql: str, *values: Any) -> tuple[Any, ...]:
    """The first row; an empty one without any."""
    cursor = await connection.execute(sql.encode(), values)
    return await cursor.fetchone() or ()
