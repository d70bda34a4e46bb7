"""Approximate indexes of large partitions: each holds one partition, and is made while it is used.

They are made by whoever administers the database, for a program's role owns nothing.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from ricordo.adapters.postgres.address import SCHEMA, address_of
from ricordo.adapters.postgres.faults import translated
from ricordo.adapters.postgres.lanes import CONNECT_SECONDS
from ricordo.adapters.postgres.meanings import FOUND, meanings_from

LARGEST = 4_000
"""Most dimensions that pgvector puts into such an index, as half-precision numbers."""

_NAME = re.compile(r"search_near_(\d+)_(\d+)")
_KEPT_SHARE = 2
"""An index is given up when its partition has fallen below one part in so many of the size."""

_SECONDS = 6 * 3600.0
_MEMORY = 256 * 1024
"""Kibibytes for making one, where the server allows less by itself; too few make it slow."""


def index_name(partition: int, space: int) -> str:
    """The name of a partition's index, for rows of one space."""
    return f"search_near_{partition}_{space}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """Which indexes were made, and which removed, by name."""

    made: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


async def tune(url: str, *, least: int) -> Tuned:
    """Give every partition of at least so many memories that is searched in the database its
    approximate index, and remove those that nobody needs. Others read and write meanwhile.

    Raises:
        Denied, NotFound, Unavailable: the server refused, lacks the database, or is not there.
    """
    return await asyncio.to_thread(_tune, url, least)


def _tune(url: str, least: int) -> Tuned:
    address = address_of(url)
    connecting = address.connecting(seconds=CONNECT_SECONDS, patience=_SECONDS)
    with (
        translated(address.name, connecting=True),
        psycopg.connect(**connecting, autocommit=True) as connection,
        translated(address.name),
    ):
        place = _place(connection)
        return Tuned() if place is None else _tuned(connection, place, least)


def _place(connection: psycopg.Connection[Any]) -> str | None:
    """The schema of pgvector, where the ledger uses it."""
    found = connection.execute(FOUND.encode()).fetchone()
    meanings = meanings_from(found or ("", None, None, False))
    return meanings.place if meanings.missing is None else None


def _tuned(connection: psycopg.Connection[Any], place: str, least: int) -> Tuned:
    # One at a time, over all who might do this.
    connection.execute("select pg_advisory_lock(hashtextextended('ricordo near', 0))")
    connection.execute("set role ricordo_owner")
    known = dict(_known(connection))
    large: dict[str, tuple[Any, ...]] = {}
    kept: set[str] = set()
    for row in _large(connection, max(1, least // _KEPT_SHARE)):
        partition, space, dimension, size = row
        if dimension <= LARGEST:
            kept.add(index_name(partition, space))
            if size >= least:
                large[index_name(partition, space)] = row
    gone = [name for name, valid in known.items() if name not in kept or not valid]
    for name in gone:
        _execute(connection, "drop index concurrently if exists {}.{}", SCHEMA, name)
    missing = [name for name in large if name not in known or not known[name]]
    connection.execute(
        "select set_config('maintenance_work_mem', greatest(%s, setting::bigint)::text, false) "
        "from pg_settings where name = 'maintenance_work_mem'",
        (_MEMORY,),
    )
    for name in missing:
        _make(connection, name, place, large[name])
    return Tuned(made=tuple(missing), removed=tuple(n for n in gone if n not in missing))


def _known(connection: psycopg.Connection[Any]) -> list[tuple[str, bool]]:
    found = connection.execute(
        "select c.relname, i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid "
        "where i.indrelid = to_regclass('ricordo.search_rows')"
    )
    return [(name, valid) for name, valid in found.fetchall() if _NAME.fullmatch(name)]


def _large(connection: psycopg.Connection[Any], least: int) -> list[tuple[Any, ...]]:
    connection.execute("reset role")
    found = connection.execute("select * from ricordo.large_partitions(%s)", (least,)).fetchall()
    connection.execute("set role ricordo_owner")
    return found


def _make(connection: psycopg.Connection[Any], name: str, place: str, row: tuple[Any, ...]) -> None:
    partition, space, dimension, _ = map(int, row)
    _execute(
        connection,
        "create index concurrently {} on {}.search_rows using hnsw "
        f"((embedding::{{}}.halfvec({dimension})) {{}}.halfvec_ip_ops) "
        f"where partition_id = {partition} and space_id = {space} and visible = 1",
        name,
        SCHEMA,
        place,
        place,
    )


def _execute(connection: psycopg.Connection[Any], statement: str, *names: str) -> None:
    named = sql.SQL(statement).format(*map(sql.Identifier, names))  # pyright: ignore
    connection.execute(named)
