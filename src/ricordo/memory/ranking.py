"""Fusing what the arms of recall found into one order. Pure functions.

Signals are normalised to 0…1 over all that the asker may see and summed with weights, which was
measured better than reciprocal ranks. The order depends on the memories alone, never on the
clock, so the same question gets the same answer.
"""

import re
from collections.abc import Mapping, Sequence

from ricordo.memory.budget import estimate
from ricordo.model import Hit, Hits, Memory, Path, Recalled, Status

MEANING = 0.5
WORDS = 0.5
GRAPH = 0.35
PINNED = 0.1
IMPORTANCE = 0.05
CONFIDENCE = 0.05

DUPLICATE = 0.985
"""Cosine from which the lower of two memories is left out as saying the same."""

_NUMBER = re.compile(r"\d+")

LINE_TOKENS = 16
"""Tokens that a memory's provenance and line take, besides its text."""


def meaning_of(hit: Hit, hits: Hits) -> float:
    """The hit's cosine within the range of all visible memories, 0 to 1."""
    spread = hits.cosine_high - hits.cosine_low
    if spread < 1e-6:
        return 1.0 if hits.cosine_high > 0 else 0.0
    return min(max((hit.cosine - hits.cosine_low) / spread, 0.0), 1.0)


def words_of(hit: Hit, hits: Hits) -> float:
    """The hit's BM25 as a share of the best visible one, 0 to 1."""
    return hit.bm25 / hits.bm25_high if hits.bm25_high > 0 else 0.0


def best(hits: Hits, some: Sequence[Hit]) -> list[Hit]:
    """Some of the hits, best first by meaning and words together."""

    def score(hit: Hit) -> tuple[float, str]:
        return (-MEANING * meaning_of(hit, hits) - WORDS * words_of(hit, hits), hit.memory_id)

    return sorted(some, key=score)


def rank(hits: Hits, walked: Sequence[Path], memories: Mapping[str, Memory]) -> list[Recalled]:
    """Order the memories by all signals, best first; ties by id."""
    paths = _path_by_memory(walked)
    by_id = {hit.memory_id: hit for hit in hits.hits}
    recalled: list[Recalled] = []
    for memory_id, memory in memories.items():
        signals = _signals(memory, by_id.get(memory_id), hits, paths.get(memory_id))
        recalled.append(
            Recalled(
                memory=memory,
                score=round(sum(signals.values(), 0.0), 6),
                signals=signals,
                path=paths.get(memory_id),
            )
        )
    return sorted(recalled, key=lambda item: (-item.score, item.memory.id))


def _signals(memory: Memory, hit: Hit | None, hits: Hits, path: Path | None) -> dict[str, float]:
    wordless = hits.bm25_high <= 0
    signals: dict[str, float] = {}
    if hit is not None:
        signals["meaning"] = (MEANING + WORDS * wordless) * meaning_of(hit, hits)
        if not wordless:
            signals["words"] = WORDS * words_of(hit, hits)
    if path is not None:
        signals["graph"] = GRAPH / len(path.steps)
    if memory.pinned:
        signals["pinned"] = PINNED
    signals["importance"] = IMPORTANCE * (memory.importance - 0.5)
    signals["confidence"] = CONFIDENCE * (memory.confidence - 1.0)
    return {name: round(value, 6) for name, value in signals.items() if value}


def _path_by_memory(walked: Sequence[Path]) -> dict[str, Path]:
    """For each memory that supports the last step of a walk, the shortest such walk."""
    paths: dict[str, Path] = {}
    for path in sorted(walked, key=lambda path: len(path.steps)):
        for memory_id in path.steps[-1].evidence:
            paths.setdefault(memory_id, path)
    return paths


def without_duplicates(
    recalled: Sequence[Recalled], alike: Mapping[tuple[str, str], float]
) -> list[Recalled]:
    """Leave out what says the same as something ranked before it.

    Only within one status: what was true once and what is true now are different answers.
    """
    kept: list[Recalled] = []
    for item in recalled:
        if not any(_same(item, other, alike) for other in kept):
            kept.append(item)
    return kept


def _same(one: Recalled, other: Recalled, alike: Mapping[tuple[str, str], float]) -> bool:
    if (one.memory.status is Status.ACTIVE) != (other.memory.status is Status.ACTIVE):
        return False
    if one.memory.digest == other.memory.digest:
        return True
    if _NUMBER.findall(one.memory.text) != _NUMBER.findall(other.memory.text):
        return False  # "room 41" and "room 42" are close in meaning and not the same
    pair = (one.memory.id, other.memory.id)
    return max(alike.get(pair, 0.0), alike.get((pair[1], pair[0]), 0.0)) >= DUPLICATE


def fit(recalled: Sequence[Recalled], *, tokens: int) -> tuple[tuple[Recalled, ...], int]:
    """The first memories that fit the budget, and how many did not.

    A long one is passed over rather than ending the list, so that one document cannot silence
    everything after it.
    """
    left = tokens
    kept: list[Recalled] = []
    for item in recalled:
        cost = estimate(item.memory.text) + LINE_TOKENS
        if cost <= left:
            kept.append(item)
            left -= cost
    return tuple(kept), len(recalled) - len(kept)
