"""What the use cases work with, handed to them once by the wiring."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ricordo.access import PreferenceVisibility
from ricordo.errors import Invalid
from ricordo.memory.journal import Journal
from ricordo.memory.measuring import Measures
from ricordo.memory.spacing import Spacing
from ricordo.memory.viewing.views import Views
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import Indexed, Space
from ricordo.ports import Analyzer, Embedder, GraphIndex, Ledger, Outside, VectorIndex

AT_ONCE = 32
"""Recalls that one process works on together: more than it can answer in the time of one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """When an inferred memory needs a person before it is recalled.

    Args:
        auto_approve: False sends every inferred memory to a person.
        min_confidence: from 0 to 1; below it a person decides.
    """

    auto_approve: bool = True
    min_confidence: float = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much a recall may find and take, where the caller does not say.

    Args:
        limit: memories.
        tokens: of text, about.
        deadline: seconds.
        hops: steps of the walk.
        at_once: most recalls that are worked on together; more wait in order.
    """

    limit: int = 10
    tokens: int = 800
    deadline: float = 0.25
    hops: int = 3
    at_once: int = AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The engines and rules behind every use case; opened and closed by the wiring.

    Args:
        rules: the vocabulary, or why it cannot be read; only what needs it then fails.
    """

    ledger: Ledger
    index: VectorIndex
    graph: GraphIndex
    embedder: Embedder
    analyzer: Analyzer
    spacing: Spacing
    rules: Vocabulary | Invalid
    journal: Journal
    views: Views
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    visibility: PreferenceVisibility = PreferenceVisibility.AGENT
    policy: Policy = field(default_factory=Policy)
    bounds: Bounds = field(default_factory=Bounds)
    measures: Measures = field(default_factory=Measures)
    outside: list[Outside] = field(default_factory=list[Outside])

    @property
    def vocabulary(self) -> Vocabulary:
        """The rules of the graph. Raises `Invalid` when its file cannot be read."""
        if isinstance(self.rules, Invalid):
            raise Invalid(str(self.rules)) from self.rules
        return self.rules

    async def space(self) -> Space:
        """The space in which texts are indexed now. Raises `Unavailable` when it is unknown, and
        the embedder does not answer."""
        return await self.spacing()

    async def question(self, text: str) -> bytes:
        """The vector of a question. Raises `Unavailable` when the embedder is."""
        vector = await self.embedder.question(text)
        self.spacing.learn(vector)
        return vector

    async def indexed(self, texts: Sequence[str]) -> list[Indexed]:
        """Make texts ready to be found. Raises `Unavailable` when the embedder is."""
        vectors = await self.embedder.documents(texts) if texts else []
        for vector in vectors[:1]:
            self.spacing.learn(vector)
        return [self._pack(text, vector) for text, vector in zip(texts, vectors, strict=True)]

    def _pack(self, text: str, vector: bytes) -> Indexed:
        counts, length = self.analyzer.terms(text)
        terms = sorted(counts)
        return Indexed(
            vector=vector,
            terms=struct.pack(f"<{len(terms)}Q", *terms),
            counts=struct.pack(f"<{len(terms)}H", *(min(counts[t], 0xFFFF) for t in terms)),
            length=length,
        )
