"""Our own terms in the form of PostgreSQL's full-text search, each in one partition's own name."""

import struct
from collections.abc import Sequence

LABELS = "DCBA"
"""How often a term occurs, as the label of its place: once, twice, three times, more often."""


def stored_words(partition: int, terms: bytes, counts: bytes) -> str:
    """A tsvector, to be read by the server."""
    known = struct.unpack(f"<{len(terms) // 8}Q", terms)
    often = struct.unpack(f"<{len(counts) // 2}H", counts)
    return " ".join(
        f"{_lexeme(partition, term)}:1{LABELS[min(max(count, 1), len(LABELS)) - 1]}"
        for term, count in zip(known, often, strict=True)
    )


def asked_word(partition: int, alternatives: Sequence[int], label: str = "") -> str:
    """A tsquery for any of these terms, or only where it has that label."""
    mark = f":{label}" if label else ""
    return " | ".join(_lexeme(partition, term) + mark for term in sorted(set(alternatives)))


def _lexeme(partition: int, term: int) -> str:
    return f"{partition:x}_{term:x}"
