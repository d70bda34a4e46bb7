"""How alike some memories are, pair by pair."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


class Likeness(Mapping[tuple[str, str], float]):
    """Cosine of every pair of memories, worked out when asked; a pair is found in either order.

    Iterating gives each pair once, in the order in which the memories were asked for.
    """

    def __init__(self, ids: Sequence[str], vectors: Sequence[NDArray[np.float32]]) -> None:
        self._places = {memory_id: place for place, memory_id in enumerate(ids)}
        self._rows = [vector.astype(np.float64) for vector in vectors]

    def __getitem__(self, pair: tuple[str, str]) -> float:
        one, other = self._places[pair[0]], self._places[pair[1]]
        if one == other:
            raise KeyError(pair)
        return min(max(float(self._rows[one] @ self._rows[other]), -1.0), 1.0)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        ids = list(self._places)
        for place, one in enumerate(ids):
            for other in ids[place + 1 :]:
                yield one, other

    def __len__(self) -> int:
        return len(self._places) * (len(self._places) - 1) // 2
