"""Our own terms in the form of PostgreSQL's full-text search, each in one partition's own name."""

import struct
from collections.abc import Sequence

OFTEN = "A"
"""Labels terms that occur more than once; the position of each is how often. A label is quick to
ask for, a position has to be looked up."""

_LAST = 16_383
"""The highest position that a tsvector knows."""


def stored_words(partition: int, terms: bytes, counts: bytes) -> str:
    """A tsvector, to be read by the server."""
    known = struct.unpack(f"<{len(terms) // 8}Q", terms)
    often = struct.unpack(f"<{len(counts) // 2}H", counts)
    return " ".join(
        f"{lexeme(partition, term)}:{min(count, _LAST)}{OFTEN if count > 1 else ''}"
        for term, count in zip(known, often, strict=True)
    )


def asked_word(partition: int, alternatives: Sequence[int], label: str = "") -> str:
    """A tsquery for any of these terms, or only where it has that label."""
    mark = f":{label}" if label else ""
    return " | ".join(lexeme(partition, term) + mark for term in sorted(set(alternatives)))


def lexeme(partition: int, term: int) -> str:
    """A term's name in one partition."""
    return f"{partition:x}_{term:x}"
