"""Does a memory come back when it is needed? Evidence recall, without a model at read.

    python -m benchmarks.recall_quality [--quick] [--data DIR] [--json FILE]

DIR holds `locomo10.json` and `madial_en.jsonl`; without it only our own chats are asked. Every
turn is a memory of one user per conversation, with the thread and time of its origin; "alone" is
the same without thread, with the date in the text. Vectors are kept in a file of the temporary
folder.
"""

import argparse
import asyncio
from pathlib import Path

from benchmarks.recalling import add, all_systems
from benchmarks.report import Report
from benchmarks.talks import CATEGORIES, alone, locomo, madial, own
from benchmarks.vectors import DEFAULT, KeptEmbedder

QUICK = 1


async def run(arguments: argparse.Namespace) -> Report:
    report = Report("recall_quality")
    embedder = KeptEmbedder(arguments.vectors)
    mem0 = not (arguments.quick or arguments.without_mem0)
    for name in ("messenger", "assistant"):
        add(report, name, await all_systems([own(name)], embedder, mem0=mem0))
    if arguments.data is not None:
        some = [madial(arguments.data / "madial_en.jsonl")]
        add(report, "MADial", await all_systems(some, embedder, mem0=mem0))
        count = QUICK if arguments.quick else 10
        talks = locomo(arguments.data / "locomo10.json", count=count)
        done = await all_systems(talks, embedder, mem0=mem0)
        add(report, "LoCoMo", done)
        for category in CATEGORIES.values():
            add(report, f"LoCoMo {category}", done, category=category, top=(10,))
        if not arguments.quick:
            lone = await all_systems([alone(talk) for talk in talks], embedder, mem0=mem0)
            add(report, "LoCoMo alone", lone)
    await embedder.close()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="under a minute")
    parser.add_argument("--data", type=Path, help="folder of the public data sets")
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--vectors", type=Path, default=DEFAULT, help="file that keeps vectors")
    parser.add_argument("--without-mem0", action="store_true", help="measure no peer")
    arguments = parser.parse_args()
    asyncio.run(run(arguments)).finish(arguments.json)


if __name__ == "__main__":
    main()
