"""Vectors of some rows of a partition whose vectors lie elsewhere: what is usual there."""

from collections.abc import Mapping

import numpy as np

from ricordo.adapters.local.loaded import Loaded

SAMPLE = 512
"""Rows whose vectors tell what is usual in a partition; a smaller one is known as a whole."""

_DRIFT = 8
"""A sample is taken anew when the partition grew or shrank by one part in so many."""


class Sample:
    """Vectors of some rows of a partition.

    Args:
        vectors: by memory id.
        loaded: the partition when it was taken.
    """

    def __init__(self, vectors: Mapping[str, bytes], *, loaded: Loaded) -> None:
        self.vectors = vectors
        self._rows = [loaded.row_of_id.get(memory_id) for memory_id in vectors]
        self._size = loaded.size - loaded.dead

    def fits(self, loaded: Loaded) -> bool:
        """Whether it tells of the partition as it is, and of nothing that is gone or changed."""
        living = loaded.size - loaded.dead
        if living <= SAMPLE:
            return living == len(self.vectors) and self._same(loaded)
        return abs(living - self._size) * _DRIFT <= self._size and self._same(loaded)

    def _same(self, loaded: Loaded) -> bool:
        """Whether all of it lies where it lay; what changed has a row of its own."""
        rows = [loaded.row_of_id.get(memory_id) for memory_id in self.vectors]
        known = np.array([row for row in rows if row is not None], np.intp)
        return rows == self._rows and bool(np.all(loaded.alive[known]))


def chosen(loaded: Loaded) -> list[str]:
    """Ids of living rows, spread evenly over the partition; the same for the same rows."""
    rows = np.flatnonzero(loaded.alive)
    if len(rows) > SAMPLE:
        rows = rows[np.linspace(0, len(rows) - 1, SAMPLE).astype(np.intp)]
    return [loaded.ids[row] for row in rows]
