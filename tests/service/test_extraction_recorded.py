"""The benchmark `extraction` repeats offline, from completions of a real model."""

import argparse
import json
from pathlib import Path

import pytest
from benchmarks.extraction import RECORDED, Stale, run

SOME = ("en-01", "de-02", "fr-05", "it-04")


def _arguments(**changed: object) -> argparse.Namespace:
    given = {
        "base_url": None,
        "recorded": RECORDED,
        "record": None,
        "timeout": 60.0,
        "part": None,
        "only": SOME,
        "faults": False,
    }
    return argparse.Namespace(**{**given, **changed})


async def test_a_recorded_run_scores_the_model_by_name() -> None:
    report = await run(_arguments())
    systems = {result.system for result in report.results}
    assert all(system.startswith("recorded:Qwen2.5-Coder-1.5B-Instruct") for system in systems)
    figures = {(r.system.partition(", ")[2], r.metric): r for r in report.results}
    assert figures["tuning", "grounded"].value == 100
    assert figures["tuning, secret", "forbidden_stored"].value == 0
    assert figures["tuning", "unreadable"].value == 0
    assert figures["tuning, de", "recall_facts"].n == 1


async def test_recordings_that_do_not_match_any_more_are_said_to_be_stale(tmp_path: Path) -> None:
    rows = json.loads(RECORDED.read_text(encoding="utf-8"))
    changed = tmp_path / "old.json"
    changed.write_text(json.dumps([{**row, "digest": "0" * 32} for row in rows]))
    with pytest.raises(Stale, match="Record anew"):
        await run(_arguments(recorded=changed, only=SOME[:1]))
