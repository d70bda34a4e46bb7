"""Making a partition searchable in the database, step by step, while it is used."""

from ricordo.adapters.postgres.search_writing import SearchWriting
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.indexing import PLACES
from ricordo.errors import NotFound
from ricordo.model import Partition

STEP = 500
"""Rows copied in one transaction, for as long as which the scope's other writers wait."""


class Preparing(SearchWriting):
    """One step: the next rows in the order of their places."""

    async def prepare(self, *, partition: Partition) -> bool:
        """Copy some rows; True once all are there. Raises `NotFound` where nothing is."""
        scope = self._number(partition.scope)
        number = await self._row(
            "select id from partitions where scope_id = %s and kind = %s and agent = %s",
            scope,
            partition.kind.value,
            partition.agent or "",
        )
        if number is None:
            raise NotFound(f"{partition.scope} holds nothing of that kind any more")
        reached, filled = await self._reached(scope, number[0])
        if filled:
            return True
        found = await Ask(
            "select place, vector, terms, counts from memory_index "
            "where scope_id = %s and place > %s and place < %s order by place limit %s",
            (scope, reached, (number[0] + 1) * PLACES, STEP),
            binary=True,
        )
        await self._copy([(row[0], number[0], *row[1:]) for row in found.rows])
        done = len(found.rows) < STEP
        await self._change(
            "update search_partitions set reached = %s, filled = %s where partition_id = %s",
            found.rows[-1][0] if found.rows else reached,
            done,
            number[0],
        )
        return done

    async def _reached(self, scope: int, number: int) -> tuple[int, bool]:
        find = "select reached, filled from search_partitions where partition_id = %s"
        found = await self._row(find, number)
        if found is None:
            await self._change(
                "insert into search_partitions (partition_id, scope_id, reached) "
                "values (%s, %s, %s)",
                number,
                scope,
                number * PLACES,
            )
            found = await self._row(find, number)
        return found
