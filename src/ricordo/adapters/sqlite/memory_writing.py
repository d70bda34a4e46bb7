"""Memories, written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.adapters.sqlite.erasures import refuse_erased
from ricordo.adapters.sqlite.index_writing import IndexWriting
from ricordo.adapters.sqlite.memory_reading import MemoryReading
from ricordo.adapters.sqlite.removal import remove_memories
from ricordo.adapters.sqlite.session import as_list
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
    f"values (?, ?{', ?' * len(NAMES)})"
)
_SET = ", ".join(f"{name} = ?" for name in NAMES)
_UPDATE = f"update memories set partition_id = ?, {_SET} where row = ?"
_UNIQUE = (Status.ACTIVE, Status.PROPOSED, Status.REJECTED)


class MemoryWriting(MemoryReading, IndexWriting):
    """Stores, replaces, counts and removes memories."""

    async def put(self, memory: Memory, *, indexed: Indexed | None, space: Space | None) -> None:
        """See `ricordo.ports.Writing`."""
        check_keys(memory.id)
        old = self._row(
            "select row, version, text, partition_id, recalls, last_recalled_at from memories "
            "where scope_id = ? and id = ?",
            self._number(memory.scope),
            memory.id,
        )
        self._check_version(memory, None if old is None else old[1])
        partition, known_space = self._known(memory.partition)
        self._check_digest(memory, partition)
        if indexed is not None:
            check_space(indexed, space, known=known_space)
        if old is None:
            refuse_erased(self._connection, memory.scope, memory.recorded_at, secret=self._secret)
        if partition is None:
            partition = self._add_partition(memory.partition)
        row = self._put_row(memory, partition, old)
        self._put_origins(memory, row)
        if indexed is not None and space is not None:
            self._index(memory, row, partition, (indexed, space))
        elif old is not None and (old[2] != memory.text or old[3] != partition):
            self._unindex([row])
        else:
            self._reindex(memory, row)

    async def recalled(self, ids: Sequence[str], *, at: datetime, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        when = micros(at)
        self._change(
            "update memories set recalls = recalls + 1, "
            "last_recalled_at = max(coalesce(last_recalled_at, ?), ?) "
            "where scope_id = ? and id in (select value from json_each(?))",
            when,
            when,
            self._number(scope),
            as_list(ids),
        )

    async def remove(self, ids: Sequence[str], *, scope: Scope) -> Mapping[str, int]:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        found = self._rows(
            "select distinct m.row from json_each(?) f "
            "cross join memories m on m.scope_id = ? and m.id = f.value",
            as_list(ids),
            number,
        )
        rows = self._with_merged([row for (row,) in found], number)
        if number == NOWHERE or not rows:
            return {}
        survivors = await self._bereave(rows, scope)
        removed = {"memory_index": self._unindex(rows)}
        removed |= remove_memories(self._connection, rows, scope=number, survivors=survivors)
        return {place: count for place, count in removed.items() if count}

    def _with_merged(self, rows: Sequence[int], number: int) -> list[int]:
        """These memories and those that they stand for: to a person they are one. A proposed
        wording goes with what it is made of."""
        found = self._rows(
            "with recursive gone (row) as (select value from json_each(?) union "
            "select m.row from gone join memories g on g.row = gone.row "
            "join memories m on m.scope_id = ? and m.merged_into = g.id union "
            "select p.memory_row from gone join pass_steps p on p.other_row = gone.row "
            "and p.act = 'reworded' join memories m on m.row = p.memory_row "
            "and m.status in ('proposed', 'rejected') union "
            "select p.other_row from gone join pass_steps p on p.memory_row = gone.row "
            "and p.act = 'reworded' join memories m on m.row = p.other_row "
            "and m.status = 'superseded') select row from gone order by row",
            as_list(rows),
            number,
        )
        return [row for (row,) in found]

    async def _bereave(self, rows: Sequence[int], scope: Scope) -> list[int]:
        """Take from memories that stand for one of these, and stay, the origins it brought."""
        number, listed = self._number(scope), as_list(rows)
        bereft: set[int] = set()
        for row, memory_id in self._rows(
            "select row, id from memories where merged_into is not null "
            "and row in (select value from json_each(?))",
            listed,
        ):
            [gone] = await self.memories([memory_id], scope=scope)
            brought = {origin.mark for origin in gone.origins}
            below, above = row, gone.merged_into
            while above is not None and brought:
                [survivor] = await self.memories([above], scope=scope)
                at = self._row(
                    "select row from memories where scope_id = ? and id = ?", number, above
                )[0]
                gathered = self._gathered(at, below)
                brought = brought if gathered is None else brought & gathered
                if at not in rows:
                    self._lose(survivor, at, brought)
                    bereft.add(at)
                below, above = at, survivor.merged_into
        return sorted(bereft)

    def _gathered(self, survivor: int, gone: int) -> set[str] | None:
        """Marks of the origins that a memory took over from another one; None where unknown."""
        found = self._rows(
            "select changes from pass_steps "
            "where act = 'gathered' and memory_row = ? and other_row = ?",
            survivor,
            gone,
        )
        return {mark for (changes,) in found for mark in json.loads(changes)[2]} if found else None

    def _lose(self, survivor: Memory, row: int, brought: set[str]) -> None:
        own = tuple(origin for origin in survivor.origins if origin.mark not in brought)
        left = replace(survivor, origins=own or survivor.origins[:1])
        self._put_origins(left, row)
        self._reindex(left, row)
        self._change("update memories set version = version + 1 where row = ?", row)

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

    def _check_digest(self, memory: Memory, partition: int | None) -> None:
        """Two of one text would count, and be found, twice."""
        if memory.status not in _UNIQUE or partition is None:
            return
        twin = self._row(
            "select id from memories where partition_id = ? and digest = ? and id <> ? "
            "and status in ('active', 'proposed', 'rejected')",
            partition,
            memory.digest,
            memory.id,
        )
        if twin is not None:
            raise Conflict(f"memory {twin[0]} says the same in the same partition already")

    def _put_row(self, memory: Memory, partition: int, old: tuple[Any, ...] | None) -> int:
        values = memory_values(memory)
        if old is None:
            return self._insert(_INSERT, self._number(memory.scope), partition, *values)
        row, version, text, _, recalls, last_recalled_at = old
        if text != memory.text:
            self._keep_text(memory, row, version, text)
        self._change(_UPDATE, partition, *with_recalls(values, recalls, last_recalled_at), row)
        return row

    def _keep_text(self, memory: Memory, row: int, version: int, text: str) -> None:
        self._change(
            "insert into revisions (scope_id, memory_row, version, text, replaced_at, changed_by) "
            "values (?, ?, ?, ?, ?, ?)",
            self._number(memory.scope),
            row,
            version,
            text,
            micros(memory.updated_at),
            author_of(memory),
        )

    def _put_origins(self, memory: Memory, row: int) -> None:
        """Write the origins; those that are there already stay, for most changes only add one."""
        wanted = [origin_values(origin) for origin in memory.origins]
        known = self._rows(
            f"select {ORIGIN_COLUMNS} from origins where memory_row = ? order by position", row
        )
        same = 0
        while same < min(len(known), len(wanted)) and known[same] == wanted[same]:
            same += 1
        if same < len(known):
            self._change("delete from origins where memory_row = ? and position >= ?", row, same)
        number = self._number(memory.scope)
        self._connection.executemany(
            f"insert into origins (scope_id, memory_row, position, {ORIGIN_COLUMNS}) "
            "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(number, row, position, *wanted[position]) for position in range(same, len(wanted))],
        )
