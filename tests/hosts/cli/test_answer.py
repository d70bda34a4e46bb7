"""`ricordo answer` and `ricordo worker` as processes of their own, joined by a NATS server."""

import asyncio
import json
import signal
import subprocess
from pathlib import Path

import pytest
from nats.errors import NoRespondersError

from tests.hosts.cli.conftest import Cli
from tests.hosts.cli.test_process import prepare, started
from tests.support.asking import AUDIENCE, ISSUER, SECRET, Asker, asking, token
from tests.support.fake_model import FakeModel
from tests.support.nats_server import NatsServer
from tests.support.workers import PATIENCE, collecting, until, worker_settings

TURN = {
    "thread_id": "t1",
    "run_id": "r1",
    "agent": "coder",
    "messages": [{"role": "user", "text": "I collect stamps."}],
}
TOKENS = {
    "RICORDO_TOKEN_SECRET": SECRET,
    "RICORDO_TOKEN_ISSUER": ISSUER,
    "RICORDO_TOKEN_AUDIENCE": AUDIENCE,
}


def test_what_one_process_observes_another_learns_and_a_third_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NatsServer(tmp_path / "nats") as server, FakeModel(collecting) as model:
        environment = {
            "RICORDO_NATS_URL": server.url,
            "RICORDO_BATCH_WAIT": "0",
            "RICORDO_MODEL": "fake",
            "RICORDO_MODEL_BASE_URL": model.base_url,
            "RICORDO_RECALL_DEADLINE": "30",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        prepare("init")
        prepare("events", "init")
        with started("answer", **TOKENS) as answer, started("worker", "--json") as worker:
            said(answer, b"answering")
            said(worker, b"working")
            asyncio.run(observed_and_learned(server.url))
            for process in (answer, worker):
                process.send_signal(signal.SIGTERM)
            out, err = worker.communicate(timeout=PATIENCE)
            assert (worker.returncode, json.loads(out)) == (0, {"stored": 1, "waiting": 0}), err
            out, err = answer.communicate(timeout=PATIENCE)
            assert (answer.returncode, out, err) == (0, b"", b"")


def test_without_tokens_nothing_is_answered(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from ricordo.wiring.command import answerer

    cli("init")
    ended = cli("answer", answerer=answerer)
    assert ended.code == 2
    assert "token_issuer" in ended.err
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    ended = cli("answer", answerer=answerer)
    assert ended.code == 2
    assert "nats_url" in ended.err
    assert SECRET not in cli("doctor").out


async def observed_and_learned(url: str) -> None:
    async with asking(worker_settings(url)) as ask:
        await until(lambda: listened_to(ask))
        assert (await ask("observe", TURN))["result"] == {"fresh": True}
        await until(lambda: knows(ask))


async def listened_to(ask: Asker) -> bool:
    """Whether the process has told the server which subjects it answers; at first it says hello."""
    try:
        await ask("recall", {"question": "Who am I?"})
    except NoRespondersError:
        return False
    return True


def said(process: subprocess.Popen[bytes], word: bytes) -> None:
    assert process.stderr is not None
    line = process.stderr.readline()
    assert word in line, line


async def knows(ask: Asker) -> bool:
    found = await ask("recall", {"question": "What do I collect?"}, bearer=token())
    return [item["text"] for item in found["result"]["items"]] == ["Collects stamps"]
