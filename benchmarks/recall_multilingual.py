"""Memories in four languages, asked for in each of them: within a language and across.

    python -m benchmarks.recall_multilingual [--quick] [--json FILE]

The set is `benchmarks/data/multilingual.jsonl`, written for this. No weight was fitted on
its part "held-out"; decision 0006 says where it was looked at.
"""

import argparse
import asyncio
from pathlib import Path

from benchmarks.recalling import add, all_systems
from benchmarks.report import Report
from benchmarks.talks import multilingual
from benchmarks.vectors import DEFAULT, KeptEmbedder

TOP = (1, 5, 10)


async def run(arguments: argparse.Namespace) -> Report:
    report = Report("recall_multilingual")
    embedder = KeptEmbedder(arguments.vectors)
    for part in ("held-out",) if arguments.quick else ("tune", "held-out"):
        done = await all_systems([multilingual(part)], embedder, mem0=not arguments.quick)
        for category in ("same language", "across languages"):
            add(report, f"{part}, {category}", done, category=category, top=TOP)
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
