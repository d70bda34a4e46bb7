"""What benchmarks store and ask: endless distinct sentences, and vectors that cost nothing."""

import hashlib
import struct
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from ricordo import Said, Speaker, Turn
from ricordo.adapters.words import SnowballAnalyzer
from ricordo.model import Indexed, Kind, Memory, Scope

NOW = datetime(2026, 1, 1, tzinfo=UTC)

SUBJECTS = "The project|Our team|Alice Müller|The customer|The database|My manager".split("|")
VERBS = "requires|prefers|replaces|documents|works on|was moved to|reports to".split("|")
OBJECTS = "a service mesh|concise examples|PostgreSQL 18|the office in Zürich|ISO 27001".split("|")

ANALYZER = SnowballAnalyzer()


def sentence(number: int) -> str:
    """A sentence of some twelve words, different for each number."""
    subject = SUBJECTS[number % len(SUBJECTS)]
    verb = VERBS[number // 7 % len(VERBS)]
    thing = OBJECTS[number // 3 % len(OBJECTS)]
    return f"{subject} {verb} {thing} since sprint {number} of stream {number % 97}"


def question(number: int) -> str:
    """A question about one of the sentences."""
    thing = OBJECTS[number // 3 % len(OBJECTS)]
    return f"Who {VERBS[number % len(VERBS)]} {thing} in stream {number % 97}, and since when?"


def turn(number: int, *, thread: str = "t", agent: str = "coder", text: str = "") -> Turn:
    """What was said in one run: the user's sentence, and the assistant's nod."""
    said = (
        Said(speaker=Speaker.USER, text=text or sentence(number)),
        Said(speaker=Speaker.ASSISTANT, text="I see. I will keep that in mind."),
    )
    return Turn(thread_id=thread, run_id=f"r{number}", agent=agent, at=NOW, said=said)


def fact(number: int, scope: Scope) -> Memory:
    """The sentence of that number as a fact of a scope."""
    return Memory(
        id=f"m_{number:08}",
        scope=scope,
        kind=Kind.FACT,
        text=sentence(number),
        recorded_at=NOW,
        updated_at=NOW,
    )


def indexed(text: str, vector: NDArray[np.float32]) -> Indexed:
    """The row that is stored beside the text."""
    terms, length = ANALYZER.terms(text)
    ordered = sorted(terms)
    return Indexed(
        vector=vector.astype("<f4").tobytes(),
        terms=struct.pack(f"<{len(ordered)}Q", *ordered),
        counts=struct.pack(f"<{len(ordered)}H", *(terms[term] for term in ordered)),
        length=length,
    )


def unit_vectors(count: int, dimension: int, *, seed: int) -> NDArray[np.float32]:
    """Random directions around a common one, as sentences' are: cosines lie around one half."""
    vectors = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32) + 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class GivenVectors:
    """An embedding model that answers at once: a random direction that follows from the text."""

    model = "given"
    transform = "none"

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension

    async def dimension(self) -> int:
        """Length of the vectors."""
        return self._dimension

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store."""
        return [self._vector(text) for text in texts]

    async def question(self, text: str) -> bytes:
        """Vector of a question."""
        return self._vector(text)

    def _vector(self, text: str) -> bytes:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
        return unit_vectors(1, self._dimension, seed=seed)[0].astype("<f4").tobytes()
