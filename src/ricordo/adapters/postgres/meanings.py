"""The extension pgvector in a database: whether it is there, and what is missing."""

import sys
from array import array
from dataclasses import dataclass
from typing import Any

from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

from ricordo.adapters.postgres.driving import Connection

NEEDED = (0, 8)
"""The version of pgvector from which a filtered search goes on until it has enough."""

FOUND = (
    "select coalesce(n.nspname, '') as place, e.extversion as version, "
    "(select max(a.version) from pg_available_extension_versions a where a.name = 'vector') "
    "as available, exists (select 1 from pg_attribute c "
    "where c.attrelid = to_regclass('ricordo.search_rows') and c.attname = 'embedding' "
    "and not c.attisdropped) as used "
    "from (values (1)) v (one) left join pg_extension e on e.extname = 'vector' "
    "left join pg_namespace n on n.oid = e.extnamespace"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meanings:
    """What a database has of pgvector.

    Attributes:
        place: the schema of its types and operators; '' without it.
        version: the installed one, None without it.
        available: the version that the server could install, None where it has none.
        used: whether the ledger has the column for it.
    """

    place: str
    version: str | None
    available: str | None
    used: bool

    @property
    def missing(self) -> str | None:
        """What has to be done, and by whom, before a ledger can search by itself; None if nothing
        has to."""
        if self.version is None and self.available is None:
            return (
                "the server does not have the extension pgvector; ask its administrator to install "
                "it (Debian and Ubuntu: the package postgresql-NN-pgvector, NN being the server's "
                "version), and then to run `ricordo init --postgres`"
            )
        if self.version is None:
            return (
                "the extension pgvector is not created in the database; ask an administrator to "
                "run `ricordo init --postgres` there, or `create extension vector` first where "
                "only a superuser may"
            )
        if _number(self.version) < NEEDED:
            return (
                f"the extension pgvector is of version {self.version}, 0.8 is needed; ask an "
                "administrator to run `alter extension vector update` there"
            )
        if not self.used:
            return (
                "the extension pgvector is there, but the ledger does not use it yet; ask an "
                "administrator, who may grant the use of the extension's schema, to run "
                "`ricordo init --postgres` again"
            )
        return None

    @property
    def usable(self) -> bool:
        """Whether the column can be made."""
        return self.version is not None and _number(self.version) >= NEEDED


def quoted(name: str) -> str:
    """A schema's name as it stands in a statement."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())


async def meanings_of(connection: Connection) -> Meanings:
    """What the database of this connection has."""
    cursor = await connection.execute(FOUND.encode())
    return meanings_from(await cursor.fetchone() or ("", None, None, False))


def meanings_from(row: tuple[Any, ...]) -> Meanings:
    """From what `FOUND` selects."""
    place, version, available, used = row
    return Meanings(place=place, version=version, available=available, used=used)


@dataclass(frozen=True, slots=True)
class Direction:
    """A vector as it is stored, on its way to a parameter of pgvector's type."""

    stored: bytes


class DirectionDumper(Dumper):
    """Sends a vector in pgvector's own form: its length, and big-endian numbers. The type is the
    server's to find, by the cast around the parameter: it has another number in every database."""

    format = Format.BINARY
    oid = 0

    def dump(self, obj: Direction) -> Buffer:
        """See `psycopg.adapt.Dumper`."""
        numbers = array("f", obj.stored)
        if sys.byteorder == "little":
            numbers.byteswap()
        return len(numbers).to_bytes(2, "big") + b"\0\0" + numbers.tobytes()
