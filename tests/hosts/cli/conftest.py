"""Runs the command line in this process, on a real file, with a small embedding model."""

import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Settings, open_memory
from ricordo.hosts.cli import main
from ricordo.hosts.cli.given import Given
from ricordo.testing.embedding import HashingEmbedder


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """What it printed, as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, str]:
        """The error that it printed, as JSON."""
        return json.loads(self.err.splitlines()[-1])["error"]


Cli = Callable[..., Ended]


def opener(settings: Settings, /) -> AbstractAsyncContextManager[Ricordo]:
    """The real memory of the settings, with instant vectors."""
    return open_memory(settings=settings, embedder=HashingEmbedder())


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings and no files but those of the test."""
    for name in [name for name in os.environ if name.startswith("RICORDO_")]:
        monkeypatch.delenv(name)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("RICORDO_DATABASE", str(tmp_path / "memory.db"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run one command: `cli("list", "--user", "alice", stdin=b"…")`."""

    def run(*argv: str, stdin: bytes = b"", **parts: Any) -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main(argv, given=Given(**{"opener": opener, **parts}))
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 6 or "--verbose" in argv
        return Ended(code, out, err)

    return run


def gone(memories: int, *, turns: int = 0, refusals: int = 0) -> dict[str, int]:
    """What `forget --json` prints."""
    return {"forgotten": memories, "turns": turns, "refusals": refusals}


def ids(items: Iterable[dict[str, Any]]) -> list[str]:
    """The ids of printed memories."""
    return [item["id"] for item in items]


@pytest.fixture(scope="session", autouse=True)
def ctrl_c_is_heard() -> None:
    """Whoever starts the tests in the background lets them inherit that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
