"""Models: of words, of meaning, and of language; and the bus for events."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ricordo.events import Event


class Analyzer(Protocol):
    """Splits text into words that can be found again."""

    name: str

    def terms(self, text: str) -> tuple[dict[int, int], int]:
        """Of a text to store: counts by 64-bit term hash, and the number of words."""
        ...

    def words(self, question: str) -> tuple[tuple[int, ...], ...]:
        """Of a question: per telling word its alternative term hashes."""
        ...


class Embedder(Protocol):
    """Turns texts into unit vectors (little-endian float32)."""

    model: str
    transform: str

    async def dimension(self) -> int:
        """Length of the vectors."""
        ...

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store. Raises `Unavailable`."""
        ...

    async def question(self, text: str) -> bytes:
        """Vector of a question. Raises `Unavailable`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory as a model proposed it; not yet checked.

    Args:
        quote: what the model says the user said, literally.
        relations: what it relates, with entity types.
        replaces: numbers (from 1) of the listed existing memories whose place it takes.
    """

    kind: str
    text: str
    quote: str
    confidence: float = 1.0
    relations: tuple["StatedRelation", ...] = ()
    replaces: tuple[int, ...] = ()
    turn: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRelation:
    """A relation in a model's answer: names and types as it wrote them."""

    source: str
    relation: str
    target: str
    source_type: str | None = None
    target_type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """A model's answer, read item by item.

    Args:
        candidates: items of the agreed shape.
        faults: one line per item that was not, without its text.
        model: who answered.
        prompt_tokens, completion_tokens: as the model reported; None when it did not.
    """

    candidates: tuple[Candidate, ...]
    faults: tuple[str, ...] = ()
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What is sent to a model: fixed instructions with examples, then the material.

    Args:
        version: name of the prompt; stored with what comes of it.
        examples: pairs of material and right answer, shown before the material.
        most: items that the answer may have, in proportion to the material; None sets no bound.
        known: how many existing memories the material lists; only these may be replaced.
        relations, types: the only names that the answer may use; without any, every name may be.
        notes: what was left out to keep the budget, one line each, without its text.
    """

    version: str
    system: str
    material: str
    most: int | None = None
    known: int = 0
    relations: tuple[str, ...] = field(default=())
    types: tuple[str, ...] = field(default=())
    examples: tuple[tuple[str, str], ...] = field(default=())
    notes: tuple[str, ...] = field(default=())


class Extractor(Protocol):
    """Asks a model once for everything worth remembering."""

    async def extract(self, instructions: Instructions) -> Extraction:
        """One call (two when the first answer must be repaired).

        Raises `Malformed` when the answer stays unreadable, `Unavailable` when the model is.
        """
        ...


class EventBus(Protocol):
    """Brings events from the outbox to those who asked for them."""

    def subscribe(
        self,
        *,
        kinds: Sequence[type[Event]] = (),
        consumer: str | None = None,
        come_back: bool = False,
    ) -> AsyncIterator[Event]:
        """Events from now on, of these kinds (all without any), until the iterator is closed.

        A named consumer goes on after the last event that it was done with. One that was retired
        gets `Retired`; with `come_back` it goes on with what is there.
        """
        ...
