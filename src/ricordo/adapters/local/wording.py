"""BM25 with the statistics of exactly what is visible, alone and with the neighbours' words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.context import Context
from ricordo.adapters.local.postings import Found
from ricordo.adapters.local.sittings import NOBODY
from ricordo.adapters.local.view import Numbers, View, joined

K1 = 1.2
B = 0.75
B_SHARE = 0.6
"""How much length damps a share: less than in BM25, measured better on memories."""

BEFORE = 0.6
AFTER = 0.4
"""What a word of the memory before or after counts, where one in the memory itself counts 1."""

Scores = NDArray[np.float64]
Lookup = dict[int, list[Found]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What the words of a question find; 0 for rows that are not visible.

    Args:
        bm25: of every row.
        own: share of the question's information that a row's words hold, 0 to 1. Words that
            no memory holds count as missing, so a question in another language has low shares.
        shared: the same with the words of the rows before and after it.
        known: share of the question's words that any visible row holds, 0 to 1.
    """

    bm25: Scores
    own: Scores
    shared: Scores
    known: float = 0.0


def told(view: View, context: Context, words: Sequence[Sequence[int]]) -> Told:
    """Look for the words of a question in every row.

    A word is a group of alternatives: a row holds it as often as its most frequent alternative, and
    it occurs in as many documents as hold any of them.
    """
    bm25, own, shared = (np.zeros(view.size) for _ in range(3))
    wanted = {term for word in words for term in word}
    lookups = [loaded.postings.find(wanted) for loaded, _, _ in view.parts()]
    if not view.visible or not any(lookups):
        return Told(bm25=bm25, own=own, shared=shared)
    lengths = view.lengths()
    spread = in_company(context, lengths)
    average = view.average(lengths, known=lambda unseen: unseen.words)
    together = view.average(spread, known=lambda unseen: unseen.company * unseen.visible)
    norms = _norms(lengths, average=average, b=B)
    flat = _norms(lengths, average=average, b=B_SHARE)
    with_neighbours = _norms(spread, average=together, b=B_SHARE)
    mass, known = 0.0, 0
    for place, word in enumerate(words):
        numbers, counts, held = _holding(view, lookups, word, place=place)
        rarity = math.log1p((view.visible - held + 0.5) / (held + 0.5))
        mass += rarity
        known += held > 0
        if not len(numbers):
            continue
        bm25[numbers] += rarity * counts * (K1 + 1) / (counts + norms[numbers])
        own[numbers] += rarity * counts / (counts + flat[numbers])
        reached, more = _reached(context, numbers, counts)
        shared[reached] += rarity * more / (more + with_neighbours[reached])
    return Told(bm25=bm25, own=own / mass, shared=shared / mass, known=known / len(words))


def in_company(context: Context, values: Scores) -> Scores:
    """Each row's value with its part of its neighbours'."""
    near = BEFORE * context.from_before(values) + AFTER * context.from_after(values)
    return values + context.openness * near


def _reached(context: Context, numbers: Numbers, counts: Scores) -> tuple[Numbers, Scores]:
    """The rows that hold a word or stand beside one that does, and how often they count it."""
    found = [(numbers, counts)]
    for part, beside in ((BEFORE, context.after), (AFTER, context.before)):
        rows = beside[numbers]
        there = rows != NOBODY
        rows = rows[there]
        found.append((rows, part * context.openness[rows] * counts[there]))
    rows = np.concatenate([rows for rows, _ in found])
    reached, places = np.unique(rows, return_inverse=True)
    more = np.zeros(len(reached))
    np.add.at(more, places, np.concatenate([part for _, part in found]))
    return reached, more


def _norms(lengths: Scores, *, average: float, b: float) -> Scores:
    """How much each row's length damps its counts."""
    return K1 * (1 - b + b * lengths / (average or 1.0))


def _holding(
    view: View, lookups: Sequence[Lookup], word: Sequence[int], *, place: int
) -> tuple[Numbers, Scores, int]:
    """The visible rows that hold one of the alternatives, how often, and how many there are."""
    found: list[Numbers] = []
    counts: list[Scores] = []
    held = 0
    parts = zip(view.parts(), view.unseen(), lookups, strict=True)
    for (loaded, shown, first), unseen, lookup in parts:
        held += 0 if unseen is None else unseen.held[place]
        matches = [match for term in word for match in lookup.get(term, ())]
        if not matches:
            continue
        most = np.zeros(loaded.size, np.uint16)
        for rows, times in matches:
            most[rows] = np.maximum(most[rows], times)
        rows = np.flatnonzero(most * shown)
        held += len(rows) if unseen is None else 0
        found.append(rows + first)
        counts.append(most[rows].astype(np.float64))
    return joined(found, np.intp), joined(counts, np.float64), held
