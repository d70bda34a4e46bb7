"""At a terminal: tables, colours, a progress bar, and questions before what cannot be undone."""

import os
import pty
import re
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.hosts.cli.test_process import COMMAND, prepare, run


def at_terminal(*argv: str, types: bytes | None = b"", after: bytes = b"") -> tuple[int, str]:
    """Run a command in a pseudo-terminal; once `after` appeared, type, or (None) press Ctrl-C."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    with subprocess.Popen(
        [*COMMAND, *argv], stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    ) as process:
        os.close(theirs)
        watch = threading.Timer(60, process.kill)
        watch.start()
        seen = b""
        while chunk := _read(ours):
            seen += chunk
            if types is None and after in seen:
                process.send_signal(signal.SIGINT)
                types = b""
            elif types and after in seen:
                os.write(ours, types)
                types = b""
        watch.cancel()
    os.close(ours)
    return process.returncode, seen.decode()


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65_536)
    except OSError:  # how Linux tells that the other side of a pseudo-terminal is closed
        return b""


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def test_a_list_is_a_table_and_a_text_is_no_markup() -> None:
    prepare("remember", "--user", "alice", "Likes [red]tea[/red] \x1b[31m")
    code, shown = at_terminal("list", "--user", "alice")
    assert code == 0
    assert "\x1b[1m" in shown
    assert re.search(r"id +kind +status +agent +text", plain(shown))
    assert "Likes [red]tea[/red] \\u001b[31m" in plain(shown)


@pytest.mark.parametrize(("answer", "code", "left"), [(b"\n", 1, 1), (b"y\n", 0, 0)])
def test_forgetting_asks_first(answer: bytes, code: int, left: int) -> None:
    prepare("remember", "--user", "alice", "Likes tea")
    ended = at_terminal("forget", "--user", "alice", "--all", types=answer, after=b"[y/N]")
    assert ended[0] == code
    assert ("Nothing was changed." in ended[1]) == (code == 1)
    assert len(run("list", "--user", "alice").stdout.splitlines()) == left


def test_ctrl_c_at_a_question_is_130_at_once() -> None:
    prepare("remember", "--user", "alice", "Likes tea")
    code, shown = at_terminal("erase", "--user", "alice", types=None, after=b"[y/N]")
    assert code == 130
    assert "Traceback" not in shown
    assert len(run("list", "--user", "alice").stdout.splitlines()) == 1


def test_an_import_shows_how_far_it_has_come(tmp_path: Path) -> None:
    lines = "\n".join(f'{{"text": "Fact number {n}"}}' for n in range(40))
    (tmp_path / "facts.jsonl").write_text(lines)
    code, shown = at_terminal("import", "facts.jsonl", "--user", "alice")
    assert code == 0
    assert re.search(r"importing .*40/40", plain(shown))
