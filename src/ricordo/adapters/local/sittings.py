"""Who spoke before and after: the rows of one partition in the order of their conversations."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

PAUSE = 6 * 3600 * 1_000_000
"""Microseconds of silence after which a thread goes on as another sitting."""

NOBODY = -1

RowNumbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sittings:
    """Threads, cut where they paused.

    Args:
        order: rows that have company, sitting by sitting, each in the order of speaking.
        starts: where each sitting begins in `order`.
        before, after: for every row the one said just before and after it; `NOBODY` without.
    """

    order: RowNumbers
    starts: RowNumbers
    before: RowNumbers
    after: RowNumbers

    @classmethod
    def of(
        cls,
        threads: NDArray[np.int64],
        said_at: NDArray[np.int64],
        recorded_at: NDArray[np.int64],
        *,
        ids: list[str],
        alive: NDArray[np.bool_],
    ) -> "Sittings":
        """Of all living rows that belong to a thread; what was said at once, by recording, by id.

        So the order depends on what is stored, and not on how it lies in memory.
        """
        rows = np.flatnonzero(alive & (threads != 0))
        rows = _in_order(rows, (recorded_at, said_at, threads), ids=ids)
        goes_on = np.zeros(len(rows) + 1, np.bool_)
        if len(rows) > 1:
            pauses = np.diff(said_at[rows]) > PAUSE
            goes_on[1:-1] = (threads[rows][1:] == threads[rows][:-1]) & ~pauses
        kept = goes_on[:-1] | goes_on[1:]
        before = np.full(len(alive), NOBODY, np.int64)
        after = np.full(len(alive), NOBODY, np.int64)
        joints = np.flatnonzero(goes_on)
        before[rows[joints]] = rows[joints - 1]
        after[rows[joints - 1]] = rows[joints]
        return cls(
            order=rows[kept],
            starts=np.flatnonzero(~goes_on[:-1][kept]),
            before=before,
            after=after,
        )


def _in_order(
    rows: RowNumbers, keys: tuple[NDArray[np.int64], ...], *, ids: list[str]
) -> RowNumbers:
    """Rows by their keys, the last one first; those alike in all of them by id."""
    rows = rows[np.lexsort([key[rows] for key in keys])]
    alike = [np.diff(key[rows]) == 0 for key in keys]
    if np.logical_and.reduce(alike).any():  # rare, and names are slow to sort
        numbers: list[int] = rows.tolist()
        names: NDArray[Any] = np.array([ids[number] for number in numbers])
        columns: list[NDArray[Any]] = [names, *(key[rows] for key in keys)]
        rows = rows[np.lexsort(columns)]
    return rows
