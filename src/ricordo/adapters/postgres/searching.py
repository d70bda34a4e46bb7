"""Finding inside the database: exact by meaning and by words, in one partition's own rows.

Every statement names its partition and space as numbers of its text, so that the server can prove
that a partition's own approximate index fits.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ricordo.adapters.postgres.index_reading import IndexReading
from ricordo.adapters.postgres.meanings import Direction, quoted
from ricordo.adapters.postgres.near_indexes import LARGEST, index_name
from ricordo.adapters.postgres.search_terms import OFTEN, asked_word, lexeme
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.indexing import PACKED, PLACES, STATE, Packed, space_of
from ricordo.columns.scopes import NOWHERE
from ricordo.columns.times import micros
from ricordo.model import Dates, Kind, Partition, Scope, Sought, Weights
from ricordo.ports import Drawn, Excerpt, PartitionState, Rows, Searchable

MORE = 14
"""Found beyond what was asked for: equals at the edge are decided by whoever scores exactly."""

DEEPER = 2
"""So many times as many by meaning: it is a little of nearly every score, and decides among equals.
"""

EFFORT = 2
"""How many times as many an approximate index looks at as are wanted."""

BEFORE, AFTER = 2, 1
"""Neighbours whose meaning and words speak for a row."""

FIRST, SITTING = 16, 8
"""Of so many of the best by each signal also those said so many turns before and after are read:
what was said in the same sitting as one of them may be among the best for that."""

_PACKED = ", ".join(f"i.{column}" for column in PACKED.split(", "))


class _Place:
    """One partition in SQL."""

    def __init__(self, state: tuple[Any, ...]) -> None:
        self.number = int(state[0])
        self.generation = int(state[3])
        self.size = int(state[5])
        self.space_number = int(state[6])
        self.space = space_of(state)
        self.dimension = int(state[8])
        self.rows = (
            f"r.partition_id = {self.number} and r.space_id = {self.space_number} and r.visible = 1"
        )

    def shown(self, at: datetime | None) -> str:
        """The rows that are valid at an instant."""
        if at is None:
            return self.rows
        return f"{self.rows} and r.valid_from <= {micros(at)} and r.valid_until > {micros(at)}"


class SearchReading(IndexReading):
    """See `ricordo.ports.Searching`."""

    async def searchable(self, *, scope: Scope) -> list[Searchable]:
        """See `ricordo.ports.Searching`."""
        found = await self._rows(
            "select q.*, coalesce(f.filled, false) from "
            f"({STATE} where p.scope_id = %s) q left join search_partitions f "
            "on f.partition_id = q.id order by q.id",
            self._number(scope),
        )
        return [
            Searchable(
                state=PartitionState(
                    partition=Partition(scope=scope, kind=Kind(row[1]), agent=row[2] or None),
                    generation=row[3],
                    space=space_of(row),
                    size=row[5],
                ),
                ready=row[-1],
            )
            for row in found
        ]

    async def found(
        self, sought: Sought, *, partition: Partition, limit: int, at: datetime | None
    ) -> Excerpt:
        """See `ricordo.ports.Searching`."""
        place = await self._place(partition)
        if place is None:
            return Excerpt(visible=0, words=0, held=(0,) * len(sought.words), rows=_NO_ROWS)
        visible, words = await self._figures(place, at)
        held = [0] * len(sought.words)
        ranked: list[list[int]] = []
        if visible:
            average = words / visible or 1.0
            ranked.append(await self._worded(place, sought, held, limit, at, visible, average))
            ranked.append(await self._dated(place, sought, limit, at))
            if sought.vector is not None:
                ranked.append(await self._near(place, sought.vector, limit, at))
            elif not any(ranked) and sought.weights != Weights():
                ranked.append(await self._any(place, limit, at))
        seeds = {seed for some in ranked for seed in some}
        first = {seed for some in ranked for seed in some[:FIRST]}
        rows = await self._around(place, sorted(seeds), first=sorted(first))
        return Excerpt(visible=visible, words=words, held=tuple(held), rows=rows)

    async def drawn(self, *, partition: Partition, count: int) -> Drawn:
        """See `ricordo.ports.Searching`."""
        place = await self._place(partition)
        if place is None:
            return Drawn(ids=frozenset(), rows=_NO_ROWS)
        if place.size <= count:
            sql = f"select r.place, r.memory_id from search_rows r where {place.rows}"
            found = await self._rows(sql)
        else:
            found = await self._spread(place, count)
        rows = await self._around(place, sorted(row[0] for row in found))
        return Drawn(ids=frozenset(row[1] for row in found), rows=rows)

    async def disturbed(self, *, partition: Partition, since: int) -> bool:
        """See `ricordo.ports.Searching`."""
        found = await self._row(
            "select p.listed_since > %s "
            "or exists (select 1 from removed_rows d where d.scope_id = p.scope_id "
            "and d.partition_id = p.id and d.generation > %s) "
            "or exists (select 1 from memory_index i where i.scope_id = p.scope_id "
            "and i.partition_id = p.id and i.generation > %s and i.visible = 0) "
            "from partitions p where p.scope_id = %s and p.kind = %s and p.agent = %s",
            since,
            since,
            since,
            self._number(partition.scope),
            partition.kind.value,
            partition.agent or "",
        )
        return found is None or bool(found[0])

    async def _place(self, partition: Partition) -> _Place | None:
        number = self._number(partition.scope)
        if number == NOWHERE:
            return None
        state = await self._row(
            f"{STATE} where p.scope_id = %s and p.kind = %s and p.agent = %s",
            number,
            partition.kind.value,
            partition.agent or "",
        )
        return None if state is None or state[6] is None else _Place(state)

    async def _figures(self, place: _Place, at: datetime | None) -> tuple[int, int]:
        """Rows valid at the instant, and their words: all without those that are not."""
        found = await self._row(
            "select t.shown, t.words from search_totals t "
            f"where t.partition_id = {place.number} and t.space_id = {place.space_number}"
        )
        shown, words = found or (0, 0)
        if at is None or not shown:
            return shown, words
        without, fewer = await self._row(
            "select count(*), coalesce(sum(r.length), 0)::bigint from search_rows r "
            f"where {place.rows} and (r.valid_from > -9223372036854775808 "
            "or r.valid_until < 9223372036854775807) "
            f"and (r.valid_from > {micros(at)} or r.valid_until <= {micros(at)})"
        )
        return shown - without, words - fewer

    async def _worded(
        self,
        place: _Place,
        sought: Sought,
        held: list[int],
        limit: int,
        at: datetime | None,
        visible: int,
        average: float,
    ) -> list[int]:
        """Places of the best by words; notes how many rows hold each word."""
        asked = [(number, word) for number, word in enumerate(sought.words) if word]
        if not asked:
            return []
        queries = [
            [asked_word(place.number, word, mark) for _, word in asked] for mark in ("", OFTEN)
        ]
        terms = [" ".join(lexeme(place.number, term) for term in word) for _, word in asked]
        found = await self._rows(
            "select word, value from find_words(%s, %s, %s, %s::text[], %s::text[], %s::text[], "
            "%s::float8, %s::float8, %s)",
            place.number,
            place.space_number,
            None if at is None else micros(at),
            *queries,
            terms,
            float(visible),
            average,
            limit + MORE,
        )
        for word, count in found:
            if word > 0:
                held[asked[word - 1][0]] = count
        return [number for word, number in found if word < 0]

    async def _dated(
        self, place: _Place, sought: Sought, limit: int, at: datetime | None
    ) -> list[int]:
        """Places of the best of what was said on the dates that the question names."""
        if not sought.weights.date or not (sought.dates.years or sought.dates.months):
            return []
        order, values = "r.said_at desc", []
        if sought.vector is not None:
            order, values = self._product(), [Direction(sought.vector)]
        found = await self._rows(
            f"select r.place from search_rows r where {place.shown(at)} and {_said(sought.dates)} "
            f"order by {order}, r.memory_id limit %s",
            *values,
            limit + MORE,
        )
        return [row[0] for row in found]

    async def _any(self, place: _Place, limit: int, at: datetime | None) -> list[int]:
        """Places of the first by id: all are equally far from a question that says nothing."""
        found = await self._rows(
            f"select r.place from search_rows r where {place.shown(at)} "
            "order by r.memory_id limit %s",
            limit + MORE,
        )
        return [row[0] for row in found]

    async def _near(
        self, place: _Place, vector: bytes, limit: int, at: datetime | None
    ) -> list[int]:
        """Places of the nearest: by the partition's approximate index, if it has one."""
        wanted = DEEPER * limit + MORE
        if await self._has_index(place):
            found = await self._approximate(place, vector, wanted, at)
            if len(found) >= wanted:
                return found
        found = await self._rows(
            f"select r.place from search_rows r where {place.shown(at)} "
            f"order by {self._product()}, r.memory_id limit %s",
            Direction(vector),
            wanted,
        )
        return [row[0] for row in found]

    def _product(self) -> str:
        types = quoted(self._types)
        return f"r.embedding operator({types}.<#>) %s::{types}.vector"

    async def _has_index(self, place: _Place) -> bool:
        if place.dimension > LARGEST:
            return False
        found = await self._row(
            "select i.indisvalid from pg_index i where i.indexrelid = to_regclass(%s)",
            f"ricordo.{index_name(place.number, place.space_number)}",
        )
        return bool(found and found[0])

    async def _approximate(
        self, place: _Place, vector: bytes, wanted: int, at: datetime | None
    ) -> list[int]:
        types, size = quoted(self._types), place.dimension
        # Without sorting, so that the index is walked; and on until there are enough valid rows.
        await self._rows(
            "select set_config('enable_sort', 'off', true), "
            "set_config('hnsw.ef_search', %s, true), "
            "set_config('hnsw.iterative_scan', 'relaxed_order', true)",
            str(min(wanted * EFFORT, 1_000)),
        )
        found = await self._rows(
            f"select r.place from search_rows r where {place.shown(at)} order by "
            f"(r.embedding::{types}.halfvec({size})) operator({types}.<#>) "
            f"%s::{types}.vector::{types}.halfvec({size}) limit %s",
            Direction(vector),
            wanted + wanted // 4,  # half precision is nearly in order
        )
        await self._rows("select set_config('enable_sort', 'on', true)")
        return [row[0] for row in found]

    async def _spread(self, place: _Place, count: int) -> list[Any]:
        """Rows at even distances of all the places that the partition ever had."""
        (last,) = await self._row(
            "select next_place from partitions where id = %s and scope_id = any(seen())",
            place.number,
        )
        first = place.number * PLACES
        points = [first + 1 + number * (last - 1) // count for number in range(count)]
        return await self._rows(
            "select distinct f.place, f.memory_id from unnest(%s::bigint[]) p (point) "
            "cross join lateral (select r.place, r.memory_id from search_rows r "
            f"where r.place >= p.point and r.place < {first + PLACES} and {place.rows} "
            "order by r.place limit 1) f",
            points,
        )

    async def _around(
        self, place: _Place, seeds: Sequence[int], *, first: Sequence[int] = ()
    ) -> Rows:
        """Those rows, and those said just before and after them, packed; more around the first."""
        packed = Packed()
        spoken = "(r.said_at, r.recorded_at, r.memory_id)"
        beside = " union ".join(
            f"select b.place from seed s cross join lateral (select r.place from search_rows r "
            f"where {place.rows} and r.thread = s.thread "
            f"and {spoken} {side} (s.said_at, s.recorded_at, s.memory_id) "
            f"order by r.said_at {order}, r.recorded_at {order}, r.memory_id {order} "
            f"limit case when s.first then {SITTING} else {count} end) b where s.thread <> 0"
            for side, order, count in (("<", "desc", BEFORE), (">", "asc", AFTER))
        )
        if seeds:
            found = await Ask(
                "with seed as materialized (select r.place, r.thread, r.said_at, r.recorded_at, "
                "r.memory_id, r.place = any(%s) as first from search_rows r "
                "where r.place = any(%s)), "
                f"wanted as materialized (select place from seed union {beside}) "
                f"select {_PACKED} from memory_index i "
                "where i.place in (select place from wanted) order by i.place",
                (list(first), list(seeds)),
                binary=True,
            )
            if found.rows:
                packed.add(found.rows)
        return packed.rows(
            generation=place.generation, space=place.space, complete=False, removed=()
        )


def _said(dates: Dates) -> str:
    """What was said in these years and months, by the calendar of UTC."""
    said = "(to_timestamp(r.said_at / 1000000.0) at time zone 'UTC')"
    parts = [
        f"extract({part} from {said}) in ({', '.join(map(str, map(int, numbers)))})"
        for part, numbers in (("year", dates.years), ("month", dates.months))
        if numbers
    ]
    return " and ".join(parts)


_NO_ROWS = Packed().rows(generation=0, space=None, complete=False, removed=())
