"""What an operator does to a ledger as a whole."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from ricordo.adapters.sqlite.index_writing import IndexWriting
from ricordo.adapters.sqlite.memory_reading import MemoryReading
from ricordo.columns.indexing import check_row, space_from, space_values
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import micros
from ricordo.model import Indexed, Memory, Scope, Space
from ricordo.ports import Unindexed

_STALE = (
    "select m.id, m.text, m.version, c.kind, c.tenant, c.owner from memories m "
    "join scopes c on c.id = m.scope_id left join memory_index i on i.memory_row = m.row "
    "left join spaces s on s.id = i.space_id where {which} and not coalesce("
    "(s.model, s.dimension, s.transform, s.words) = (?, ?, ?, ?), 0) order by m.id, m.row limit ?"
)
_STALE_AFTER = _STALE.format(which="m.id > ?")
_STALE_SAME = _STALE.format(which="m.id = ?")


def scopes(connection: sqlite3.Connection) -> list[Scope]:
    """Every scope, in the order in which they came."""
    found = connection.execute("select kind, tenant, owner from scopes order by id")
    return [scope_from(*row) for row in found]


def spaces(connection: sqlite3.Connection) -> list[Space]:
    """Every space, in the order in which they came."""
    found = connection.execute("select model, dimension, transform, words from spaces order by id")
    return [space_from(row) for row in found]


def stale(
    connection: sqlite3.Connection, *, space: Space, after: str, limit: int
) -> list[Unindexed]:
    """Memories without an index row in `space`."""
    asked = space_values(space)
    found = connection.execute(_STALE_AFTER, (after, *asked, limit)).fetchall()
    if len(found) == limit:
        # Ids are unique in a scope only; all of the last one's id belong to this page.
        last = found[-1][0]
        found = [row for row in found if row[0] != last]
        found += connection.execute(_STALE_SAME, (last, *asked, -1)).fetchall()
    return [
        Unindexed(memory_id=id_, scope=scope_from(*scope), text=text, version=version)
        for id_, text, version, *scope in found
    ]


def expire(
    connection: sqlite3.Connection, *, turns_before: datetime, audit_before: datetime, limit: int
) -> int:
    """Remove old traces of what is over."""
    turns = connection.execute(
        "delete from queue where id in (select id from (select id, queued_at from queue "
        "where state = 'done' order by id limit ?) where queued_at < ?)",
        (limit, micros(turns_before)),
    )
    notes = connection.execute(
        "delete from audit where row in (select row from (select row, at from audit "
        "order by row limit ?) where at < ?)",
        (limit, micros(audit_before)),
    )
    return turns.rowcount + notes.rowcount


class Restoring(MemoryReading, IndexWriting):
    """Puts rebuilt index rows in place."""

    async def restore(self, rows: Sequence[tuple[Unindexed, Indexed]], *, space: Space) -> None:
        """See `ricordo.ports.Upkeep`."""
        for stale_row, indexed in rows:
            check_row(indexed, space)
            found = await self.memories([stale_row.memory_id], scope=stale_row.scope)
            if not found or found[0].version != stale_row.version:
                continue
            self._move_to(found[0], space)
            row, partition = self._row(
                "select row, partition_id from memories where scope_id = ? and id = ?",
                self._number(stale_row.scope),
                stale_row.memory_id,
            )
            self._index(found[0], row, partition, (indexed, space))

    def _move_to(self, memory: Memory, space: Space) -> None:
        """Let the memory's partition be of this space; caches of the old one must start anew."""
        self._change(
            "update partitions set space_id = ?1, generation = generation + 1, "
            "listed_since = generation + 1, size = 0 "
            "where id = (select partition_id from memories where scope_id = ?2 and id = ?3) "
            "and space_id is not ?1",
            self._space_number(space),
            self._number(memory.scope),
            memory.id,
        )
