"""Embedding by any embedding client of the Microsoft Agent Framework."""

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from agent_framework import SupportsGetEmbeddings
from numpy.typing import NDArray

from ricordo.adapters.framework.silence import MENDING, status_of
from ricordo.errors import DeadlineExceeded, SpaceMismatch, Unavailable
from ricordo.ports.recent import Recent

_FLOAT = 4

_MENDING = MENDING | {
    400: "it does not accept the request: check the model's name and its longest input",
    413: "the request was too large for it: lower `batch`",
    422: "it does not accept the request: check the model's name and its longest input",
}


class FrameworkEmbedder:
    """Embeds with a client that satisfies the framework's `SupportsGetEmbeddings`.

    Whatever the client answers is checked and brought to length 1. A question that was asked a
    moment ago is not asked again: one turn of an agent asks several memories the same. The client
    is not closed: whoever opened it does.

    Args:
        client: any embedding client of the framework.
        model: name of the model where it is not the client's own; stored with the vectors.
        batch: texts of one request at most.
        question_prefix, document_prefix: put before every text, for models that want it.
        deadline: seconds that one request may take.
    """

    def __init__(
        self,
        client: SupportsGetEmbeddings[str, Any, Any],
        *,
        model: str | None = None,
        batch: int = 64,
        question_prefix: str = "",
        document_prefix: str = "",
        deadline: float = 60.0,
    ) -> None:
        if batch < 1:
            raise ValueError(f"batch is {batch}; at least 1 is needed")
        name = model or getattr(client, "model", None)
        self.model = str(name or type(client).__name__)
        self.transform = _transform(question_prefix, document_prefix)
        self._client = client
        self._options: dict[str, Any] | None = None if model is None else {"model": model}
        self._batch = batch
        self._question_prefix = question_prefix
        self._document_prefix = document_prefix
        self._deadline = deadline
        self._recent = Recent(entries=64, seconds=10.0)
        self._dimension: int | None = None

    async def dimension(self) -> int:
        """Length of the vectors; asks the client once. Raises `Unavailable`."""
        if self._dimension is not None:
            return self._dimension
        return len(await self.question("dimension")) // _FLOAT

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store.

        Raises:
            Unavailable: the client failed, or did not answer with one good vector per text.
            SpaceMismatch: the vectors have another length than before.
        """
        prefixed = [self._document_prefix + _sendable(text) for text in texts]
        vectors: list[bytes] = []
        for first in range(0, len(prefixed), self._batch):
            vectors += await self._embed(prefixed[first : first + self._batch])
        return vectors

    async def question(self, text: str) -> bytes:
        """Vector of a question. Raises as `documents` does."""
        known = self._recent.get(text)
        if known is None:
            [known] = await self._embed([self._question_prefix + _sendable(text)])
            self._recent.put(text, vector=known)
        return known

    async def _embed(self, texts: Sequence[str]) -> list[bytes]:
        matrix = _matrix(await self._ask(texts), count=len(texts))
        length = matrix.shape[1]
        if self._dimension not in (None, length):
            raise SpaceMismatch(
                f"the embedding client answered with {length} numbers a vector, before with "
                f"{self._dimension}: another model answers now. Restore the model, or restart "
                "and run `ricordo reindex`"
            )
        self._dimension = length
        return [row.tobytes() for row in matrix]

    async def _ask(self, texts: Sequence[str]) -> list[Any]:
        timeout = asyncio.timeout(self._deadline)
        try:
            async with timeout:
                answer = await self._client.get_embeddings(texts, options=self._options)
                return [embedding.vector for embedding in answer]
        # The client is whatever was plugged in, and whatever it raises means that there is no
        # answer. Nothing else is inside this `try`.
        except Exception as exc:
            if timeout.expired():
                raise DeadlineExceeded(
                    f"the embedding client did not answer within {self._deadline:g} s"
                ) from exc
            _translate(exc)


def _transform(question_prefix: str, document_prefix: str) -> str:
    """Prefixes move vectors as a transform does, so they are part of the space's name."""
    if not question_prefix and not document_prefix:
        return "none"
    both = f"{question_prefix}\0{document_prefix}".encode("utf-8", "replace")
    return f"prefix-{hashlib.sha256(both).hexdigest()[:12]}"


def _sendable(text: str) -> str:
    """The text as JSON can carry it; endpoints refuse an empty one, so that becomes a dot."""
    safe = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return safe if safe.strip() else "."


def _matrix(vectors: Sequence[Any], *, count: int) -> NDArray[np.float32]:
    """The client's vectors as rows of length 1, or `Unavailable` that says what is wrong."""
    if len(vectors) != count:
        raise Unavailable(f"the embedding client gave {len(vectors)} vectors for {count} texts")
    try:
        rows = np.array(vectors, dtype=np.float64)
    except (TypeError, ValueError) as exc:
        raise Unavailable(
            "the embedding client gave vectors of unequal lengths, or not of numbers"
        ) from exc
    if rows.ndim != 2 or rows.shape[1] == 0:
        raise Unavailable("the embedding client gave something else than vectors")
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused below
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise Unavailable("the embedding client gave a vector with NaN or infinite numbers")
    if not lengths.all():
        raise Unavailable("the embedding client gave a vector of zeros")
    return (rows / lengths).astype("<f4")


def _translate(exc: Exception) -> NoReturn:
    """Raise our error for a client's. Its message is left out: it may quote the texts."""
    status = status_of(exc)
    if status in _MENDING:
        raise Unavailable(
            f"the embedding endpoint answered HTTP {status}; trying again is no use: "
            f"{_MENDING[status]}"
        ) from exc
    if status is not None:
        raise Unavailable(f"the embedding endpoint answered HTTP {status}; try again") from exc
    raise Unavailable(f"the embedding client failed with {type(exc).__name__}") from exc
