"""The committed results of benchmarks have one shape, so that anything can read them."""

import json
import re
from datetime import date
from pathlib import Path

import pytest

RESULTS = Path(__file__).parents[2] / "docs" / "benchmarks" / "results"
FILES = sorted(RESULTS.glob("*.json"))


def test_there_are_some() -> None:
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_result_has_the_shape(path: Path) -> None:
    record = json.loads(path.read_text("utf-8"))
    assert {"name", "date", "machine", "versions", "results"} <= record.keys()
    assert path.stem.split("-")[0] == record["name"]
    date.fromisoformat(record["date"])
    assert record["versions"]["python"]
    for row in record["results"]:
        assert row.keys() == {"system", "metric", "value", "unit", "n"}
        assert re.fullmatch(r"[a-z][a-z0-9_]*(@\d+)?", row["metric"]), row["metric"]
        assert isinstance(row["value"], int | float)
        assert row["n"] >= 1


@pytest.mark.parametrize("path", sorted(RESULTS.parent.glob("*.png")), ids=lambda path: path.name)
def test_every_plot_is_shown(path: Path) -> None:
    page = (RESULTS.parents[1] / "benchmarks.md").read_text("utf-8")
    assert f"benchmarks/{path.name})" in page
