"""Ranks the rows of several partitions by meaning and by words, over exactly what is visible.

Scores do not depend on how rows lie in memory: a fast scan finds the candidates, then each is
scored again by itself, in double precision.
"""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import Loaded
from ricordo.model import Hit, Hits, Partition, Sought

K1 = 1.2
B = 0.75

T = TypeVar("T", bound=np.generic)

Scores = NDArray[np.float64]
Numbers = NDArray[np.intp]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """The visible rows of one partition; its row `r` has the number `first + r` in the search."""

    partition: Partition
    loaded: Loaded
    shown: NDArray[np.bool_]
    first: int


class Search:
    """One question over some partitions, at one instant."""

    def __init__(
        self, shelves: Iterable[tuple[Partition, Loaded]], sought: Sought, *, at: datetime
    ) -> None:
        instant = (at - _EPOCH) // timedelta(microseconds=1)
        self._sought = sought
        self._views: list[_View] = []
        first = 0
        for partition, loaded in shelves:
            shown = loaded.visible(at=instant)
            self._views.append(_View(partition=partition, loaded=loaded, shown=shown, first=first))
            first += loaded.size
        self._shown = _joined([view.shown for view in self._views], np.bool_)
        self._visible = int(np.count_nonzero(self._shown))

    def hits(self, *, limit: int) -> Hits:
        """The best `limit` by each signal, both signals exact on every hit.

        Best first by either signal: ordered by the better of the two ranks, then by meaning's rank
        before words', then by id.
        """
        if not self._visible:
            return Hits()
        bm25 = self._bm25()
        near, low, high = self._nearest(limit)
        told = self._best_told(bm25, limit)
        ranks: dict[int, tuple[int, int, str]] = {}
        for signal, ranked in enumerate((near, told)):
            for rank, number in enumerate(ranked):
                mine = (rank, signal, self._id(number))
                ranks[number] = min(ranks.get(number, mine), mine)
        order = sorted(ranks, key=ranks.__getitem__)
        cosines = self._exact(np.array(order, np.intp))
        return Hits(
            hits=tuple(
                self._hit(number, cosine=cosine, bm25=float(bm25[number]))
                for number, cosine in zip(order, cosines.tolist(), strict=True)
            ),
            visible=self._visible,
            cosine_low=low,
            cosine_high=high,
            bm25_high=float(bm25[told[0]]) if told else 0.0,
        )

    def _hit(self, number: int, *, cosine: float, bm25: float) -> Hit:
        view = self._view(number)
        memory_id = view.loaded.ids[number - view.first]
        return Hit(memory_id=memory_id, partition=view.partition, cosine=cosine, bm25=bm25)

    def _view(self, number: int) -> _View:
        return next(view for view in reversed(self._views) if view.first <= number)

    def _id(self, number: int) -> str:
        view = self._view(number)
        return view.loaded.ids[number - view.first]

    # Meaning

    def _question(self) -> NDArray[np.float32] | None:
        vector = self._sought.vector
        return None if vector is None else np.frombuffer(vector, "<f4")

    def _nearest(self, limit: int) -> tuple[list[int], float, float]:
        """The rows nearest in meaning, best first, and the range of all cosines."""
        question = self._question()
        if question is None:
            return [], 0.0, 0.0
        scans = [view.loaded.vectors.values @ question for view in self._views]
        scanned = _joined(scans, np.float32)
        numbers = np.flatnonzero(self._shown)
        scanned = scanned[numbers]
        # What a sum of this many rounded products may be off by, for two of them.
        slack = 2 * len(question) * float(np.finfo(np.float32).eps)
        count = min(limit, len(scanned))
        bar = np.partition(scanned, len(scanned) - count)[len(scanned) - count]
        near = numbers[scanned >= bar - slack]
        far = numbers[scanned <= scanned.min() + slack]
        exact = self._exact(near)
        ranked = self._best(near, exact, limit)
        return ranked, float(self._exact(far).min()), float(exact.max())

    def _exact(self, numbers: Numbers) -> Scores:
        """Cosines of these rows, each summed by itself."""
        cosines = np.zeros(len(numbers))
        question = self._question()
        if question is None:
            return cosines
        for view in self._views:
            mine = (numbers >= view.first) & (numbers < view.first + view.loaded.size)
            rows = view.loaded.vectors.values[numbers[mine] - view.first]
            cosines[mine] = (rows.astype(np.float64) * question).sum(axis=1)
        return np.clip(cosines, -1.0, 1.0)

    # Words

    def _best_told(self, bm25: Scores, limit: int) -> list[int]:
        numbers = np.flatnonzero(bm25)
        return self._best(numbers, bm25[numbers], limit)

    def _bm25(self) -> Scores:
        """BM25 of every row; 0 for those that are not visible or hold no word.

        A word is a group of alternatives: a row holds it as often as its most frequent alternative,
        and the word occurs in as many documents as hold any of them.
        """
        scores = np.zeros(len(self._shown))
        norms = self._norms() if self._sought.words else scores
        for word in self._sought.words:
            numbers, counts = self._holding(word)
            if len(numbers):
                rarity = math.log1p((self._visible - len(numbers) + 0.5) / (len(numbers) + 0.5))
                scores[numbers] += rarity * counts * (K1 + 1) / (counts + norms[numbers])
        return scores

    def _norms(self) -> Scores:
        """How much each row's length damps its counts."""
        lengths = _joined([view.loaded.lengths.values for view in self._views], np.float64)
        average = lengths[self._shown].sum() / self._visible or 1.0
        return K1 * (1 - B + B * lengths / average)

    def _holding(self, word: Sequence[int]) -> tuple[Numbers, Scores]:
        """The visible rows that hold one of the alternatives, and how often."""
        found: list[Numbers] = []
        counts: list[Scores] = []
        for view in self._views:
            matches = view.loaded.postings.find(word)
            if not matches:
                continue
            best = np.zeros(view.loaded.size, np.uint16)
            for rows, times in matches:
                best[rows] = np.maximum(best[rows], times)
            best *= view.shown
            rows = np.flatnonzero(best)
            found.append(rows + view.first)
            counts.append(best[rows].astype(np.float64))
        return _joined(found, np.intp), _joined(counts, np.float64)

    def _best(self, numbers: Numbers, scores: Scores, limit: int) -> list[int]:
        """The `limit` rows of the highest scores, best first, ties by id."""
        if not len(numbers):
            return []
        count = min(limit, len(scores))
        bar = np.partition(scores, len(scores) - count)[len(scores) - count]
        above = [(-s, self._id(n), n) for n, s in _pairs(numbers, scores, scores > bar)]
        level = ((-s, self._id(n), n) for n, s in _pairs(numbers, scores, scores == bar))
        chosen = sorted(above) + heapq.nsmallest(count - len(above), level)
        return [number for _, _, number in chosen]


def _pairs(
    numbers: Numbers, scores: Scores, chosen: NDArray[np.bool_]
) -> Iterable[tuple[int, float]]:
    return zip(numbers[chosen].tolist(), scores[chosen].tolist(), strict=True)


def _joined(parts: Sequence[NDArray[Any]], dtype: type[T]) -> NDArray[T]:
    if len(parts) == 1:
        return parts[0].astype(dtype, copy=False)
    return np.concatenate(parts, dtype=dtype) if parts else np.empty(0, dtype)
