"""Cosine, exact: a fast scan finds the candidates, then each is summed by itself."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.loaded import STEPS, Loaded
from ricordo.adapters.local.view import Numbers, View, joined

CROWDING = 0.5
"""How much of a memory's likeness to all the others is taken off its likeness to a question.

Some texts are near to everything, and so to every question; what is special about them counts.
"""

USUAL_SPREAD, USUAL_COUNT = 0.1, 8
"""A spread of cosines that is assumed as long as few memories tell the real one."""

Vector = NDArray[np.float64]

_ROUNDING = float(np.finfo(np.float32).eps)


def nearest(view: View, question: NDArray[np.float32], *, limit: int) -> tuple[Numbers, Vector]:
    """At least the `limit` nearest visible rows, and their cosines; there must be a visible one.

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
    return near, exact(view, question, near)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far each row stands out of all visible ones for one question.

    Args:
        aim: the question without half of what all visible memories have in common.
        mean, spread: of the rows' products with `aim`.
        rough: standard deviations above the mean, rounded as a fast scan is; 0 where not visible.
    """

    aim: Vector
    mean: float
    spread: float
    rough: Vector

    def exact(self, view: View, numbers: Numbers) -> Vector:
        """The same of some rows, as it does not depend on how rows lie in memory."""
        return (products(view, self.aim, numbers) - self.mean) / self.spread


def standing(view: View, question: NDArray[np.float32]) -> Standing:
    """Of every row; there must be a visible one."""
    parts = list(view.parts())
    totals = [loaded.total(shown=shown) for loaded, shown, _ in parts]
    middle = np.sum(totals, axis=0) / (view.visible * STEPS)
    aim = question - CROWDING * middle
    aim32 = aim.astype(np.float32)
    scanned = joined([_scan(loaded, aim32) for loaded, _, _ in parts], np.float64)
    mean = float((aim * middle).sum())
    variance = float(scanned[view.shown].var())
    known = view.visible * variance + USUAL_COUNT * USUAL_SPREAD**2
    spread = float(f"{np.sqrt(known / (view.visible + USUAL_COUNT)):.4g}")
    rough = np.where(view.shown, (scanned - mean) / spread, 0.0)
    return Standing(aim=aim, mean=mean, spread=spread, rough=rough)


def _scan(loaded: Loaded, question: NDArray[np.float32]) -> NDArray[np.float32]:
    # Not by `@`: its threads spin for one another, on a busy host ten times as long as this takes.
    return np.einsum("ij,j->i", loaded.vectors.values, question)


def exact(view: View, question: NDArray[np.float32], numbers: Numbers) -> NDArray[np.float64]:
    """Cosines of these rows, each summed by itself in double precision."""
    return np.clip(products(view, question, numbers), -1.0, 1.0)


def products(view: View, vector: NDArray[Any], numbers: Numbers) -> NDArray[np.float64]:
    """Products of a vector and these rows, each summed by itself in double precision."""
    found = np.zeros(len(numbers))
    for loaded, _, first in view.parts():
        mine = (numbers >= first) & (numbers < first + loaded.size)
        rows = loaded.vectors.values[numbers[mine] - first].astype(np.float64)
        found[mine] = (rows * vector).sum(axis=1)
    return found
