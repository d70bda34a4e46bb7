"""What the memories around a memory say about it: those before and after it, and its sitting."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.sittings import NOBODY
from ricordo.adapters.local.view import Numbers, View, joined

Values = NDArray[np.float64]

SELF_CONTAINED = 60
"""Words from which a text needs its neighbours little; their weight is halved there."""


class Context:
    """Neighbours among the visible rows; who is not visible is not there."""

    def __init__(self, view: View) -> None:
        befores: list[NDArray[np.int64]] = []
        afters: list[NDArray[np.int64]] = []
        orders: list[NDArray[np.int64]] = []
        starts: list[NDArray[np.int64]] = []
        ordered = 0
        for loaded, _, first in view.parts():
            sittings = loaded.sittings()
            befores.append(_moved(sittings.before, first))
            afters.append(_moved(sittings.after, first))
            orders.append(sittings.order + first)
            starts.append(sittings.starts + ordered)
            ordered += len(sittings.order)
        self._shown = view.shown
        self.before = self._seen(joined(befores, np.int64))
        self.after = self._seen(joined(afters, np.int64))
        self._order = joined(orders, np.int64)
        self._starts = joined(starts, np.int64)
        self.openness = 1.0 / (1.0 + np.square(view.lengths() / SELF_CONTAINED))
        self.in_company = (self.before != NOBODY) | (self.after != NOBODY)

    def from_before(self, values: Values) -> Values:
        """For each row the value of the one before it; 0 without one."""
        return _taken(values, self.before)

    def from_after(self, values: Values) -> Values:
        """For each row the value of the one after it; 0 without one."""
        return _taken(values, self.after)

    def best_of_sitting(self, values: Values) -> tuple[Values, Numbers]:
        """For each row in company the best value of its sitting, and whose it is.

        0 and `NOBODY` for rows without company.
        """
        best = np.zeros(len(values))
        whose = np.full(len(values), NOBODY, np.intp)
        if not len(self._order):
            return best, whose
        mine = np.where(self._shown, values, -np.inf)[self._order]
        sizes = np.diff(np.append(self._starts, len(self._order)))
        highest = np.repeat(np.maximum.reduceat(mine, self._starts), sizes)
        places = np.where(mine == highest, np.arange(len(mine)), len(mine))
        first = np.repeat(np.minimum.reduceat(places, self._starts), sizes)
        company = self.in_company[self._order]
        rows = self._order[company]
        best[rows] = highest[company]
        whose[rows] = self._order[first[company]]
        return best, whose

    def _seen(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        seen = (rows != NOBODY) & self._shown
        seen[seen] = self._shown[rows[seen]]
        return np.where(seen, rows, NOBODY)


def _moved(rows: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    return np.where(rows == NOBODY, NOBODY, rows + first) if first else rows


def _taken(values: Values, rows: Sequence[int] | NDArray[np.int64]) -> Values:
    return np.append(values, 0.0)[rows]  # NOBODY is the last place
