"""How well memories come back: ours by its own recall, words alone, meaning alone, and mem0."""

import asyncio
import importlib.util
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.talks import Question, Talk
from benchmarks.vectors import KeptEmbedder
from ricordo import Origin, Principal, open_memory
from ricordo.adapters.words import SnowballAnalyzer

TOP = (5, 10, 20, 50)
AT_ONCE = 64

Ranked = Mapping[str, list[list[str]]]
"""By system, for each question the ids of lines, best first."""


async def ours(talk: Talk, embedder: KeptEmbedder, folder: Path) -> list[list[str]]:
    """Remember every line as it was said and ask the product."""
    principal = Principal(tenant="benchmark", user=talk.name)
    async with open_memory(folder / f"{talk.name}.db", embedder=embedder) as memory:
        user = memory.user(principal)
        line_of: dict[str, str] = {}
        await embedder.documents([line.text for line in talk.lines])
        for start in range(0, len(talk.lines), AT_ONCE):
            some = talk.lines[start : start + AT_ONCE]
            stored = await asyncio.gather(
                *(
                    user.remember(line.text, origin=Origin(at=line.at, thread_id=line.thread))
                    for line in some
                )
            )
            for line, each in zip(some, stored, strict=True):
                line_of.setdefault(each.memory.id, line.id)
        ranked: list[list[str]] = []
        for question in talk.questions:
            found = await user.recall(
                question.text, limit=TOP[-1], tokens=10**9, deadline=60.0, organization=False
            )
            if found.degraded:
                raise SystemExit(f"degraded: {found.degraded}")
            ranked.append([line_of[item.memory.id] for item in found.items])
        return ranked


async def by_meaning(talk: Talk, embedder: KeptEmbedder) -> list[list[str]]:
    """The same vectors, cosine alone."""
    said = _array(await embedder.documents([line.text for line in talk.lines]))
    asked = _array([await embedder.question(question.text) for question in talk.questions])
    return [_ids(talk, row) for row in asked @ said.T]


def by_words(talk: Talk) -> list[list[str]]:
    """BM25 alone, with the product's analyzer."""
    analyzer = SnowballAnalyzer()
    terms = [analyzer.terms(line.text) for line in talk.lines]
    lengths = np.array([length for _, length in terms], float)
    norms = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
    ranked: list[list[str]] = []
    for question in talk.questions:
        scores = np.zeros(len(terms))
        for word in analyzer.words(question.text):
            counts = np.array([max(held.get(term, 0) for term in word) for held, _ in terms], float)
            holding = np.count_nonzero(counts)
            rarity = math.log1p((len(terms) - holding + 0.5) / (holding + 0.5))
            scores += rarity * counts * 2.2 / (counts + norms)
        ranked.append(_ids(talk, scores))
    return ranked


def has_mem0() -> bool:
    return importlib.util.find_spec("mem0") is not None


async def all_systems(
    talks: Sequence[Talk], embedder: KeptEmbedder, *, mem0: bool
) -> list[tuple[Talk, Ranked]]:
    """Every talk by every system."""
    done: list[tuple[Talk, Ranked]] = []
    for talk in talks:
        with tempfile.TemporaryDirectory() as folder:
            ranked = {
                "ricordo": await ours(talk, embedder, Path(folder)),
                "meaning alone": await by_meaning(talk, embedder),
                "words alone (BM25)": by_words(talk),
            }
            if mem0 and has_mem0():
                from benchmarks.mem0_search import by_mem0

                ranked["mem0"] = await by_mem0(talk, embedder, Path(folder))
        done.append((talk, ranked))
    return done


def add(
    report: Report,
    label: str,
    done: Sequence[tuple[Talk, Ranked]],
    *,
    top: Sequence[int] = TOP,
    category: str | None = None,
) -> None:
    """The share of a question's evidence among the first k, mean over questions."""
    for system in done[0][1]:
        asked = [
            (question, ids)
            for talk, ranked in done
            for question, ids in zip(talk.questions, ranked[system], strict=True)
            if category is None or question.category == category
        ]
        for k in top:
            value = 100 * float(np.mean([_share(question, ids[:k]) for question, ids in asked]))
            report.add(f"{system}: {label}", f"recall@{k}", value, "%", n=len(asked))


def _share(question: Question, ids: Sequence[str]) -> float:
    return len(question.evidence & set(ids)) / len(question.evidence)


def _ids(talk: Talk, scores: np.ndarray) -> list[str]:
    order = np.argsort(-scores, kind="stable")[: TOP[-1]]
    return [talk.lines[place].id for place in order]


def _array(vectors: Sequence[bytes]) -> np.ndarray:
    return np.stack([np.frombuffer(vector, "<f4") for vector in vectors])
