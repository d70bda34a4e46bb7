"""The visible rows of several partitions, numbered through, as one search sees them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import Loaded
from ricordo.model import Partition

T = TypeVar("T", bound=np.generic)

Numbers = NDArray[np.intp]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Figures of a partition of which only some rows are here.

    Args:
        visible: memories that are visible.
        words: of all of those together.
        held: for each word of the question, how many of those hold it.
        company: words of a usual memory with its neighbours' part.
        sample: vectors of some of those, which tell what is usual.
    """

    visible: int
    words: int
    held: tuple[int, ...]
    company: float
    sample: NDArray[np.float64]


class View:
    """Row `r` of a partition has the number `first + r`, where `first` counts the rows before it.

    Args:
        shelves: partitions and their rows.
        at: the instant at which rows must be valid to be visible; None is any.
        unseen: figures of those partitions of which not all rows are here.
    """

    def __init__(
        self,
        shelves: Iterable[tuple[Partition, Loaded]],
        *,
        at: datetime | None,
        unseen: Mapping[Partition, Unseen] | None = None,
    ) -> None:
        moment = None if at is None else instant(at)
        self._shelves = list(shelves)
        self._firsts: list[int] = []
        size = 0
        for _, loaded in self._shelves:
            self._firsts.append(size)
            size += loaded.size
        self._shown = [loaded.visible(at=moment) for _, loaded in self._shelves]
        self.size = size
        self.shown = joined(self._shown, np.bool_)
        self._unseen = [(unseen or {}).get(partition) for partition, _ in self._shelves]
        self.whole = not any(self._unseen)
        self.visible = sum(
            int(np.count_nonzero(shown)) if figures is None else figures.visible
            for shown, figures in zip(self._shown, self._unseen, strict=True)
        )

    def parts(self) -> Iterator[tuple[Loaded, NDArray[np.bool_], int]]:
        """Each partition's rows, which of them are visible, and the number of the first."""
        for (_, loaded), shown, first in zip(self._shelves, self._shown, self._firsts, strict=True):
            yield loaded, shown, first

    def unseen(self) -> Iterator[Unseen | None]:
        """For each partition its figures, None where all of it is here."""
        yield from self._unseen

    def average(self, values: NDArray[np.float64], *, known: Callable[[Unseen], float]) -> float:
        """Mean of a value over everything visible; there must be something.

        Args:
            values: of every row that is here.
            known: its sum over a partition that is not here as a whole.
        """
        if self.whole:
            return float(values[self.shown].sum() / self.visible)
        total = 0.0
        for (loaded, shown, first), figures in zip(self.parts(), self._unseen, strict=True):
            mine = values[first : first + loaded.size][shown]
            total += float(mine.sum()) if figures is None else known(figures)
        return total / self.visible

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


def instant(at: datetime) -> int:
    """In microseconds since 1970, as rows say it."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def joined(parts: Sequence[NDArray[Any]], dtype: type[T]) -> NDArray[T]:
    """The parts as one array; a single one is not copied."""
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)
