"""Fusing what the arms of recall found into one order. Pure functions.

Signals are summed with weights. Meaning counts in standard deviations above what is usual among
all that the asker may see, words in the share of the question's information that they match: so
each counts by the evidence it has for this question, in any language, and a question whose words
occur nowhere goes by meaning alone. The order depends on the memories, never on the clock, so the
same question gets the same answer.
"""

import math
import re
from collections.abc import Mapping, Sequence

from ricordo.memory.budget import estimate
from ricordo.memory.dates import asks_for_time, tells_time
from ricordo.memory.languages import language
from ricordo.memory.small_talk import small_talk
from ricordo.memory.speakers import asked_about, speaker
from ricordo.model import Hit, Hits, Kind, Memory, Path, Recalled, Status, Weights

WEIGHTS = Weights(
    meaning=0.075,
    words=0.85,
    before=0.036,
    earlier=0.042,
    after=0.044,
    sitting_meaning=0.053,
    sitting_words=0.9,
    date=0.32,
    unknown=2.0,
)
"""What the index sums; see docs/decisions/0006-adaptive-fusion.md for how they were found."""

SPEAKER = 0.22
"""For what somebody said whom alone the question names."""

LENGTH = 0.2
"""For each e-fold of words in a turn of a chat: the short ones hold little."""

QUESTION = -0.04
"""For a turn of a chat that asks: what is sought stands in the answer."""

TIME = 0.25
"""For a turn of a chat that tells a time, when the question asks for one."""

LONGEST = 40
"""Words beyond which a turn is not better for being longer."""

CHATTY, WORDY = 30.0, 80.0
"""Mean words of all that is visible: up to the first it is chat, from the second on it is not."""

FOREIGN = 1 / 3
"""Part of its meaning by which a memory in another language than the question makes up for words.

It cannot match them, where memories in the question's own language can.
"""

HOME = 0.2
"""Share of memories in the question's language from which that counts fully."""

DOUBTED = 50
"""The first so many of which the language is looked at."""

GRAPH = 0.15
PINNED = 0.1
IMPORTANCE = 0.05
CONFIDENCE = 0.05

DEMOTED = -0.15
"""For what consolidation found stale and unused: behind its equals, and still found."""

DUPLICATE = 0.985
"""Cosine from which the lower of two memories is left out as saying the same."""


def weights() -> dict[str, float]:
    """What one unit of each signal counts; two signals have several sorts of units."""
    return {
        "meaning": WEIGHTS.meaning,
        "words": WEIGHTS.words,
        "nearby.before": WEIGHTS.before,
        "nearby.earlier": WEIGHTS.earlier,
        "nearby.after": WEIGHTS.after,
        "sitting.meaning": WEIGHTS.sitting_meaning,
        "sitting.words": WEIGHTS.sitting_words,
        "date": WEIGHTS.date,
        "speaker": SPEAKER,
        "length": LENGTH,
        "question": QUESTION,
        "time": TIME,
        "graph": GRAPH,
        "pinned": PINNED,
        "importance": IMPORTANCE,
        "confidence": CONFIDENCE,
    }


_NUMBER = re.compile(r"\d+")

LINE_TOKENS = 16
"""Tokens that a memory's provenance and line take, besides its text."""


def best(some: Sequence[Hit]) -> list[Hit]:
    """Some hits, best first by what the index knows."""
    return sorted(some, key=lambda hit: (-hit.fused, hit.memory_id))


def rank(
    question: str, hits: Hits, walked: Sequence[Path], memories: Mapping[str, Memory]
) -> list[Recalled]:
    """Order the memories for which anything speaks by all signals, best first; ties by id.

    For small talk only what holds whatever is asked: what is pinned, and preferences.
    """
    idle = small_talk(question)
    paths = _path_by_memory(walked)
    by_id = {hit.memory_id: hit for hit in hits.hits}
    speakers = {memory_id: speaker(memory.text) for memory_id, memory in memories.items()}
    asked = asked_about(question, {name for name in speakers.values() if name is not None})
    timed = asks_for_time(question)
    recalled: list[Recalled] = []
    for memory_id, memory in memories.items():
        path, hit = paths.get(memory_id), by_id.get(memory_id)
        called_for = memory.kind is Kind.PREFERENCE if idle else _speaks(hit)
        if path is None and not memory.pinned and not called_for:
            continue
        signals = _found(hit, memory, hits, timed=timed) if hit is not None else {}
        if asked is not None and speakers[memory_id] == asked:
            signals["speaker"] = SPEAKER
        signals |= _standing(memory, path)
        signals = {name: round(value, 6) for name, value in signals.items() if value}
        recalled.append(_recalled(memory, signals, path))
    return _fair(question, sorted(recalled, key=_place))


def _recalled(memory: Memory, signals: dict[str, float], path: Path | None) -> Recalled:
    score = round(sum(signals.values(), 0.0), 6)
    return Recalled(memory=memory, score=score, signals=signals, path=path)


def _place(item: Recalled) -> tuple[float, str]:
    return -item.score, item.memory.id


def _fair(question: str, ordered: list[Recalled]) -> list[Recalled]:
    """With what memories in other languages lack, where some are in that of the question."""
    asked = language(question)
    told = [language(item.memory.text) for item in ordered[:DOUBTED] if asked is not None]
    home = told.count(asked) / max(len(told), 1)
    if not 0 < home < 1:
        return ordered
    part = FOREIGN * min(home / HOME, 1.0)
    head = [
        item if mine in (asked, None) else _made_up(item, part)
        for item, mine in zip(ordered, told, strict=False)
    ]
    return sorted([*head, *ordered[DOUBTED:]], key=_place)


def _made_up(item: Recalled, part: float) -> Recalled:
    """With a part of its meaning for the words that another language could not match."""
    matched = item.signals.get("words", 0.0)
    lacking = round(part * item.signals.get("meaning", 0.0) - matched, 6)
    if lacking <= 0:
        return item
    return _recalled(item.memory, {**item.signals, "language": lacking}, item.path)


def _speaks(hit: Hit | None) -> bool:
    """Whether anything that the index found speaks for a memory: a word, closeness, company."""
    if hit is None:
        return False
    return max(hit.bm25, hit.cosine, hit.nearby, hit.sitting, hit.date) > 0


def _found(hit: Hit, memory: Memory, hits: Hits, *, timed: bool) -> dict[str, float]:
    """What the index found, and whether it is a turn of a chat that can hold an answer."""
    signals = {
        "meaning": hit.meaning,
        "words": hit.words,
        "nearby": hit.nearby,
        "sitting": hit.sitting,
        "date": hit.date,
        "emphasis": hit.emphasis,
    }
    if hit.in_company:
        chat = min(max((WORDY - hits.length) / (WORDY - CHATTY), 0.0), 1.0)
        signals["length"] = chat * LENGTH * math.log1p(min(hit.length, LONGEST))
        signals["question"] = chat * QUESTION * ("?" in memory.text)
        signals["time"] = chat * TIME * (timed and tells_time(memory.text))
    return signals


def _standing(memory: Memory, path: Path | None) -> dict[str, float]:
    """What speaks for a memory whatever is asked, and the walk that leads to it."""
    return {
        "graph": 0.0 if path is None else GRAPH / math.sqrt(len(path.steps)),
        "pinned": PINNED * memory.pinned,
        "importance": IMPORTANCE * (memory.importance - 0.5),
        "confidence": CONFIDENCE * (memory.confidence - 1.0),
        "demoted": DEMOTED * (memory.demoted_at is not None),
    }


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
    said: set[tuple[str, bool]] = set()
    for item in recalled:
        words = (item.memory.digest, item.memory.status is Status.ACTIVE)
        if words not in said and not any(_alike(item, other, alike) for other in kept):
            kept.append(item)
            said.add(words)
    return kept


def same(one: Recalled, other: Recalled, alike: Mapping[tuple[str, str], float]) -> bool:
    """Whether two memories say the same, as far as is known."""
    if one.memory.digest == other.memory.digest:
        return (one.memory.status is Status.ACTIVE) == (other.memory.status is Status.ACTIVE)
    return _alike(one, other, alike)


def _alike(one: Recalled, other: Recalled, alike: Mapping[tuple[str, str], float]) -> bool:
    """Whether two of different words mean the same. Cheap questions come first."""
    pair = (one.memory.id, other.memory.id)
    if max(alike.get(pair, 0.0), alike.get((pair[1], pair[0]), 0.0)) < DUPLICATE:
        return False
    if (one.memory.status is Status.ACTIVE) != (other.memory.status is Status.ACTIVE):
        return False
    # "room 41" and "room 42" are close in meaning and not the same
    return _NUMBER.findall(one.memory.text) == _NUMBER.findall(other.memory.text)


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
