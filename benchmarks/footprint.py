"""What Ricordo costs before it does anything: install weight, import time, resident memory.

Prints a table and, with --json FILE, writes it. Import time is the median over fresh processes;
resident memory is what one fresh process holds at its most, up to that point.
"""

import argparse
import importlib.metadata as metadata
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.report import Report

IMPORTS = {
    "ricordo": "import ricordo",
    "ricordo.model": "import ricordo.model",
    "ricordo.hosts.maf": "import ricordo.hosts.maf",
    "agent_framework": "import agent_framework",
}

_OPEN = """
import asyncio, sys, tempfile
from ricordo import Principal, open_memory
async def main():
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(f"{folder}/memory.db") as memory:
            mine = memory.user(Principal(tenant="acme", user="alice"))
            if sys.argv[1:]:
                await mine.remember("Works on Project Falcon")
                await mine.recall("What is my project?", deadline=30)
            REPORT
asyncio.run(main())
"""
_REPORT = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
RESIDENT = {
    "an interpreter": (_REPORT, False),
    "import ricordo.hosts.maf": (f"import ricordo.hosts.maf\n{_REPORT}", False),
    "an opened memory": (_OPEN.replace("REPORT", _REPORT), False),
    "after remember and recall": (_OPEN.replace("REPORT", _REPORT), True),
}
"""What is run in a fresh process, and whether it also remembers and recalls."""


def installed_bytes(name: str) -> int:
    """Size on disk of everything that a distribution installed."""
    files = metadata.files(name) or []
    return sum(size(Path(str(file.locate()))) for file in files)


def size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def needed_by(name: str, seen: dict[str, None]) -> None:
    """Collect a distribution and, without extras, everything that it requires here."""
    if name in seen:
        return
    try:
        requirements = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return
    seen[name] = None
    for requirement in requirements:
        if "extra ==" not in requirement:
            needed_by(canonical(requirement), seen)


def canonical(requirement: str) -> str:
    name = requirement.split(";")[0]
    for mark in "[<>=!~ (":
        name = name.split(mark)[0]
    return name.strip().lower().replace("_", "-")


def import_seconds(statement: str) -> float:
    """Wall time of a fresh interpreter that runs the statement, less that of an empty one."""
    command = [sys.executable, "-c", statement]
    started = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - started


def resident_mb(program: str, works: bool) -> float:
    """The most that a fresh process had resident when the program said so."""
    command = [sys.executable, "-c", program, *(["works"] if works else [])]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    unit = 1 if sys.platform == "darwin" else 1_024
    return int(ended.stdout) * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    parser.add_argument("--quick", action="store_true", help="3 runs instead of 15")
    arguments = parser.parse_args()
    report = Report("footprint")
    packages: dict[str, None] = {}
    needed_by("ricordo", packages)
    weights = {name: installed_bytes(name) for name in packages}
    report.add("all of the core", "installed_mb", sum(weights.values()) / 1e6, "MB", n=len(weights))
    heaviest = sorted(weights.items(), key=lambda item: -item[1])[:8]
    for name, weight in heaviest:
        report.add(name, "installed_mb", weight / 1e6, "MB", n=1)
    runs = 3 if arguments.quick else 15
    empty = statistics.median(import_seconds("pass") for _ in range(runs))
    for name, statement in IMPORTS.items():
        taken = statistics.median(import_seconds(statement) for _ in range(runs))
        report.add(name, "import_ms", (taken - empty) * 1_000, "ms", n=runs)
    for name, (program, works) in RESIDENT.items():
        report.add(name, "resident_mb", resident_mb(program, works), "MB", n=1)
    report.finish(arguments.json)


if __name__ == "__main__":
    main()
