"""What an operator does to a ledger as a whole."""

import sqlite3
from collections.abc import Sequence

from ricordo.adapters.sqlite.index_writing import IndexWriting
from ricordo.adapters.sqlite.outbox import scope_from
from ricordo.adapters.sqlite.session import Clock
from ricordo.model import Indexed, Scope, Space
from ricordo.ports import Unindexed

_STALE = (
    "select m.id, m.text, m.version, c.kind, c.tenant, c.owner from memories m "
    "join scopes c on c.id = m.scope_id left join memory_index i on i.memory_row = m.row "
    "left join spaces s on s.id = i.space_id where m.id > ? and not coalesce("
    "(s.model, s.dimension, s.transform, s.words) = (?, ?, ?, ?), 0) order by m.id limit ?"
)


def scopes(connection: sqlite3.Connection) -> list[Scope]:
    """Every scope, in the order in which they came."""
    found = connection.execute("select kind, tenant, owner from scopes order by id")
    return [scope_from(*row) for row in found]


def stale(
    connection: sqlite3.Connection, *, space: Space, after: str, limit: int
) -> list[Unindexed]:
    """Memories without an index row in `space`."""
    found = connection.execute(
        _STALE, (after, space.model, space.dimension, space.transform, space.words, limit)
    )
    return [
        Unindexed(memory_id=id_, scope=scope_from(*scope), text=text, version=version)
        for id_, text, version, *scope in found
    ]


class Restoring(IndexWriting):
    """Puts rebuilt index rows in place."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        scopes: Sequence[Scope],
        secret: bytes,
        clock: Clock,
    ) -> None:
        super().__init__(connection, scopes=scopes, secret=secret, clock=clock)
