"""The how-to of NATS with passwords, keys and TLS does what it says, at a real server."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import nats
import pytest

import ricordo.adapters.nats as adapter
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.settings import load_settings
from ricordo.wire import permissions_of, shared
from ricordo.wiring.messaging import make_connection
from tests.docs.test_docs import ROOT, blocks, run
from tests.support.nats_operator import Operator
from tests.support.nats_server import NatsServer
from tests.support.relaying import now

PAGE = ROOT / "docs" / "how-to" / "secure-nats.md"
SECRET = "s3cr3t-of-the-page"


class Section:
    """One of the page's, with its blocks: as they stand, but for secrets, places and the port."""

    def __init__(self, title: str, folder: Path) -> None:
        _, _, after = PAGE.read_text("utf-8").partition(f"\n## {title}\n")
        text = after.partition("\n## ")[0]
        self._folder = folder
        (folder / "section.md").write_text(text)

    def block(self, language: str) -> str:
        [found] = blocks(self._folder / "section.md", language)
        found = re.sub(r"/etc/(nats|ricordo)/", f"{self._folder}/", found)
        return found.replace('"…"', f'"{SECRET}"')

    def run(self) -> str:
        """Its commands, in a shell in the folder, where Ricordo is installed; what they print."""
        ended = subprocess.run(
            ["sh", "-e", "-c", self.block("sh")],
            cwd=self._folder,
            env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return ended.stdout

    def told(self, server: NatsServer) -> Path:
        """Its settings, in a file."""
        file = self._folder / "ricordo.toml"
        settings = self.block("toml")
        assert "localhost:4222" in settings
        file.write_text(settings.replace("localhost:4222", f"localhost:{server.port}"))
        return file


def _check_closed(folder: Path, *, keys: int) -> None:
    """Nobody but their owner may read keys."""
    found = [*folder.glob("*.key"), *folder.glob("*.nk")]
    assert len(found) == keys
    assert not any(file.stat().st_mode & 0o077 for file in found)


async def comes_in(config: Path) -> None:
    connection = make_connection(load_settings(config=config).settings)
    try:
        client = await connection.client()
        await client.flush(timeout=60)
    finally:
        await connection.close()


@pytest.mark.parametrize("title", ["A password", "A token"])
async def test_a_secret_opens(title: str, tmp_path: Path) -> None:
    section = Section(title, tmp_path)
    with NatsServer(tmp_path / "server", config=section.block("text")) as server:
        await comes_in(section.told(server))


async def test_a_key_is_made_and_opens(tmp_path: Path) -> None:
    """Nobody but its owner may read it."""
    section = Section("A key", tmp_path)
    public = section.run().strip()
    _check_closed(tmp_path, keys=1)
    config = section.block("text").replace("U…", public)
    with NatsServer(tmp_path / "server", config=config) as server:
        await comes_in(section.told(server))


async def test_credentials_open(tmp_path: Path) -> None:
    section = Section("Credentials", tmp_path)
    operator = Operator()
    operator.account.credentials(tmp_path / "ricordo.creds")
    with NatsServer(tmp_path / "server", config=operator.config) as server:
        await comes_in(section.told(server))


async def test_certificates_are_made_and_open(tmp_path: Path) -> None:
    """With the command that the page begins with; the settings of a password are beside."""
    users = Section("A password", tmp_path)
    config = users.block("text")
    more = "\n".join(line for line in users.block("toml").splitlines() if "nats_url" not in line)
    section = Section("Encrypt", tmp_path)
    section.run()
    _check_closed(tmp_path, keys=3)
    [check, *_] = blocks(PAGE, "sh")
    with NatsServer(tmp_path / "server", config=config + section.block("text")) as server:
        file = section.told(server)
        file.write_text(f"{file.read_text()}{more}\n")
        async with SqliteLedger.open(tmp_path / "memory.db", clock=now):
            pass
        where = {"RICORDO_DATABASE": str(tmp_path / "memory.db")}
        said = run(*shlex.split(check), folder=tmp_path, **where)
    assert "create" in said
    assert SECRET not in said


async def test_accounts_are_as_they_are_printed(tmp_path: Path) -> None:
    """Every line that the command prints is in the page's configuration, which a server takes."""
    section = Section("Keep tenants apart", tmp_path)
    config = section.block("text")
    allowed = permissions_of(
        "acme", prefix="ricordo", stream="ricordo_events", consumers=["billing"], asking=True
    )
    kept = {line.strip() for line in config.splitlines()}
    printed = [line.strip() for line in shared(allowed, account="ACME", own="RICORDO").splitlines()]
    assert {line for line in printed if line.startswith("{")} <= kept
    with NatsServer(tmp_path / "server", config=config) as server:
        for user in ("ricordo", "acme"):
            client = await nats.connect(server.url, user=user, password=SECRET)
            await client.close()


def test_what_is_said_is_what_is_said() -> None:
    """The page's table, by the words of the program."""
    said = "".join(each.read_text("utf-8") for each in Path(adapter.__path__[0]).glob("*.py"))
    said = re.sub(r'"\s*f?"', "", said)
    table = PAGE.read_text("utf-8").partition("## When it is refused")[2]
    rows = re.findall(r"^\| (?!it is said|-)(.+?) \|", table, re.MULTILINE)
    assert len(rows) == 12
    for row in rows:
        for part in row.split("…"):
            assert part.strip(" ;,") in said, row
