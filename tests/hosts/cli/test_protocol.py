"""`ricordo protocol run` as a process of its own, beside a platform."""

import asyncio
import json
import signal
from contextlib import suppress
from pathlib import Path

import pytest
from nats.js.errors import NotFoundError

from tests.hosts.cli.conftest import Cli
from tests.hosts.cli.test_answer import said
from tests.hosts.cli.test_process import prepare, started
from tests.support.agent_platform import PATIENCE, Platform, person
from tests.support.nats_server import NatsServer


def test_a_platform_is_served_until_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NatsServer(tmp_path / "nats") as server:
        environment = {
            "RICORDO_NATS_URL": server.url,
            "RICORDO_PROTOCOL": "swiss-ai-agent",
            "RICORDO_PROTOCOL_TRUST": "*=acme",
            "RICORDO_PROTOCOL_NAMESPACES": "",
            "RICORDO_PROTOCOL_DEADLINE": "30",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        prepare("init")
        prepare("events", "init")
        prepare("remember", "I work on Falcon", "--tenant", "acme", "--user", "alice")
        with started("protocol", "run", "--json") as process:
            said(process, b"serving")
            answer = asyncio.run(asked_and_told(server.url))
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
    assert "I work on Falcon" in json.dumps(answer["user_block"])
    assert process.returncode == 0, err
    counts = json.loads(out)
    assert (counts["stored"], counts["answered"], counts["refused"]) == (1, 1, 0)


async def asked_and_told(url: str) -> dict[str, list[object]]:
    async with Platform(url) as platform:
        await platform.store("I like tea")
        found = await platform.recall("Falcon", user=person())
        async with asyncio.timeout(PATIENCE):
            while True:
                with suppress(NotFoundError):  # it has yet to notice the platform's stream
                    info = await platform.js.consumer_info(platform.stream, "ricordo_store")
                    if not info.num_pending and not info.num_ack_pending:
                        return found
                await asyncio.sleep(0.02)


def test_without_a_protocol_or_streams_it_says_what_to_do(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ricordo.wiring.command import served

    cli("init")
    ended = cli("protocol", "run", server=served)
    assert (ended.code, "set protocol" in ended.err) == (2, True)
    monkeypatch.setenv("RICORDO_PROTOCOL", "swiss-ai-agent")
    ended = cli("protocol", "run", server=served)
    assert (ended.code, "nats_url" in ended.err) == (2, True)
    with NatsServer(tmp_path / "nats") as server:
        monkeypatch.setenv("RICORDO_NATS_URL", server.url)
        ended = cli("protocol", "run", server=served)
    assert (ended.code, "ricordo events init" in ended.err) == (3, True)
