"""mem0's own search over the same lines with the same vectors, on its local Qdrant."""

import asyncio
import os
import tempfile
import uuid
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.talks import Talk
from benchmarks.vectors import KeptEmbedder

DIMENSION = 384
TOP = 50


class _Vectors:
    """mem0's embedder interface over vectors that are there already."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors
        self.config = SimpleNamespace(embedding_dims=DIMENSION)

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        return self._vectors[text]

    def embed_batch(self, texts: Sequence[str], *_: object, **__: object) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


async def by_mem0(talk: Talk, embedder: KeptEmbedder, folder: Path) -> list[list[str]]:
    """The ids of lines that `Memory.search` returns for each question, best first."""
    texts = [line.text for line in talk.lines]
    said = [_floats(vector) for vector in await embedder.documents(texts)]
    asked = {q.text.strip(): _floats(await embedder.question(q.text)) for q in talk.questions}
    return await asyncio.to_thread(_search, talk, said, asked, folder)


def _search(
    talk: Talk, said: list[list[float]], asked: dict[str, list[float]], folder: Path
) -> list[list[str]]:
    memory, lemmatize = _memory(folder)
    memory.embedding_model = _Vectors(asked)
    ids = [str(uuid.uuid4()) for _ in talk.lines]
    memory.vector_store.insert(
        vectors=said,
        payloads=[
            {
                "user_id": "one",
                "data": line.text,
                "hash": line.id,
                "created_at": line.at.isoformat(),
                "text_lemmatized": lemmatize(line.text),
            }
            for line in talk.lines
        ],
        ids=ids,
    )
    line_of = dict(zip(ids, (line.id for line in talk.lines), strict=True))
    ranked: list[list[str]] = []
    for question in talk.questions:
        found = memory.search(question.text, filters={"user_id": "one"}, top_k=TOP, threshold=0.0)
        ranked.append([line_of[item["id"]] for item in found["results"]])
    return ranked


def _memory(folder: Path) -> tuple[Any, Any]:
    # mem0 reads these when it is imported. Nothing may leave this machine.
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ.setdefault("MEM0_DIR", str(Path(tempfile.gettempdir()) / "ricordo-benchmark-mem0"))
    os.environ.setdefault("OPENAI_API_KEY", "unused")
    warnings.simplefilter("ignore")
    from mem0 import Memory
    from mem0.utils.lemmatization import lemmatize_for_bm25
    from qdrant_client import QdrantClient

    store = {
        "collection_name": "lines",
        "embedding_model_dims": DIMENSION,
        "client": QdrantClient(":memory:"),
    }
    config = {
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(folder / "mem0-history.db"),
    }
    return Memory.from_config(config), lemmatize_for_bm25


def _floats(vector: bytes) -> list[float]:
    return memoryview(vector).cast("f").tolist()
