"""Cosine, exact: a fast scan finds the candidates, then each is summed by itself."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import Loaded
from ricordo.adapters.local.view import Numbers, View, joined

_ROUNDING = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """Candidates for the nearest rows, their cosines, and the range over all visible rows."""

    numbers: Numbers
    cosines: NDArray[np.float64]
    low: float
    high: float


def nearest(view: View, question: NDArray[np.float32], *, limit: int) -> Near:
    """At least the `limit` nearest visible rows; there must be a visible one.

    The scan's rounding depends on how rows lie in memory. So every row that it may have wronged is
    a candidate, and what counts is the cosine that does not depend on neighbours.
    """
    scanned = joined([_scan(loaded, question) for loaded, _, _ in view.parts()], np.float32)
    numbers = np.flatnonzero(view.shown)
    scanned = scanned[numbers]
    slack = 2 * len(question) * _ROUNDING  # two sums of so many rounded products
    last = max(len(scanned) - limit, 0)
    bar = np.partition(scanned, last)[last]
    near = numbers[scanned >= bar - slack]
    far = numbers[scanned <= scanned.min() + slack]
    both = exact(view, question, np.concatenate((near, far)))
    cosines, low = both[: len(near)], float(both[len(near) :].min())
    return Near(numbers=near, cosines=cosines, low=low, high=float(cosines.max()))


def _scan(loaded: Loaded, question: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not by `@`: its threads spin for one another, on a busy host ten times as long as this takes.
    return np.einsum("ij,j->i", loaded.vectors.values, question)


def exact(view: View, question: NDArray[np.float32], numbers: Numbers) -> NDArray[np.float64]:
    """Cosines of these rows, each summed by itself in double precision."""
    cosines = np.zeros(len(numbers))
    for loaded, _, first in view.parts():
        mine = (numbers >= first) & (numbers < first + loaded.size)
        rows = loaded.vectors.values[numbers[mine] - first].astype(np.float64)
        cosines[mine] = (rows * question).sum(axis=1)
    return np.clip(cosines, -1.0, 1.0)
