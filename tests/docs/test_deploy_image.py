"""The image, by its Dockerfile, and the compose file, by its schema: read, for Docker cannot run
here."""

import re
import shlex
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from tests.support.deploying import COMPOSE, DEPLOY, OURS, ROOT, SERVICES, WRAPPER, understood

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
IMAGE = (DEPLOY / "Dockerfile").read_text("utf-8")


def _steps() -> list[tuple[str, str]]:
    """The Dockerfile's instructions with what they say, in order."""
    lines = re.sub(r"^\s*#.*\n", "", IMAGE, flags=re.MULTILINE).replace("\\\n", " ").splitlines()
    return [
        (word, rest.strip()) for word, _, rest in (each.partition(" ") for each in lines if each)
    ]


STEPS = _steps()


def test_the_compose_file_is_one() -> None:
    """By the schema of compose files, as the kept checker carries it."""
    subprocess.run(
        [
            Path(sys.executable).with_name("check-jsonschema"),
            "--builtin-schema=vendor.compose-spec",
            DEPLOY / "compose.yaml",
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )


def test_what_a_service_names_is_there() -> None:
    """Volumes, networks, files, and services that it waits for, with a health to wait for."""
    used: dict[str, set[str]] = {"volumes": set(), "networks": set(), "configs": set()}
    for name, service in SERVICES.items():
        used["volumes"] |= {each.split(":")[0] for each in service.get("volumes", ())}
        used["networks"] |= set(service["networks"])
        used["configs"] |= {each["source"] for each in service.get("configs", ())}
        for other, until in service.get("depends_on", {}).items():
            assert until["condition"] != "service_healthy" or SERVICES[other]["healthcheck"], name
            assert "profiles" not in SERVICES[other], f"{name} waits for what may not run"
    for sort, names in used.items():
        assert names == set(COMPOSE[sort]), sort
    for each in COMPOSE["configs"].values():
        assert (DEPLOY / each["file"]).is_file()


def test_no_secret_is_in_clear() -> None:
    """What is called so is the name of a file of a secret."""
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|TOKEN|KEY|SECRET|AUTH|CREDENTIAL|HISTORY_URL", name):
                assert name.endswith("_FILE"), name
                assert value.startswith("/run/secrets/"), name
            assert not re.search(r"://[^/@\s]*:[^@\s]*@", str(value)), name


@pytest.mark.parametrize("path", ["deploy/secrets/nats_password", "deploy/.env"])
def test_what_is_secret_is_neither_committed_nor_sent_to_docker(path: str) -> None:
    """Git passes over it, and so does whoever builds an image from the repository's root."""
    kept = (ROOT / ".gitignore").read_text("utf-8").splitlines()
    assert any(path.startswith(each) for each in kept if each)
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in sent
    allowed = [each[1:] for each in sent if each.startswith("!")]
    assert not any(fnmatch(path, each) or path.startswith(f"{each}/") for each in allowed)


def test_what_the_image_copies_is_there_and_is_sent() -> None:
    sent = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    copied: list[str] = []
    for word, rest in STEPS:
        if word == "COPY" and "--from=" not in rest:
            copied += [each for each in rest.split()[:-1] if not each.startswith("--")]
    assert {"src", "pyproject.toml", "requirements.lock"} <= set(copied)
    for path in copied:
        assert (ROOT / path).exists(), path
        assert f"!{path}" in sent, path
    # What the package's metadata is built from.
    assert {PROJECT["readme"], *PROJECT["license-files"]} <= set(copied)


def test_the_image_installs_what_its_services_need() -> None:
    """Extras that exist; for each engine in the compose file, its own; versions from the lock."""
    installs = [rest for word, rest in STEPS if word == "RUN" and "pip install" in rest]
    [ours] = [each for each in installs if "[" in each]
    assert "--constraint requirements.lock" in ours
    [extras] = re.findall(r"'\.\[([\w,]+)\]'", ours)
    named = set(extras.split(","))
    assert named <= set(PROJECT["optional-dependencies"])
    told = str(OURS["worker"]["environment"])
    for sign, extra in (
        ("postgresql://", "postgres"),
        ("HISTORY_URL", "redis"),
        ("GRAPH_VIEW_URL", "neo4j"),
        ("NATS_URL", "nats"),
    ):
        assert sign in told
        assert extra in named
    [tool] = re.findall(r"uv==(\S+)", " ".join(installs))
    assert f"uv=={tool} " in (ROOT / "requirements.lock").read_text("utf-8")


def test_the_image_is_of_this_version_and_runs_as_nobody_of_rights() -> None:
    assert {each["image"] for each in OURS.values()} == {f"ricordo:{PROJECT['version']}"}
    assert f"--tag ricordo:{PROJECT['version']}" in IMAGE
    stages = [number for number, (word, _) in enumerate(STEPS) if word == "FROM"]
    last = STEPS[stages[-1] :]
    [user] = [rest for word, rest in last if word == "USER"]
    number = user.split(":")[0]
    assert int(number) > 0
    assert {each["user"] for each in OURS.values()} == {user}
    assert any(word == "RUN" and f"--uid {number} " in rest for word, rest in last)
    after = [word for word, _ in last][[word for word, _ in last].index("USER") + 1 :]
    assert not {"RUN", "COPY", "ADD", "USER"} & set(after), "who comes later owns what is made"


def test_the_image_begins_with_what_it_has() -> None:
    """The script that reads secrets, executable, in the path; then a command of ours."""
    said = dict(STEPS)
    [entry] = shlex.split(said["ENTRYPOINT"].strip("[]"))
    assert entry == WRAPPER.name
    assert f"COPY --chmod=755 deploy/{entry} /usr/local/bin/{entry}" in IMAGE
    understood(shlex.split(said["CMD"].strip("[]").replace(",", " ")))
    assert said["ENV"].startswith("PATH=/opt/ricordo/bin:")
    assert WRAPPER.read_text("utf-8").startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", WRAPPER], check=True)


def test_every_script_in_the_compose_file_is_one() -> None:
    """As a shell reads it; where nothing runs it here, this much at least."""
    for name, service in SERVICES.items():
        check = service.get("healthcheck", {"test": ["NONE"]})["test"]
        scripts = [check[1]] if check[0] == "CMD-SHELL" else []
        scripts += service["command"][2:] if service.get("command", [""])[0] == "sh" else []
        for script in scripts:
            read = subprocess.run(
                ["sh", "-n"], input=script.replace("$$", "$"), text=True, capture_output=True
            )
            assert read.returncode == 0, (name, read.stderr)
