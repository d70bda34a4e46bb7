"""The plainest possible index: every answer computed from the definition, for comparison."""

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ricordo.model import Indexed, Kind, Memory, Origin, Partition, Sought, Space

DIMENSION = 8
SPACE = Space(model="test", dimension=DIMENSION, transform="none", words="test")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
K1, B = 1.2, 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc:
    """A memory as the index sees it: direction in meaning, words by term, validity, thread."""

    id: str
    direction: tuple[int, ...]
    words: Mapping[int, int] = field(default_factory=dict[int, int])
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    thread: str | None = None
    said_at: datetime = NOON

    @property
    def length(self) -> int:
        """Number of words."""
        return sum(self.words.values())

    def shown(self, at: datetime | None) -> bool:
        """Whether it is valid at that instant; None is at any time."""
        if at is None:
            return True
        ends = [end for end in (self.valid_until, self.expires_at) if end is not None]
        return (self.valid_from is None or self.valid_from <= at) and all(at < end for end in ends)

    def indexed(self) -> Indexed:
        """Ready to be stored."""
        terms = sorted(self.words)
        return Indexed(
            vector=unit(self.direction),
            terms=struct.pack(f"<{len(terms)}Q", *terms),
            counts=struct.pack(f"<{len(terms)}H", *(self.words[term] for term in terms)),
            length=self.length,
        )

    def memory(self, partition: Partition, *, version: int = 1) -> Memory:
        """The memory that it belongs to; its text is its id and version, for texts are unique."""
        return Memory(
            id=self.id,
            scope=partition.scope,
            kind=partition.kind,
            agent=partition.agent if partition.kind is Kind.PREFERENCE else None,
            text=f"text {version} of {self.id}",
            recorded_at=NOON,
            updated_at=NOON,
            valid_from=self.valid_from,
            valid_until=self.valid_until,
            expires_at=self.expires_at,
            origins=(Origin(at=self.said_at, thread_id=self.thread),),
            version=version,
        )


def unit(direction: Sequence[int]) -> bytes:
    """A unit vector of that direction, as stored."""
    norm = math.sqrt(sum(x * x for x in direction))
    return struct.pack(f"<{len(direction)}f", *(x / norm for x in direction))


def cosine(one: bytes, other: bytes) -> float:
    """Cosine of two stored unit vectors."""
    pairs = zip(struct.iter_unpack("<f", one), struct.iter_unpack("<f", other), strict=True)
    return math.fsum(x * y for (x,), (y,) in pairs)


def bm25(docs: Sequence[Doc], words: Sequence[Sequence[int]]) -> dict[str, float]:
    """Score of every document; a word is its best alternative."""
    if not docs:
        return {}
    average = sum(doc.length for doc in docs) / len(docs)
    scores = {doc.id: 0.0 for doc in docs}
    for alternatives in words:
        held = {d.id: max((d.words.get(term, 0) for term in alternatives), default=0) for d in docs}
        holding = sum(1 for count in held.values() if count)
        rarity = math.log(1 + (len(docs) - holding + 0.5) / (holding + 0.5))
        for doc in docs:
            count = held[doc.id]
            if count:
                norm = K1 * (1 - B + B * doc.length / average)
                scores[doc.id] += rarity * count * (K1 + 1) / (count + norm)
    return scores


def cosines(docs: Sequence[Doc], sought: Sought) -> dict[str, float]:
    """Cosine of every document; 0 for a question without a vector."""
    vector = sought.vector
    if vector is None:
        return {doc.id: 0.0 for doc in docs}
    return {doc.id: cosine(vector, unit(doc.direction)) for doc in docs}
