"""Ranks the rows of several partitions by meaning and by words, over exactly what is visible."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import Loaded
from ricordo.adapters.local.meaning import Near, exact, nearest
from ricordo.adapters.local.view import Numbers, View
from ricordo.adapters.local.wording import bm25
from ricordo.model import Hit, Hits, Partition, Sought

_NOTHING_NEAR = Near(
    numbers=np.empty(0, np.intp), cosines=np.empty(0, np.float64), low=0.0, high=0.0
)


def search(
    shelves: Iterable[tuple[Partition, Loaded]], sought: Sought, *, limit: int, at: datetime
) -> Hits:
    """The best `limit` by each signal of the rows valid at an instant.

    Scores depend on what is stored, not on how it lies in memory. Hits are ordered by the better of
    their two ranks, meaning before words.
    """
    view = View(shelves, at=at)
    if not view.visible:
        return Hits()
    question = None if sought.vector is None else np.frombuffer(sought.vector, "<f4")
    near = _NOTHING_NEAR if question is None else nearest(view, question, limit=limit)
    scores = bm25(view, sought.words)
    told = np.flatnonzero(scores)
    order = _in_order(
        _best(view, near.numbers, near.cosines, limit), _best(view, told, scores[told], limit)
    )
    cosines = dict(zip(near.numbers.tolist(), near.cosines.tolist(), strict=True))
    if question is not None:
        rest = np.array([number for number in order if number not in cosines], np.intp)
        cosines |= zip(rest.tolist(), exact(view, question, rest).tolist(), strict=True)
    return Hits(
        hits=_hits(view, order, cosines, scores),
        visible=view.visible,
        cosine_low=near.low,
        cosine_high=near.high,
        bm25_high=float(scores.max()),
    )


def _hits(
    view: View, order: Sequence[int], cosines: Mapping[int, float], scores: NDArray[np.float64]
) -> tuple[Hit, ...]:
    told = scores[np.array(order, np.intp)].tolist()
    return tuple(
        Hit(
            memory_id=view.id_of(number),
            partition=view.partition_of(number),
            cosine=cosines.get(number, 0.0),
            bm25=score,
        )
        for number, score in zip(order, told, strict=True)
    )


def _best(
    view: View, numbers: Numbers, scores: NDArray[np.float64], limit: int
) -> list[tuple[str, int]]:
    """Id and number of the `limit` rows of the highest scores, best first, ties by id."""
    if not len(numbers):
        return []
    last = max(len(scores) - limit, 0)
    bar = np.partition(scores, last)[last]
    above, level = scores > bar, scores == bar
    best = sorted(
        (-score, view.id_of(number), number)
        for score, number in zip(scores[above].tolist(), numbers[above].tolist(), strict=True)
    )
    ties = ((view.id_of(number), number) for number in numbers[level].tolist())
    chosen = heapq.nsmallest(min(limit, len(scores)) - len(best), ties)
    return [(memory_id, number) for _, memory_id, number in best] + chosen


def _in_order(near: Sequence[tuple[str, int]], told: Sequence[tuple[str, int]]) -> list[int]:
    """The numbers of both rankings: those of the first places, then of the second, and so on."""
    ranks: dict[int, tuple[int, int]] = {}
    for signal, ranked in enumerate((near, told)):
        for rank, (_, number) in enumerate(ranked):
            mine = (rank, signal)
            ranks[number] = min(ranks.get(number, mine), mine)
    return sorted(ranks, key=ranks.__getitem__)
