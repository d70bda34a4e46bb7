"""Our own parallel sentences, and how well their questions find their statements.

`neutral_sentences.jsonl` holds statements as a memory would keep them, each with a question that
asks for it, both in English, German, French and Italian. Every third one is held out: nothing is
fitted on it.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

LANGUAGES = ("en", "de", "fr", "it")
DATA = Path(__file__).with_name("neutral_sentences.jsonl")

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A statement and the question that asks for it, by language."""

    id: int
    statement: dict[str, str]
    question: dict[str, str]

    @property
    def held_out(self) -> bool:
        """Whether it is kept for measuring."""
        return self.id % 3 == 0


def read(path: Path = DATA) -> list[Sentence]:
    """All sentences, in the file's order."""
    return [Sentence(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Share of questions whose statement came first, or among the first five."""

    first: float
    five: float
    questions: int


def recall(statements: Vectors, questions: Vectors) -> dict[str, Recall]:
    """Recall within a language, across languages, and by language of the question.

    Each statement is stored in one language only, in turn, and asked for in all four; this is
    done four times, so that each statement is stored once in each language.

    Args:
        statements, questions: unit vectors, shape (sentence, language, dimension).
    """
    sentences, languages = statements.shape[:2]
    order = np.arange(sentences)
    ranks = np.empty((languages, sentences, languages), dtype=int)
    for turn in range(languages):
        stored = statements[order, (order + turn) % languages]
        scores = questions.reshape(-1, questions.shape[-1]) @ stored.T
        own = np.repeat(order, languages)
        right = scores[np.arange(len(own)), own]
        ranks[turn] = (scores > right[:, None]).sum(1).reshape(sentences, languages)
    stored_in = (order[None, :] + np.arange(languages)[:, None]) % languages
    same = stored_in[:, :, None] == np.arange(languages)
    found = {"same language": ranks[same], "across languages": ranks[~same]}
    found |= {f"asked in {name}": ranks[:, :, i] for i, name in enumerate(LANGUAGES)}
    return {
        label: Recall(first=float((r < 1).mean()), five=float((r < 5).mean()), questions=r.size)
        for label, r in found.items()
    }
