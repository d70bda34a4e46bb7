"""The command line on PostgreSQL: founding, opening, and no password where it does not belong."""

import asyncio
import json

import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.model import UserScope
from ricordo.settings.secrets import shown_address
from ricordo.testing.naive import NOON
from ricordo.wiring.command import run
from tests.support.postgres import PASSWORD, Server
from tests.support.searching import prepared


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(words) == code
    told = capsys.readouterr()
    return told.out + told.err


def test_a_database_is_founded_and_used(
    first_postgres: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`init --postgres`, then the same commands as on a file."""
    name = first_postgres.empty()
    admin = first_postgres.admin(name)
    made = json.loads(said(capsys, "init", "--postgres", admin, "--role", "from_cli", "--json"))
    assert (made["created"], made["role"]) == (True, "from_cli")
    assert made["password"]
    again = said(capsys, "init", "--postgres", admin, "--role", "from_cli")
    assert "is there already" in again
    assert "password" not in again
    url = first_postgres.url(name, role="from_cli", password=made["password"])
    monkeypatch.setenv("RICORDO_DATABASE", url)
    said(capsys, "remember", "Works on Project Falcon", "--user", "alice", "--tenant", "acme")
    assert "Falcon" in said(capsys, "list", "--user", "alice", "--tenant", "acme")
    assert "Falcon" not in said(capsys, "list", "--user", "bob", "--tenant", "acme")
    for words in (["doctor"], ["doctor", "--json"], ["init"], ["init", "--json"]):
        run(words)
        told = capsys.readouterr()
        assert made["password"] not in told.out + told.err
    receipt = json.loads(
        said(capsys, "erase", "--user", "alice", "--tenant", "acme", "--yes", "--json")
    )
    assert (receipt["clean"], receipt["log_cleared"]) == (True, False)
    first_postgres.drop(name)


def test_the_role_s_password_comes_from_the_environment(
    first_postgres: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = first_postgres.empty()
    monkeypatch.setenv("RICORDO_ROLE_PASSWORD", PASSWORD)
    told = said(capsys, "init", "--postgres", first_postgres.admin(name), "--role", "from_env")
    assert PASSWORD not in told
    url = first_postgres.url(name, role="from_env")
    said(capsys, "list", "--db", url, "--user", "alice")
    first_postgres.drop(name)


def test_init_sees_to_approximate_indexes(
    vectors_postgres: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the setting: what is large gets one, and one that nobody needs any more goes."""
    name = vectors_postgres.ledger()
    url, admin = vectors_postgres.url(name), vectors_postgres.admin(name)
    said(capsys, "remember", "Works on Project Falcon", "--db", url, "--user", "alice")

    async def prepare() -> None:
        async with PostgresLedger.open(url, clock=lambda: NOON) as ledger:
            await prepared(ledger, UserScope(tenant="default", user="alice"))

    asyncio.run(prepare())
    for least, key, told in (("1", "indexed", "made"), ("9", "unindexed", "removed")):
        monkeypatch.setenv("RICORDO_SEARCH_APPROXIMATELY_FROM", least)
        made = json.loads(said(capsys, "init", "--postgres", admin, "--json"))
        assert (made["lacking"], len(made[key])) == (None, 1), told
    monkeypatch.setenv("RICORDO_SEARCH_APPROXIMATELY_FROM", "1")
    assert "indexes made: search_near_" in said(capsys, "init", "--postgres", admin)
    vectors_postgres.drop(name)


@pytest.mark.parametrize(
    ("words", "code", "match"),
    [
        (["list", "--db", "mysql://u:s3cret@h/d"], 2, "no known kind of ledger"),
        (["list", "--db", "postgresql://u:s3cret@h:x/d"], 2, "not a number"),
        (["list", "--db", "postgresql://u:s3cret@127.0.0.1:9/d"], 6, "cannot be reached"),
        (["init", "--postgres", "postgresql://u:s3cret@127.0.0.1:9/d"], 6, "cannot be reached"),
        (["init", "--postgres", "memory.db"], 2, "begins with postgresql://"),
    ],
)
def test_a_wrong_address_is_told_without_its_password(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, match: str
) -> None:
    told = said(capsys, *words, code=code)
    assert match in told
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/home/a:b@c/memory.db", "/home/a:b@c/memory.db"),
        ("postgresql://u:p@h/d", "postgresql://u:********@h/d"),
        ("postgresql://u:p@ss/w@h/d", "postgresql://u:********@h/d"),
        (
            "postgresql://u@h/d?password=p&sslmode=x",
            "postgresql://u@h/d?password=********&sslmode=x",
        ),
        ("postgresql://h/d", "postgresql://h/d"),
    ],
)
def test_an_address_is_shown_without_its_password(address: str, shown: str) -> None:
    assert shown_address(address) == shown
