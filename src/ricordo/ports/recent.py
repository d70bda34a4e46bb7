"""The vectors of the last questions, for a moment."""

import asyncio
import hashlib
from collections import OrderedDict


class Recent:
    """Remembers a few question vectors for seconds, and no question.

    One agent turn asks the same question of the user's and of the organization's memory; this
    makes it cost one embedding. The key is a hash, and a timer removes each entry, so nothing
    of a person stays here.
    """

    def __init__(self, *, entries: int, seconds: float) -> None:
        self._entries = entries
        self._seconds = seconds
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()

    def get(self, question: str) -> bytes | None:
        """The vector, if the question was asked a moment ago."""
        return self._vectors.get(_key(question))

    def put(self, question: str, *, vector: bytes) -> None:
        """Keep the vector for a moment."""
        key = _key(question)
        self._vectors[key] = vector
        while len(self._vectors) > self._entries:
            self._vectors.popitem(last=False)
        asyncio.get_running_loop().call_later(self._seconds, self._vectors.pop, key, None)

    def clear(self) -> None:
        """Forget them all."""
        self._vectors.clear()

    def __len__(self) -> int:
        return len(self._vectors)


def _key(question: str) -> bytes:
    return hashlib.blake2b(question.encode("utf-8", "replace"), digest_size=16).digest()
