"""Does a memory come back when it is needed? Evidence recall, without a model at read.

    python -m benchmarks.recall_quality [--quick] [--data DIR] [--json FILE]

DIR holds `locomo10.json` and `madial_en.jsonl`; without it only our own chats are asked. Every
turn is a memory of one user per conversation, with the thread and time of its origin; "alone" is
the same as stand-alone sentences, with the date in the text and no thread. Our own chats are
reported by part (see `benchmarks.talks.own`) and by whether the question is in the language of
the chat.

Vectors are kept in the user's cache folder, so that a second run needs no model. `--quick` asks
our held-out chats, a quarter of MADial and the first sessions of two conversations of LoCoMo.
"""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.recalling import add, all_systems
from benchmarks.report import Report
from benchmarks.talks import CATEGORIES, PARTS, Talk, alone, locomo, madial, own, shortened
from benchmarks.vectors import DEFAULT, KeptEmbedder

QUICK_TALKS, QUICK_THREADS, QUICK_QUESTIONS = 2, 5, 40

OWN = ("messenger", "assistant")
SETS = ("own", "madial", "locomo", "alone")
TOP = (1, 5, 10, 20, 50)


async def run(arguments: argparse.Namespace) -> Report:
    report = Report("recall_quality")
    embedder = KeptEmbedder(arguments.vectors)
    mem0 = not (arguments.quick or arguments.without_mem0)
    for name in OWN if "own" in arguments.only else ():
        for part in PARTS[-1:] if arguments.quick else PARTS:
            await _own(report, name, part, embedder, mem0=mem0)
    only = arguments.only if arguments.data is not None else ["own"]
    if "madial" in only:
        some = madial(arguments.data / "madial_en.jsonl")
        if arguments.quick:
            some = replace(some, questions=some.questions[:QUICK_QUESTIONS])
        add(report, "MADial", await all_systems([some], embedder, mem0=mem0))
    talks: list[Talk] = []
    if {"locomo", "alone"} & set(only):
        talks = _locomo(arguments.data / "locomo10.json", quick=arguments.quick)
    if "locomo" in only:
        await _by_category(report, "LoCoMo", talks, embedder, mem0=mem0)
    if "alone" in only:
        lone = [alone(talk) for talk in talks]
        await _by_category(report, "LoCoMo alone", lone, embedder, mem0=mem0)
    await embedder.close()
    return report


async def _own(report: Report, name: str, part: str, embedder: KeptEmbedder, *, mem0: bool) -> None:
    talk = own(name, part)
    done = await all_systems([talk], embedder, mem0=mem0)
    for category in dict.fromkeys(question.category for question in talk.questions):
        add(report, f"{name} {part}, {category}", done, category=category, top=TOP)


def _locomo(path: Path, *, quick: bool) -> list[Talk]:
    if not quick:
        return locomo(path)
    return [shortened(talk, threads=QUICK_THREADS) for talk in locomo(path, count=QUICK_TALKS)]


async def _by_category(
    report: Report, label: str, talks: Sequence[Talk], embedder: KeptEmbedder, *, mem0: bool
) -> None:
    done = await all_systems(talks, embedder, mem0=mem0)
    add(report, label, done)
    for category in CATEGORIES.values():
        add(report, f"{label}, {category}", done, category=category, top=(10,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--only", nargs="+", choices=SETS, default=SETS, help="sets to ask")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--vectors", type=Path, default=DEFAULT, help="file that keeps vectors")
    parser.add_argument("--without-mem0", action="store_true", help="measure no peer")
    arguments = parser.parse_args()
    asyncio.run(run(arguments)).finish(arguments.json)


if __name__ == "__main__":
    main()
