"""The visible rows of several partitions, numbered through, as one search sees them."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import Loaded
from ricordo.model import Partition

T = TypeVar("T", bound=np.generic)

Numbers = NDArray[np.intp]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class View:
    """Row `r` of a partition has the number `first + r`, where `first` counts the rows before it.

    Args:
        shelves: partitions and their rows.
        at: the instant at which rows must be valid to be visible; None is any.
    """

    def __init__(self, shelves: Iterable[tuple[Partition, Loaded]], *, at: datetime | None) -> None:
        instant = None if at is None else (at - _EPOCH) // timedelta(microseconds=1)
        self._shelves = list(shelves)
        self._firsts: list[int] = []
        size = 0
        for _, loaded in self._shelves:
            self._firsts.append(size)
            size += loaded.size
        self._shown = [loaded.visible(at=instant) for _, loaded in self._shelves]
        self.size = size
        self.shown = joined(self._shown, np.bool_)
        self.visible = int(np.count_nonzero(self.shown))

    def parts(self) -> Iterator[tuple[Loaded, NDArray[np.bool_], int]]:
        """Each partition's rows, which of them are visible, and the number of the first."""
        for (_, loaded), shown, first in zip(self._shelves, self._shown, self._firsts, strict=True):
            yield loaded, shown, first

    def id_of(self, number: int) -> str:
        """The id of the memory in that row."""
        place = bisect_right(self._firsts, number) - 1
        return self._shelves[place][1].ids[number - self._firsts[place]]

    def partition_of(self, number: int) -> Partition:
        """The partition of that row."""
        return self._shelves[bisect_right(self._firsts, number) - 1][0]

    def lengths(self) -> NDArray[np.float64]:
        """Words of every row."""
        return joined([loaded.lengths.values for loaded, _, _ in self.parts()], np.float64)


def joined(parts: Sequence[NDArray[Any]], dtype: type[T]) -> NDArray[T]:
    """The parts as one array; a single one is not copied."""
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)
