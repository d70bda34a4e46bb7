"""One partition in memory, as of one generation; never changed in place."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.growing import Growing
from ricordo.adapters.local.postings import Entries, Postings
from ricordo.adapters.local.sittings import Sittings
from ricordo.ports import Rows

_TOLERATED_DEAD = 256
_DEAD_SHARE = 4
_RECENT = 1_024
_ID_BYTES = 200

STEPS = float(1 << 24)
"""Parts of 1 to which vectors are rounded where they are summed: so sums are exact in any order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOfId:
    """Which row an id has: one large map that is shared, and a small recent one that is copied."""

    shared: Mapping[str, int]
    recent: Mapping[str, int] = field(default_factory=dict[str, int])

    def get(self, memory_id: str) -> int | None:
        """The id's newest row, or None for an unknown one."""
        row = self.recent.get(memory_id)
        return self.shared.get(memory_id) if row is None else row

    def updated(self, rows: Mapping[str, int]) -> "RowOfId":
        """With these rows."""
        recent = {**self.recent, **rows}
        if len(recent) > _RECENT:
            return RowOfId(shared={**self.shared, **recent})
        return RowOfId(shared=self.shared, recent=recent)


@dataclass(slots=True, kw_only=True)
class _Memo:
    """What was worked out of one generation's rows, once it was needed."""

    sittings: Sittings | None = None
    total: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Vectors, words and validity of a partition's memories, ready to be ranked.

    A change appends rows and marks old ones dead; when many are dead, the rest is packed anew.

    Args:
        generation: of the partition when it was read.
        ids: memory ids by row; may be longer than the rows of this generation.
        alive: which rows count.
        dead: how many do not.
    """

    generation: int
    ids: list[str]
    row_of_id: RowOfId
    vectors: Growing
    lengths: Growing
    valid_from: Growing
    valid_until: Growing
    threads: Growing
    said_at: Growing
    recorded_at: Growing
    alive: NDArray[np.bool_]
    postings: Postings
    dead: int = 0
    memo: _Memo = field(default_factory=_Memo, compare=False, repr=False)

    @property
    def size(self) -> int:
        """Number of rows, dead ones included."""
        return len(self.alive)

    @property
    def nbytes(self) -> int:
        """Bytes held in memory, about."""
        grown = (
            self.vectors,
            self.lengths,
            self.valid_from,
            self.valid_until,
            self.threads,
            self.said_at,
            self.recorded_at,
        )
        arrays = sum(array.nbytes for array in grown)
        return arrays + self.alive.nbytes + self.postings.nbytes + self.size * _ID_BYTES

    def vector_of(self, memory_id: str) -> NDArray[np.float32] | None:
        """The memory's vector; None when the partition does not hold it."""
        row = self.row_of_id.get(memory_id)
        return None if row is None or not self.alive[row] else self.vectors.values[row]

    def visible(self, *, at: int | None) -> NDArray[np.bool_]:
        """Which rows are valid at an instant, in microseconds since 1970; None is at any time."""
        if at is None:
            return self.alive
        return self.alive & (self.valid_from.values <= at) & (at < self.valid_until.values)

    def sittings(self) -> Sittings:
        """The living rows in the order of their conversations; sorted once."""
        if self.memo.sittings is None:
            self.memo.sittings = Sittings.of(
                self.threads.values,
                self.said_at.values,
                self.recorded_at.values,
                ids=self.ids,
                alive=self.alive,
            )
        return self.memo.sittings

    def total(self, *, shown: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Sum of the vectors of the shown rows, in `STEPS`; exact, and mostly known already."""
        if self.memo.total is None:
            self.memo.total = self._sum(self.alive)
        hidden = self.alive & ~shown
        return self.memo.total - self._sum(hidden) if hidden.any() else self.memo.total

    def _sum(self, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        some = self.vectors.values if chosen.all() else self.vectors.values[chosen]
        return _total(some)

    def changed(self, rows: Rows) -> "Loaded":
        """As of a later generation, given what changed since this one."""
        gone = [self.row_of_id.get(memory_id) for memory_id in (*rows.ids, *rows.removed)]
        alive = self.alive.copy()
        alive[[row for row in gone if row is not None]] = False
        fresh = _Arrays(rows, dimension=self.vectors.values.shape[1])
        start, total = self.size, self.size + len(rows.ids)
        del self.ids[start:]  # of a change that failed half way
        self.ids.extend(rows.ids)
        alive = np.concatenate((alive, np.ones(total - start, np.bool_)))
        return replace(
            self,
            generation=rows.generation,
            row_of_id=self.row_of_id.updated(dict(zip(rows.ids, range(start, total), strict=True))),
            vectors=self.vectors.extended(fresh.vectors),
            lengths=self.lengths.extended(fresh.lengths),
            valid_from=self.valid_from.extended(fresh.valid_from),
            valid_until=self.valid_until.extended(fresh.valid_until),
            threads=self.threads.extended(fresh.threads),
            said_at=self.said_at.extended(fresh.said_at),
            recorded_at=self.recorded_at.extended(fresh.recorded_at),
            alive=alive,
            memo=_Memo(total=self._later_total(alive, fresh.vectors)),
            postings=self.postings.extended(fresh.entries(first_row=start)),
            dead=total - int(np.count_nonzero(alive)),
        ).packed()

    def _later_total(
        self, alive: NDArray[np.bool_], fresh: NDArray[np.float32]
    ) -> NDArray[np.float64] | None:
        if self.memo.total is None:
            return None
        left = self.alive & ~alive[: self.size]
        return self.memo.total - self._sum(left) + _total(fresh)

    def packed(self) -> "Loaded":
        """Without its dead rows, when there are many."""
        if self.dead <= max(_TOLERATED_DEAD, self.size // _DEAD_SHARE):
            return self
        kept = np.flatnonzero(self.alive)
        ids = [self.ids[row] for row in kept]
        entries = self.postings.entries()
        entries = entries.only(self.alive[entries.rows])
        renumbered = (np.cumsum(self.alive, dtype=np.int32) - 1)[entries.rows]
        return Loaded(
            generation=self.generation,
            ids=ids,
            row_of_id=RowOfId(shared=dict(zip(ids, range(len(ids)), strict=True))),
            vectors=Growing(self.vectors.values[kept]),
            lengths=Growing(self.lengths.values[kept]),
            valid_from=Growing(self.valid_from.values[kept]),
            valid_until=Growing(self.valid_until.values[kept]),
            threads=Growing(self.threads.values[kept]),
            said_at=Growing(self.said_at.values[kept]),
            recorded_at=Growing(self.recorded_at.values[kept]),
            alive=np.ones(len(kept), np.bool_),
            postings=Postings.build(replace(entries, rows=renumbered)),
        )


def _total(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    steps = vectors * np.float32(STEPS)
    return np.rint(steps, out=steps).sum(axis=0, dtype=np.float64)


class _Arrays:
    """What `Rows` carries, as arrays over the same bytes."""

    def __init__(self, rows: Rows, *, dimension: int) -> None:
        self._rows = rows
        self.vectors = np.frombuffer(rows.vectors, "<f4").reshape(len(rows.ids), dimension)
        self.lengths, self.valid_from, self.valid_until, *standing = self._columns()
        self.threads, self.said_at, self.recorded_at = standing

    def _columns(self) -> Iterator[NDArray[Any]]:
        yield np.frombuffer(self._rows.lengths, "<u4")
        yield np.frombuffer(self._rows.valid_from, "<i8")
        yield np.frombuffer(self._rows.valid_until, "<i8")
        yield np.frombuffer(self._rows.threads, "<i8")
        yield np.frombuffer(self._rows.said_at, "<i8")
        yield np.frombuffer(self._rows.recorded_at, "<i8")

    def entries(self, *, first_row: int) -> Entries:
        sizes = np.frombuffer(self._rows.sizes, "<u4")
        numbers = np.arange(first_row, first_row + len(sizes), dtype=np.int32)
        return Entries(
            terms=np.frombuffer(self._rows.terms, "<u8"),
            rows=np.repeat(numbers, sizes),
            counts=np.frombuffer(self._rows.counts, "<u2"),
        )


def load(rows: Rows, *, dimension: int) -> Loaded:
    """All rows of a partition, made ready; large columns are not copied."""
    arrays = _Arrays(rows, dimension=dimension)
    ids = list(rows.ids)
    return Loaded(
        generation=rows.generation,
        ids=ids,
        row_of_id=RowOfId(shared=dict(zip(ids, range(len(ids)), strict=True))),
        vectors=Growing(arrays.vectors),
        lengths=Growing(arrays.lengths),
        valid_from=Growing(arrays.valid_from),
        valid_until=Growing(arrays.valid_until),
        threads=Growing(arrays.threads),
        said_at=Growing(arrays.said_at),
        recorded_at=Growing(arrays.recorded_at),
        alive=np.ones(len(ids), np.bool_),
        postings=Postings.build(arrays.entries(first_row=0)),
    )
