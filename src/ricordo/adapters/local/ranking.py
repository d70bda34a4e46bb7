"""Ranks the rows of several partitions by meaning and by words, over exactly what is visible."""

import heapq
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.context import Context
from ricordo.adapters.local.dating import dated
from ricordo.adapters.local.fusing import Fusion
from ricordo.adapters.local.glimpsing import glimpsed
from ricordo.adapters.local.loaded import Loaded
from ricordo.adapters.local.meaning import exact, nearest, standing
from ricordo.adapters.local.view import Numbers, Unseen, View
from ricordo.adapters.local.wording import told
from ricordo.model import Hit, Hits, Partition, Sought, Weights

_NOTHING_NEAR = (np.empty(0, np.intp), np.empty(0, np.float64))


class Search:
    """One question over the rows valid at an instant.

    Scores depend on what is stored, not on how it lies in memory. What the question's words find is
    worked out at once, before its vector is there.
    """

    def __init__(
        self,
        shelves: Iterable[tuple[Partition, Loaded]],
        sought: Sought,
        *,
        at: datetime | None,
        unseen: Mapping[Partition, Unseen] | None = None,
    ) -> None:
        self._sought = sought
        self._view = View(shelves, at=at, unseen=unseen)
        self._context = Context(self._view)
        self._told = told(self._view, self._context, sought.words)
        self._date = sought.weights.date * dated(self._view, sought.dates)

    def hits(self, vector: bytes | None, *, limit: int) -> Hits:
        """The best `limit` by each signal, and by all together.

        Ordered by the best of their ranks, meaning before words before all together.
        """
        view, context, scores = self._view, self._context, self._told.bm25
        if not view.visible or not view.shown.any():
            return Hits(visible=view.visible)
        question = None if vector is None else np.frombuffer(vector, "<f4")
        measured = standing if view.whole else glimpsed
        near, near_cosines = (
            _NOTHING_NEAR if question is None else nearest(view, question, limit=limit)
        )
        holding = np.flatnonzero(scores)
        fusion = Fusion(
            view,
            context,
            self._told,
            standing=None if question is None else measured(view, question),
            weights=self._sought.weights,
            date=self._date,
        )
        rankings = [
            best_rows(view, near, near_cosines, limit),
            best_rows(view, holding, scores[holding], limit),
        ]
        if self._sought.weights != Weights():
            likely = fusion.candidates(limit=limit)
            rankings.append(best_rows(view, likely, fusion.exact(likely).fused, limit))
        order = in_order(rankings)
        cosines = dict(zip(near.tolist(), near_cosines.tolist(), strict=True))
        if question is not None:
            rest = np.array([number for number in order if number not in cosines], np.intp)
            cosines |= zip(rest.tolist(), exact(view, question, rest).tolist(), strict=True)
        return Hits(
            hits=hits_of(view, context, order, cosines, scores, fusion),
            visible=view.visible,
            length=view.average(view.lengths(), known=lambda unseen: unseen.words),
        )


def hits_of(
    view: View,
    context: Context,
    order: Sequence[int],
    cosines: Mapping[int, float],
    scores: NDArray[np.float64],
    fusion: Fusion,
) -> tuple[Hit, ...]:
    numbers = np.array(order, np.intp)
    lengths = view.lengths()[numbers].astype(np.int64).tolist()
    columns = (scores[numbers].tolist(), lengths, context.in_company[numbers].tolist())
    parts = fusion.exact(numbers)
    counted = (parts.meaning, parts.words, parts.nearby, parts.sitting, parts.date, parts.emphasis)
    rows = zip(*(column.tolist() for column in counted), strict=True)
    return tuple(
        Hit(
            memory_id=view.id_of(number),
            partition=view.partition_of(number),
            cosine=cosines.get(number, 0.0),
            bm25=score,
            meaning=meaning,
            words=words,
            nearby=nearby,
            sitting=sitting,
            date=date,
            emphasis=more,
            length=length,
            in_company=in_company,
        )
        for number, score, length, in_company, (meaning, words, nearby, sitting, date, more) in zip(
            order, *columns, rows, strict=True
        )
    )


def best_rows(
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


def in_order(rankings: Sequence[Sequence[tuple[str, int]]]) -> list[int]:
    """The numbers of all rankings: those of the first places, then of the second, and so on."""
    ranks: dict[int, tuple[int, int]] = {}
    for signal, ranked in enumerate(rankings):
        for rank, (_, number) in enumerate(ranked):
            mine = (rank, signal)
            ranks[number] = min(ranks.get(number, mine), mine)
    return sorted(ranks, key=ranks.__getitem__)
