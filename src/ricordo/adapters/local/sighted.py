"""Ranking where only some rows have their vectors at hand: those that a view found, and others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.context import Context
from ricordo.adapters.local.dating import dated
from ricordo.adapters.local.fusing import Fusion
from ricordo.adapters.local.loaded import Loaded
from ricordo.adapters.local.meaning import CROWDING, USUAL_COUNT, USUAL_SPREAD, Standing, Vector
from ricordo.adapters.local.ranking import best_rows, hits_of, in_order
from ricordo.adapters.local.sampling import Sample
from ricordo.adapters.local.sittings import NOBODY
from ricordo.adapters.local.view import Numbers, View
from ricordo.adapters.local.wording import told
from ricordo.model import Hits, Partition, Sought, Weights

Shelf = tuple[Partition, Loaded]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighted(Standing):
    """How far those rows stand out whose vectors are known; any other row counts as usual."""

    def exact(self, view: View, numbers: Numbers) -> Vector:
        """See `Standing`: what is known is exact already."""
        del view
        return self.rough[numbers]


class Known:
    """The rows whose vectors are at hand, by partition and id: sums depend on the order.

    Args:
        vectors: by partition and memory id.
    """

    def __init__(
        self, view: View, shelves: Sequence[Shelf], vectors: Mapping[Partition, Mapping[str, bytes]]
    ) -> None:
        numbers: list[int] = []
        stored: list[bytes] = []
        for (partition, loaded), (_, shown, first) in zip(shelves, view.parts(), strict=True):
            for memory_id, vector in sorted(vectors.get(partition, {}).items()):
                row = loaded.row_of_id.get(memory_id)
                if row is not None and shown[row]:
                    numbers.append(first + row)
                    stored.append(vector)
        self.numbers = np.array(numbers, np.intp)
        rows = np.frombuffer(b"".join(stored), "<f4")
        self.rows = rows.reshape(len(stored), -1 if stored else 0).astype(np.float64)

    def products(self, vector: NDArray[np.float64]) -> Vector:
        """Of each row, summed by itself."""
        return (self.rows * vector).sum(axis=1) if len(self.numbers) else np.empty(0)


class Search:
    """One question over partitions without vectors.

    Its words find first; `wanted` tells whose vectors are needed; then `hits` ranks.
    """

    def __init__(self, shelves: Sequence[Shelf], sought: Sought, *, view: View) -> None:
        self._shelves = shelves
        self._sought = sought
        self._view = view
        self._context = Context(view)
        self._told = told(view, self._context, sought.words)
        self._date = sought.weights.date * dated(view, sought.dates)

    def numbers(self, ids: Mapping[Partition, Sequence[str]]) -> Numbers:
        """The visible rows of these memories."""
        numbers: set[int] = set()
        for (partition, loaded), (_, shown, first) in zip(
            self._shelves, self._view.parts(), strict=True
        ):
            rows = (loaded.row_of_id.get(memory_id) for memory_id in ids.get(partition, ()))
            numbers.update(first + row for row in rows if row is not None and shown[row])
        return np.array(sorted(numbers), np.intp)

    def wanted(self, near: Numbers, *, limit: int) -> Mapping[Partition, list[str]]:
        """Whose vectors are needed: of the near ones, of those of the best words, and of what was
        said before and after them."""
        context, shared = self._context, self._told.shared
        telling = np.flatnonzero(shared)
        worded = [*self._by_words(limit), *best_rows(self._view, telling, shared[telling], limit)]
        rows = np.concatenate((near, np.array([number for _, number in worded], np.intp)))
        around = [context.before[rows], context.after[rows]]
        rows = np.unique(np.concatenate((rows, *around, context.before[context.before[rows]])))
        wanted: dict[Partition, list[str]] = {}
        for number in rows[rows != NOBODY].tolist():
            partition = self._view.partition_of(number)
            wanted.setdefault(partition, []).append(self._view.id_of(number))
        return wanted

    def hits(
        self,
        question: NDArray[np.float32] | None,
        known: Known,
        samples: Mapping[Partition, Sample],
        *,
        limit: int,
    ) -> Hits:
        """The best by each signal, and by all together, as the local index orders them."""
        view, sought = self._view, self._sought
        cosines = np.zeros(view.size)
        sighted = None
        if question is not None:
            cosines[known.numbers] = np.clip(known.products(question.astype(np.float64)), -1.0, 1.0)
            sighted = self._sighted(question, known, samples)
        fusion = Fusion(
            view,
            self._context,
            self._told,
            standing=sighted,
            weights=sought.weights,
            date=self._date,
        )
        near = known.numbers if question is not None else np.empty(0, np.intp)
        rankings = [best_rows(view, near, cosines[near], limit), self._by_words(limit)]
        if sought.weights != Weights():
            likely = fusion.candidates(limit=limit)
            rankings.append(best_rows(view, likely, fusion.exact(likely).fused, limit))
        exact = dict(zip(known.numbers.tolist(), cosines[known.numbers].tolist(), strict=True))
        return Hits(
            hits=hits_of(view, self._context, in_order(rankings), exact, self._told.bm25, fusion),
            visible=view.visible,
            length=float(view.lengths()[view.shown].sum() / view.visible),
        )

    def _by_words(self, limit: int) -> list[tuple[str, int]]:
        scores = self._told.bm25
        holding = np.flatnonzero(scores)
        return best_rows(self._view, holding, scores[holding], limit)

    def _sighted(
        self, question: NDArray[np.float32], known: Known, samples: Mapping[Partition, Sample]
    ) -> Sighted:
        """As `meaning.standing`, with what is usual taken from the samples."""
        weights = self._weights(known, samples)
        rows = known.rows
        middle = (weights @ rows) / weights.sum() if weights.any() else np.zeros(len(question))
        aim = question - CROWDING * middle
        products = known.products(aim)
        mean, variance = 0.0, 0.0
        if weights.any():
            mean = float(np.average(products, weights=weights))
            variance = float(np.average(np.square(products - mean), weights=weights))
        count = self._view.visible
        spread = np.sqrt((count * variance + USUAL_COUNT * USUAL_SPREAD**2) / (count + USUAL_COUNT))
        spread = float(f"{spread:.4g}")
        rough = np.zeros(self._view.size)
        rough[known.numbers] = (products - mean) / spread
        return Sighted(aim=aim, mean=mean, spread=spread, rough=rough)

    def _weights(self, known: Known, samples: Mapping[Partition, Sample]) -> Vector:
        """For how many rows each known one speaks; 0 for those that are in no sample."""
        weights = np.zeros(self._view.size)
        for (partition, loaded), (_, shown, first) in zip(
            self._shelves, self._view.parts(), strict=True
        ):
            sample = samples.get(partition)
            rows = [loaded.row_of_id.get(one) for one in sample.vectors] if sample else []
            mine = [row for row in rows if row is not None and shown[row]]
            if mine:
                weights[[first + row for row in mine]] = np.count_nonzero(shown) / len(mine)
        return weights[known.numbers]
