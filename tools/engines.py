"""Writes the matrix in docs/engines.md: which adapter keeps which port's promises, on which server.

It runs the conformance suites; each test tells what it runs on (`tests/support/engines.py`), so the
table holds what ran, and nothing else. With `RICORDO_TEST_NEO4J=1` Neo4j is in it.

    python -m tools.engines
"""

import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "engines.md"
SUITES = ("tests/conformance", "tests/engines")
BEGIN, END = "<!-- matrix -->", "<!-- end of the matrix -->"

Row = tuple[str, str, str]


class Collector:
    """A pytest plugin that counts outcomes by port, adapter and server."""

    def __init__(self) -> None:
        self.counts: dict[Row, Counter[str]] = defaultdict(Counter)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" and not report.failed:
            return
        told = dict(report.user_properties)
        if {"port", "adapter", "server"} <= told.keys():
            row = (str(told["port"]), str(told["adapter"]), str(told["server"]))
            self.counts[row][report.outcome] += 1


def table(counts: dict[Row, Counter[str]]) -> str:
    """The matrix in Markdown."""
    lines = ["| port | adapter | server | promises kept |", "|---|---|---|---|"]
    for (port, adapter, server), outcomes in sorted(counts.items()):
        total = sum(outcomes.values())
        kept = outcomes["passed"]
        lines.append(f"| `{port}` | {adapter} | {server} | {kept} of {total} tests |")
    return "\n".join(lines)


def main() -> int:
    collector = Collector()
    code = pytest.main(["-q", *SUITES, *sys.argv[1:]], plugins=[collector])
    if not collector.counts:
        return int(code) or 1
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    matrix = f"{BEGIN}\n\n{table(collector.counts)}\n\n{END}"
    PAGE.write_text(before + matrix + after, encoding="utf-8")
    return int(code)


if __name__ == "__main__":
    raise SystemExit(main())
