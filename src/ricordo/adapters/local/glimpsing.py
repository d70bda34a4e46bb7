"""What is usual where partitions are not here as a whole: by their samples."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ricordo.adapters.local.meaning import (
    CROWDING,
    USUAL_COUNT,
    USUAL_SPREAD,
    Standing,
    Vector,
    products,
)
from ricordo.adapters.local.view import View

_Part = tuple[NDArray[np.float64], int]


def glimpsed(view: View, question: NDArray[np.float32]) -> Standing:
    """As `meaning.standing`; a sample stands for all the visible rows of its partition."""
    parts = list(_parts(view, len(question)))
    count = view.visible
    middle = sum((weight * rows.mean(axis=0) for rows, weight in parts), np.zeros(len(question)))
    middle = middle / count
    aim = question - CROWDING * middle
    each = [(rows @ aim, weight) for rows, weight in parts]
    mean = sum(weight * float(values.mean()) for values, weight in each) / count
    squares = sum(weight * float(np.square(values - mean).mean()) for values, weight in each)
    spread = np.sqrt((squares + USUAL_COUNT * USUAL_SPREAD**2) / (count + USUAL_COUNT))
    spread = float(f"{spread:.4g}")
    numbers = np.flatnonzero(view.shown)
    rough: Vector = np.zeros(view.size)
    rough[numbers] = (products(view, aim, numbers) - mean) / spread
    return Standing(aim=aim, mean=mean, spread=spread, rough=rough)


def _parts(view: View, dimension: int) -> Iterator[_Part]:
    """Rows that tell of each partition, and for how many they stand."""
    for (loaded, shown, _), unseen in zip(view.parts(), view.unseen(), strict=True):
        if unseen is not None:
            rows = unseen.sample
        else:
            rows = loaded.vectors.values[shown].astype(np.float64)
        weight = int(np.count_nonzero(shown)) if unseen is None else unseen.visible
        if len(rows) and weight:
            yield rows.reshape(-1, dimension), weight
