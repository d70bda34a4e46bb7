"""BM25 with the statistics of exactly what is visible."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.postings import Found
from ricordo.adapters.local.view import Numbers, View, joined

K1 = 1.2
B = 0.75

Scores = NDArray[np.float64]
Lookup = dict[int, list[Found]]


def bm25(view: View, words: Sequence[Sequence[int]]) -> Scores:
    """BM25 of every row; 0 for those that are not visible or hold no word.

    A word is a group of alternatives: a row holds it as often as its most frequent alternative, and
    it occurs in as many documents as hold any of them.
    """
    scores = np.zeros(view.size)
    wanted = {term for word in words for term in word}
    lookups = [loaded.postings.find(wanted) for loaded, _, _ in view.parts()]
    if not any(lookups):
        return scores
    norms = _norms(view)
    for word in words:
        numbers, counts = _holding(view, lookups, word)
        if len(numbers):
            rarity = math.log1p((view.visible - len(numbers) + 0.5) / (len(numbers) + 0.5))
            scores[numbers] += rarity * counts * (K1 + 1) / (counts + norms[numbers])
    return scores


def _norms(view: View) -> Scores:
    """How much each row's length damps its counts."""
    lengths = view.lengths()
    average = lengths[view.shown].sum() / view.visible or 1.0
    return K1 * (1 - B + B * lengths / average)


def _holding(view: View, lookups: Sequence[Lookup], word: Sequence[int]) -> tuple[Numbers, Scores]:
    """The visible rows that hold one of the alternatives, and how often."""
    found: list[Numbers] = []
    counts: list[Scores] = []
    for (loaded, shown, first), lookup in zip(view.parts(), lookups, strict=True):
        matches = [match for term in word for match in lookup.get(term, ())]
        if not matches:
            continue
        most = np.zeros(loaded.size, np.uint16)
        for rows, times in matches:
            most[rows] = np.maximum(most[rows], times)
        rows = np.flatnonzero(most * shown)
        found.append(rows + first)
        counts.append(most[rows].astype(np.float64))
    return joined(found, np.intp), joined(counts, np.float64)
