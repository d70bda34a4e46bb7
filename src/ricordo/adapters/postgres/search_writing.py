"""The copy of index rows that the database searches, carried along with every change of them."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.meanings import Direction, quoted
from ricordo.adapters.postgres.search_terms import stored_words
from ricordo.adapters.postgres.session import Session

SEARCHED = "exists (select 1 from search_partitions f where f.partition_id = {})"
"""Whether a partition's rows are copied."""

_COPIED = (
    "place, scope_id, partition_id, space_id, memory_id, visible, valid_from, valid_until, thread, "
    "said_at, recorded_at, length"
)
_KEPT = "visible, valid_from, valid_until, thread, said_at, recorded_at"


class SearchWriting(Session):
    """Keeps the rows of partitions that are searched in the database."""

    async def _copy(self, rows: Sequence[tuple[int, int, bytes, bytes, bytes]]) -> None:
        """Copy index rows: place, partition, vector, terms and counts of each."""
        types = quoted(self._types or await self._types_since())
        await self._each(
            f"insert into search_rows ({_COPIED}, words, embedding) "
            f"select {_COPIED}, %s::tsvector, %s::{types}.vector "
            "from memory_index i where i.place = %s "
            f"and {SEARCHED.format('i.partition_id')} "
            "on conflict (place) do nothing",
            [
                (stored_words(partition, terms, counts), Direction(vector), place)
                for place, partition, vector, terms, counts in rows
            ],
        )

    async def _types_since(self) -> str:
        """The schema of pgvector, where it was added after this program opened the ledger."""
        found = await self._row(
            "select n.nspname from pg_extension e join pg_namespace n on n.oid = e.extnamespace "
            "where e.extname = 'vector'"
        )
        return found[0] if found else ""

    async def _copy_again(self, row: int) -> None:
        """Carry over what changed about the index row of a memory."""
        changed = ", ".join(f"{name} = i.{name}" for name in _KEPT.split(", "))
        await self._change(
            f"update search_rows s set {changed} from memory_index i "
            "where i.memory_row = %s and s.place = i.place",
            row,
        )

    async def _uncopy(self, rows: Sequence[Any]) -> None:
        """Remove the copies of these memories' index rows."""
        await self._change(
            "delete from search_rows where place in "
            "(select place from memory_index where memory_row = any(%s))",
            rows,
        )
