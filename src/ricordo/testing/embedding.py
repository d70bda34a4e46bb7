"""A tiny embedding model for tests: words hashed into a vector. Deterministic, instant, offline."""

import hashlib
import math
import re
import struct
from collections.abc import Sequence

DIMENSION = 64
_WORD = re.compile(r"\w+")


class HashingEmbedder:
    """Texts that share words lie close together; says nothing about meaning."""

    model = "hashing-64"
    transform = "none"

    async def dimension(self) -> int:
        """Length of the vectors, 64."""
        return DIMENSION

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store."""
        return [_vector(text) for text in texts]

    async def question(self, text: str) -> bytes:
        """Vector of a question."""
        return _vector(text)


def _vector(text: str) -> bytes:
    values = [0.0] * DIMENSION
    for word in _WORD.findall(text.casefold()) or [text]:
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=16).digest()
        for code in digest:
            values[code % DIMENSION] += 1.0 if code & 0x40 else -1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    if not any(values):
        values[0] = length = 1.0
    return struct.pack(f"<{DIMENSION}f", *(value / length for value in values))
