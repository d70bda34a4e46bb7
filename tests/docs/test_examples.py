"""The examples run as they are, offline, and show what they promise."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
HELPERS = {"endpoint.py"}


def run(name: str, *arguments: str, folder: Path, timeout: float = 120) -> str:
    """What an example prints, in a process of its own with nothing configured."""
    kept = ("PATH", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV")
    environment = {key: os.environ[key] for key in kept if key in os.environ}
    finished = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=folder,
        check=False,
        env=environment | {"HOME": str(folder), "MEM0_DIR": str(folder)},
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def test_the_agent_knows_its_user_on_tuesday(tmp_path: Path) -> None:
    monday, tuesday = run("agent_with_memory.py", folder=tmp_path).split("tuesday:")
    assert "I know nothing" in monday
    assert "preference: Likes concise examples" in tuesday
    assert "fact: Works on Project Falcon" in tuesday


def test_preferences_stay_with_their_agent(tmp_path: Path) -> None:
    coder, planner, bob = run("two_agents.py", folder=tmp_path).strip().split("\n\n")
    assert "Likes concise examples" in coder
    assert "Works on Project Falcon" in coder
    assert "Likes concise examples" not in planner
    assert "Works on Project Falcon" in planner
    assert "I know nothing" in bob


def test_the_walk_goes_on_into_the_organization(tmp_path: Path) -> None:
    alice, bob = run("team_knowledge.py", folder=tmp_path).strip().split("\n\n")
    assert "service mesh" in alice
    assert "the user —works_on→ Project Falcon —uses→ microservices" in alice
    assert "I know nothing" in bob


@pytest.mark.parametrize("backend", ["ricordo", "files", "mem0"])
def test_the_memories_are_swapped_by_one_line(tmp_path: Path, backend: str) -> None:
    told = run("swap_backends.py", "--backend", backend, folder=tmp_path)
    assert told.startswith(f"{backend}: I remember:")
    assert "ork on Project Falcon" in told or "orks on Project Falcon" in told


@pytest.mark.parametrize(
    ("shape", "tester"),
    [("shared", 2), ("distributed", 1), ("hybrid", 2)],
)
def test_one_setting_decides_who_shares(tmp_path: Path, shape: str, tester: int) -> None:
    lines = run("three_shapes.py", "--shape", shape, folder=tmp_path).splitlines()
    heard = dict(line.split(": ") for line in lines)
    assert len(heard["planner"].split("; ")) == (3 if shape == "shared" else 1)
    assert len(heard["tester"].split("; ")) == (3 if shape == "shared" else tester)
    assert heard["coder"] == heard["tester"] or shape == "distributed"


def test_agents_in_two_processes_share_a_users_facts(tmp_path: Path) -> None:
    """The coder's preference is the coder's; the fact reaches the planner through the worker."""
    told = run("two_processes.py", folder=tmp_path, timeout=280)
    coder, learned, *planner = told.strip().split("\n\n")
    assert coder == "coder: I know nothing about that yet."
    assert learned.startswith("learned elsewhere: ")
    assert "Works on Project Falcon" in planner[0]
    assert "Likes concise examples" not in planner[0]


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text()
    for example in EXAMPLES.glob("*.py"):
        assert example.name in HELPERS or f'"{example.name}"' in tested
