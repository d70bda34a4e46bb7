"""`ricordo migrate`: what a person sees, what a script gets, and no secret anywhere."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ricordo.wiring.command import movable
from tests.hosts.cli.conftest import Cli
from tests.support.postgres import Server


@pytest.fixture
def source(cli: Cli, tmp_path: Path) -> Path:
    for words in ("Works on Project Falcon", "Lives in Basel"):
        assert cli("remember", words, "--user", "alice").code == 0
    return tmp_path / "memory.db"


def test_a_file_goes_to_a_server_and_back(
    cli: Cli, source: Path, tmp_path: Path, first_postgres: Server
) -> None:
    """The same memories, for scripts and for people; the address shows no password."""
    name = first_postgres.ledger()
    admin = first_postgres.admin(name).replace("postgres@", "postgres:s3cret@")
    words = ("--from", str(source), "--to", admin)
    planned = cli("migrate", *words, "--dry-run", "--json", mover=movable)
    assert planned.json["tables"]["memories"] == 2
    assert planned.json["moved"] == 0
    assert planned.json["bytes"] > 0
    done = cli("migrate", *words, "--json", mover=movable)
    assert (done.code, done.json["sound"], done.json["differences"]) == (0, True, [])
    assert done.json["rows"] == planned.json["rows"]
    assert done.json["tables"]["memories"]["rows"] == 2
    again = cli("migrate", *words, mover=movable)
    assert again.code == 5
    assert "filled from it and verified before" in again.err
    target = tmp_path / "target.db"
    back = cli("migrate", "--from", admin, "--to", f"sqlite:///{target}", mover=movable)
    assert back.code == 0
    assert "2 memories" in back.out
    told = "".join(each.out + each.err for each in (planned, done, again, back))
    assert "s3cret" not in told
    before = cli("export", "--user", "alice")
    assert cli("export", "--user", "alice", "--db", str(target)).out == before.out
    first_postgres.give_back(name)


def test_a_dry_run_changes_nothing(cli: Cli, source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    told = cli("migrate", "--from", str(source), "--to", str(target), "--dry-run", mover=movable)
    assert told.code == 0
    assert "memories\t2" in told.out
    assert not target.exists()


def test_an_interrupted_move_is_told_by_every_command(
    cli: Cli, source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.db"
    words = ("migrate", "--from", str(source), "--to", str(target))
    assert cli(*words, mover=movable).code == 0
    with closing(sqlite3.connect(target)) as file, file:
        file.execute("insert into meta values ('moving', x'7b7d')")
    told = cli("list", "--user", "alice", "--db", str(target), "--json")
    assert told.code == 6
    assert "--restart" in told.error["message"]
    assert cli(*words, mover=movable).code == 7
    assert json.loads(cli(*words, "--restart", "--json", mover=movable).out)["sound"]
    assert cli("list", "--user", "alice", "--db", str(target)).code == 0


def test_what_differs_is_shown_and_the_exit_code_says_so(
    cli: Cli, source: Path, tmp_path: Path
) -> None:
    """A row that somebody changed in the target while it was filled."""
    target = tmp_path / "target.db"

    def meddling(address: str, /, *, fill: bool = False):
        return Meddling(movable(address, fill=fill)) if fill else movable(address)

    told = cli("migrate", "--from", str(source), "--to", str(target), mover=meddling)
    assert told.code == 1
    assert "memories\tid=m_" in told.out
    assert "changed" in told.out
    assert "Falcon" not in told.out
    assert "begin again with --restart" in told.out


class Meddling:
    """The target, in which a row changes as soon as it was moved."""

    def __init__(self, opening) -> None:
        self._opening = opening

    async def __aenter__(self):
        end = await self._opening.__aenter__()
        put = end.put

        async def meddle(table, rows, **more) -> None:
            if table.name == "memories":
                place = table.columns.index("recalls")
                rows = [(*row[:place], 99, *row[place + 1 :]) for row in rows[:1]] + rows[1:]
            await put(table, rows, **more)

        end.put = meddle
        return end

    async def __aexit__(self, *error: object) -> None:
        await self._opening.__aexit__(*error)


@pytest.mark.parametrize(
    ("from_", "to", "code", "match"),
    [
        ("nowhere.db", "target.db", 3, "there is no ledger"),
        ("memory.db", "postgresql://u:s3cret@127.0.0.1:9/d", 6, "cannot be reached"),
        ("postgresql://u:s3cret@127.0.0.1:9/d", "target.db", 6, "cannot be reached"),
        ("mysql://u:s3cret@h/d", "target.db", 2, "no known kind of ledger"),
        ("memory.db", "nowhere/target.db", 2, "does not exist"),
        ("memory.db", "memory.db", 5, "the one to be moved"),
    ],
)
def test_a_wrong_address_is_told(
    cli: Cli, source: Path, from_: str, to: str, code: int, match: str
) -> None:
    told = cli("migrate", "--from", from_, "--to", to, mover=movable)
    assert told.code == code
    assert match in told.err
    assert "s3cret" not in told.err


def test_only_the_operator_may(cli: Cli, source: Path, tmp_path: Path) -> None:
    """Whoever is one user among others may not look at the file as a whole."""
    (tmp_path / "grants.toml").write_text('[grants]\nplatform = "reader"\n')
    told = cli(
        "migrate", "--from", str(source), "--to", "t.db", "--config", "grants.toml", mover=movable
    )
    assert told.code == 4
