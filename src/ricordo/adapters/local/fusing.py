"""All signals of a row together, by the weights that were asked for."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.context import Context
from ricordo.adapters.local.meaning import Standing
from ricordo.adapters.local.sittings import NOBODY
from ricordo.adapters.local.view import Numbers, View
from ricordo.adapters.local.wording import Told
from ricordo.model import Weights

Values = NDArray[np.float64]

_SLACK = 1e-3
"""More than what a scan's rounding can change in a fused score."""

_DIGITS = 6

KNOWN = 0.6
"""Share of a question's words that is enough; where fewer are known, words prove little.

So it is with a question in another language than the memories, or about something never told.
"""

OUTSTANDING = 1.0
"""Standard deviations from which meaning stands out, and is emphasised where words fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What each signal counts, of some rows in their order."""

    meaning: Values
    words: Values
    nearby: Values
    sitting: Values
    date: Values
    emphasis: Values

    @property
    def fused(self) -> Values:
        """The sum."""
        found = self.meaning + self.words + self.nearby + self.sitting + self.date
        return found + self.emphasis

    def at(self, rows: Numbers) -> "Parts":
        """Of these rows only, rounded."""
        return Parts(
            meaning=np.round(self.meaning[rows], _DIGITS),
            words=np.round(self.words[rows], _DIGITS),
            nearby=np.round(self.nearby[rows], _DIGITS),
            sitting=np.round(self.sitting[rows], _DIGITS),
            date=np.round(self.date[rows], _DIGITS),
            emphasis=np.round(self.emphasis[rows], _DIGITS),
        )


class Fusion:
    """Signals of every row of a view for one question.

    Args:
        standing: None for a question without a vector.
        date: what the dates that the question names count, of every row.
    """

    def __init__(
        self,
        view: View,
        context: Context,
        told: Told,
        *,
        standing: Standing | None,
        weights: Weights,
        date: Values,
    ) -> None:
        self._view = view
        self._context = context
        self._told = told
        self._standing = standing
        self._weights = weights
        self._date = date
        self._emphasis = weights.unknown * max(0.0, 1.0 - told.known / KNOWN)
        rough = np.zeros(view.size) if standing is None else standing.rough
        self._best, self._whose = context.best_of_sitting(rough)
        self._best_words, _ = context.best_of_sitting(told.own)
        self._rough = self._parts(rough, self._best).fused

    def candidates(self, *, limit: int) -> Numbers:
        """Visible rows, among them the `limit` best."""
        numbers = np.flatnonzero(self._view.shown)
        scores = self._rough[numbers]
        last = max(len(scores) - limit, 0)
        bar = np.partition(scores, last)[last]
        return numbers[scores >= bar - _SLACK]

    def exact(self, numbers: Numbers) -> Parts:
        """The signals of these rows, as they do not depend on how rows lie in memory."""
        if self._standing is None:
            return self._parts(np.zeros(self._view.size), self._best).at(numbers)
        context = self._context
        around = (context.before, context.after, self._whose)
        earlier = context.before[context.before[numbers]]
        beside = np.concatenate([numbers, *(rows[numbers] for rows in around), earlier])
        needed = np.unique(beside[beside != NOBODY])
        meaning = np.zeros(self._view.size)
        meaning[needed] = self._standing.exact(self._view, needed)
        best = np.where(self._whose == NOBODY, 0.0, meaning[self._whose])
        return self._parts(meaning, best).at(numbers)

    def _parts(self, meaning: Values, best: Values) -> Parts:
        weights, context = self._weights, self._context
        before = context.from_before(meaning)
        near = weights.before * before + weights.after * context.from_after(meaning)
        near += weights.earlier * context.from_before(before)
        sitting = weights.sitting_meaning * best + weights.sitting_words * self._best_words
        return Parts(
            meaning=weights.meaning * meaning,
            words=weights.words * self._told.shared,
            nearby=context.openness * near,
            sitting=sitting,
            date=self._date,
            emphasis=weights.meaning * self._emphasis * np.maximum(meaning - OUTSTANDING, 0.0),
        )
