"""The servers of deploy/, started with real programs by what stands there, without containers."""

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Denied
from ricordo.settings import Settings
from ricordo.wiring.messaging import prepare
from tests.support import bolt
from tests.support.deploying import DEPLOY, OURS, SERVICES, shell_of
from tests.support.nats_server import NatsServer, nats_program
from tests.support.postgres import binaries, for_user, other_user
from tests.support.relaying import now
from tests.support.serving import free_port

CONFIG = (DEPLOY / "nats.conf").read_text("utf-8")


class ByItsFile(NatsServer):
    """A server that is started as its container is; ports and folders are others."""

    def __init__(self, folder: Path, *, password: str) -> None:
        super().__init__(folder)
        self.health = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "nats_password").write_text(password)
        (folder / "nats-server").write_text(f'#!/bin/sh\nexec "{nats_program()}" "$@"\n')
        (folder / "nats-server").chmod(0o755)

    def command(self) -> list[str]:
        config = CONFIG.replace("0.0.0.0:4222", f"127.0.0.1:{self.port}")
        config = config.replace(":8222", f":{self.health}").replace("/data", f"{self._folder}/data")
        (self._folder / "ricordo-nats.conf").write_text(config)
        script = shell_of("nats", _run_secrets=self._folder, _etc_ricordo=f"{self._folder}/ricordo")
        return ["env", f"PATH={self._folder}:{os.environ['PATH']}", "sh", "-c", script]


@pytest.mark.parametrize(
    "password", ["12k", "8-Nq_2x", "-begins-like-an-option", 'q"uo\\te $HOME `id`']
)
async def test_events_of_the_compose_file_work(password: str, tmp_path: Path) -> None:
    """With the settings of its worker; whatever a password looks like to the server's reader."""
    user = OURS["worker"]["environment"]["RICORDO_NATS_USER"]
    with ByItsFile(tmp_path / "nats", password=password) as server:
        known = {"nats_url": server.url, "nats_user": user, "nats_timeout": 20}
        async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as ledger:
            changes = await prepare(ledger, Settings(**known, nats_password=password))
            assert {change.act for change in changes} == {"create"}
            for wrong in (
                {"nats_password": f"{password}!"},
                {"nats_user": "other", "nats_password": password},
            ):
                with pytest.raises(Denied):
                    await prepare(ledger, Settings(**{**known, **wrong}))
        url = SERVICES["nats"]["healthcheck"]["test"][-1].replace("8222", str(server.health))
        answer: Any = await asyncio.to_thread(urllib.request.urlopen, url, timeout=60)
        with answer:
            assert answer.status == 200


def test_the_configuration_of_nats_is_accepted_as_it_is() -> None:
    """And without a password it is not: nobody starts an open server by forgetting it."""
    command = [nats_program(), "-t", "--config", DEPLOY / "nats.conf"]
    for given, code in (({"NATS_PASSWORD": '"secret"'}, 0), ({}, 1)):
        ended = subprocess.run(command, env=given, capture_output=True, timeout=60, check=False)
        assert ended.returncode == code, ended.stderr


PASSWORD = "not-a-secret"


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a name that is short enough for a socket's."""
    made = Path(tempfile.mkdtemp(prefix="ricordo-pg-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


def test_the_database_of_the_compose_file_asks_for_its_password(folder: Path) -> None:
    """Made by the arguments that stand there, and looked at by its own look at its health."""
    user = other_user(folder)
    where = for_user(binaries("pgserver"), folder, user=user)
    data, port = folder / "data", free_port()
    (folder / "password").write_text(PASSWORD)
    told = shlex.split(SERVICES["postgres"]["environment"]["POSTGRES_INITDB_ARGS"])
    made = [where / "initdb", "-D", data, "-U", "postgres", "--no-sync", *told]
    made.append(f"--pwfile={folder / 'password'}")
    subprocess.run(made, check=True, capture_output=True, user=user, cwd=folder)
    settings = ("listen_addresses=127.0.0.1", f"port={port}", "fsync=off")
    options = [part for setting in settings for part in ("-c", setting)]
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(
            [where / "postgres", "-D", data, "-k", folder, *options],
            stderr=log,
            user=user,
            cwd=folder,
        )
    try:
        _, tool, *check = SERVICES["postgres"]["healthcheck"]["test"]
        _until_healthy(running, [where / tool, *check, "--port", str(port)])
        _check_guarded(f"host=127.0.0.1 port={port} user=postgres dbname=postgres")
    finally:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)


def _until_healthy(running: subprocess.Popen[bytes], check: list[Any]) -> None:
    until = time.monotonic() + 60
    while subprocess.run(check, capture_output=True, check=False).returncode != 0:
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)


def _check_guarded(address: str) -> None:
    for password in ("", "another"):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(address, password=password)
    with psycopg.connect(address, password=PASSWORD) as connection:
        found = connection.execute(
            "select current_setting('data_checksums'), current_setting('server_encoding'), "
            "datcollate from pg_database where datname = 'postgres'"
        ).fetchone()
    assert found == ("on", "UTF8", "C.UTF-8")


def test_the_graph_server_s_settings_are_ones_that_the_tests_run_it_with() -> None:
    """In the same version; a name that it does not know would keep it from starting."""
    image = SERVICES["neo4j"]["image"]
    assert image == f"neo4j:{bolt.NEO4J}-community"
    run = {line.split("=")[0] for line in bolt.CONF.split()}
    for name in SERVICES["neo4j"]["environment"]:
        if name != "NEO4J_AUTH_FILE":
            plain = name.removeprefix("NEO4J_").replace("__", "-").replace("_", ".")
            assert plain.replace("-", "_") in run, name
