"""Memories in four languages, asked for in each of them: within a language and across.

    python -m benchmarks.recall_multilingual [--quick] [--json FILE]

Statements come from `benchmarks/data/multilingual.jsonl`, written for this. No weight was fitted on
its part "held-out"; decision 0006 says where it was looked at. "chats" are our messenger and
assistant chats, asked in another language than they are written in; nothing was tried on their
held-out part.
"""

import argparse
import asyncio
from pathlib import Path

from benchmarks.recalling import add, all_systems
from benchmarks.report import Report
from benchmarks.talks import PARTS, multilingual, own
from benchmarks.vectors import DEFAULT, KeptEmbedder

TOP = (1, 5, 10)
ACROSS = "across languages"


async def run(arguments: argparse.Namespace) -> Report:
    report = Report("recall_multilingual")
    embedder = KeptEmbedder(arguments.vectors)
    for part in PARTS[-1:] if arguments.quick else PARTS[1:]:
        done = await all_systems([multilingual(part)], embedder, mem0=not arguments.quick)
        for category in ("same language", ACROSS):
            add(report, f"{part}, {category}", done, category=category, top=TOP)
    for part in PARTS[-1:] if arguments.quick else PARTS:
        chats = [own(name, part) for name in ("messenger", "assistant")]
        done = await all_systems(chats, embedder, mem0=not arguments.quick)
        label = f"chats {part}, {ACROSS}"
        add(report, label, done, category=ACROSS, top=TOP)
    await embedder.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="the held-out part, no peer")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--vectors", type=Path, default=DEFAULT, help="file that keeps vectors")
    arguments = parser.parse_args()
    asyncio.run(run(arguments)).finish(arguments.json)


if __name__ == "__main__":
    main()
