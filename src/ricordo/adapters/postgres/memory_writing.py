"""Memories, written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.adapters.postgres.erasures import Erasing
from ricordo.adapters.postgres.index_writing import IndexWriting
from ricordo.adapters.postgres.memory_reading import MemoryReading
from ricordo.adapters.postgres.removal import Removing
from ricordo.adapters.postgres.session import storable
from ricordo.columns.indexing import check_space
from ricordo.columns.memory_rows import NAMES, author_of, memory_values, with_recalls
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS
from ricordo.columns.origins import origin_values
from ricordo.columns.scopes import NOWHERE, check_keys
from ricordo.columns.times import micros
from ricordo.errors import Conflict
from ricordo.model import Indexed, Memory, Scope, Space, Status

_INSERT = (
    f"insert into memories (scope_id, partition_id, {', '.join(NAMES)}) "
    f"values (%s, %s{', %s' * len(NAMES)}) returning row"
)
_SET = ", ".join(f"{name} = %s" for name in NAMES)
_UPDATE = f"update memories set partition_id = %s, {_SET} where row = %s"
_UNIQUE = (Status.ACTIVE, Status.PROPOSED, Status.REJECTED)


class MemoryWriting(MemoryReading, IndexWriting, Removing, Erasing):
    """Stores, replaces, counts and removes memories."""

    async def put(self, memory: Memory, *, indexed: Indexed | None, space: Space | None) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(memory.id)
        old = await self._row(
            "select row, version, text, partition_id, recalls, last_recalled_at from memories "
            "where scope_id = %s and id = %s",
            self._number(memory.scope),
            memory.id,
        )
        self._check_version(memory, None if old is None else old[1])
        partition, known_space = await self._known(memory.partition)
        await self._check_digest(memory, partition)
        if indexed is not None:
            check_space(indexed, space, known=known_space)
        if old is None:
            await self._refuse_erased(memory.scope, memory.recorded_at)
        if partition is None:
            partition = await self._add_partition(memory.partition)
        row = await self._put_row(memory, partition, old)
        await self._put_origins(memory, row)
        if indexed is not None and space is not None:
            await self._index(memory, row, partition, (indexed, space))
        elif old is not None and (old[2] != memory.text or old[3] != partition):
            await self._unindex([row])
        else:
            await self._reindex(memory, row)

    async def recalled(self, ids: Sequence[str], *, at: datetime, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        await self._change(
            "update memories set recalls = recalls + 1, "
            "last_recalled_at = greatest(last_recalled_at, %s) "
            "where scope_id = %s and id = any(%s)",
            micros(at),
            self._number(scope),
            storable(ids),
        )

    async def remove(self, ids: Sequence[str], *, scope: Scope) -> Mapping[str, int]:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        found = await self._rows(
            "select row from memories where scope_id = %s and id = any(%s) order by row",
            number,
            storable(ids),
        )
        rows = await self._with_merged([row for (row,) in found], number)
        if number == NOWHERE or not rows:
            return {}
        survivors = await self._bereave(rows, scope)
        removed = {"memory_index": await self._unindex(rows)}
        removed |= await self._remove_memories(rows, number=number, survivors=survivors)
        return {place: count for place, count in removed.items() if count}

    async def _with_merged(self, rows: Sequence[int], number: int) -> list[int]:
        """These memories and those that they stand for: to a person they are one. A proposed
        wording goes with what it is made of."""
        going = sorted(rows)
        while True:
            found = await self._rows(
                "select unnest(%s::bigint[]) union "
                "select m.row from memories g join memories m on m.merged_into = g.id "
                "and m.scope_id = %s where g.row = any(%s) union "
                "select p.memory_row from pass_steps p join memories m on m.row = p.memory_row "
                "where p.other_row = any(%s) and p.act = 'reworded' "
                "and m.status in ('proposed', 'rejected') union "
                "select p.other_row from pass_steps p join memories m on m.row = p.other_row "
                "where p.memory_row = any(%s) and p.act = 'reworded' "
                "and m.status = 'superseded' order by 1",
                going,
                number,
                going,
                going,
                going,
            )
            if len(found) == len(going):
                return going
            going = [row for (row,) in found]

    async def _bereave(self, rows: Sequence[int], scope: Scope) -> list[int]:
        """Take from memories that stand for one of these, and stay, the origins it brought."""
        number = self._number(scope)
        bereft: set[int] = set()
        for row, memory_id in await self._rows(
            "select row, id from memories where merged_into is not null and row = any(%s) "
            "order by row",
            rows,
        ):
            [gone] = await self.memories([memory_id], scope=scope)
            brought = {origin.mark for origin in gone.origins}
            below, above = row, gone.merged_into
            while above is not None and brought:
                [survivor] = await self.memories([above], scope=scope)
                at = await self._insert(
                    "select row from memories where scope_id = %s and id = %s", number, above
                )
                gathered = await self._gathered(at, below)
                brought = brought if gathered is None else brought & gathered
                if at not in rows:
                    await self._lose(survivor, at, brought)
                    bereft.add(at)
                below, above = at, survivor.merged_into
        return sorted(bereft)

    async def _gathered(self, survivor: int, gone: int) -> set[str] | None:
        """Marks of the origins that a memory took over from another one; None where unknown."""
        found = await self._rows(
            "select changes from pass_steps "
            "where act = 'gathered' and memory_row = %s and other_row = %s",
            survivor,
            gone,
        )
        return {mark for (changes,) in found for mark in json.loads(changes)[2]} if found else None

    async def _lose(self, survivor: Memory, row: int, brought: set[str]) -> None:
        own = tuple(origin for origin in survivor.origins if origin.mark not in brought)
        left = replace(survivor, origins=own or survivor.origins[:1])
        await self._put_origins(left, row)
        await self._reindex(left, row)
        await self._change("update memories set version = version + 1 where row = %s", row)

    def _check_version(self, memory: Memory, known: int | None) -> None:
        expected = 1 if known is None else known + 1
        if memory.version == expected:
            return
        if known is None:
            raise Conflict(f"memory {memory.id} is gone; it was forgotten meanwhile")
        raise Conflict(
            f"memory {memory.id} is at version {known}, so version {memory.version} is not its "
            "next; read it again"
        )

    async def _check_digest(self, memory: Memory, partition: int | None) -> None:
        """Two of one text would count, and be found, twice."""
        if memory.status not in _UNIQUE or partition is None:
            return
        twin = await self._row(
            "select id from memories where partition_id = %s and digest = %s and id <> %s "
            "and status in ('active', 'proposed', 'rejected')",
            partition,
            memory.digest,
            memory.id,
        )
        if twin is not None:
            raise Conflict(f"memory {twin[0]} says the same in the same partition already")

    async def _put_row(self, memory: Memory, partition: int, old: tuple[Any, ...] | None) -> int:
        values = memory_values(memory)
        if old is None:
            return await self._insert(_INSERT, self._number(memory.scope), partition, *values)
        row, version, text, _, recalls, last_recalled_at = old
        if text != memory.text:
            await self._keep_text(memory, row, version, text)
        kept = with_recalls(values, recalls, last_recalled_at)
        await self._change(_UPDATE, partition, *kept, row)
        return row

    async def _keep_text(self, memory: Memory, row: int, version: int, text: str) -> None:
        await self._change(
            "insert into revisions (scope_id, memory_row, version, text, replaced_at, changed_by) "
            "values (%s, %s, %s, %s, %s, %s)",
            self._number(memory.scope),
            row,
            version,
            text,
            micros(memory.updated_at),
            author_of(memory),
        )

    async def _put_origins(self, memory: Memory, row: int) -> None:
        """Write the origins; those that are there already stay, for most changes only add one."""
        wanted = [origin_values(origin) for origin in memory.origins]
        known = await self._rows(
            f"select {ORIGIN_COLUMNS} from origins where memory_row = %s order by position", row
        )
        same = 0
        while same < min(len(known), len(wanted)) and known[same] == wanted[same]:
            same += 1
        if same < len(known):
            await self._change(
                "delete from origins where memory_row = %s and position >= %s", row, same
            )
        number = self._number(memory.scope)
        await self._each(
            f"insert into origins (scope_id, memory_row, position, {ORIGIN_COLUMNS}) "
            "values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
            [(number, row, position, *wanted[position]) for position in range(same, len(wanted))],
        )
