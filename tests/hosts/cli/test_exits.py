"""Exit codes: one table, total over the error tree; no traceback for a user's mistake."""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Settings, errors
from ricordo.errors import RicordoError
from ricordo.hosts.cli import main
from ricordo.hosts.cli.exits import EXIT_CODES, exit_code
from ricordo.hosts.cli.given import Given
from tests.hosts.cli.conftest import Cli, opener


def _tree(root: type[RicordoError]) -> Iterator[type[RicordoError]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


def test_the_table_covers_every_branch_of_the_tree() -> None:
    branches = RicordoError.__subclasses__()
    assert set(EXIT_CODES) == {RicordoError, *branches}
    codes = [EXIT_CODES[branch] for branch in branches]
    assert len(set(codes)) == len(codes)
    assert not {0, 1, 130} & set(codes)


@pytest.mark.parametrize("error", list(_tree(RicordoError)), ids=lambda e: e.__name__)
def test_every_error_has_the_code_of_its_branch(error: type[RicordoError]) -> None:
    raised = error("x", rule="r") if error is errors.Refused else error("x")
    branch = next((b for b in RicordoError.__subclasses__() if issubclass(error, b)), RicordoError)
    assert exit_code(raised) == EXIT_CODES[branch]


def _failing(error: BaseException) -> Any:
    @asynccontextmanager
    async def open_and_fail(settings: Settings, /):
        raise error
        yield

    return open_and_fail


@pytest.mark.parametrize("error", list(_tree(RicordoError)), ids=lambda e: e.__name__)
def test_an_error_ends_the_command_with_its_code_and_one_line(
    error: type[RicordoError], cli: Cli
) -> None:
    raised = error("it broke", rule="r") if error is errors.Refused else error("it broke")
    ended = cli("init", opener=_failing(raised))
    assert (ended.code, ended.out, ended.err) == (exit_code(raised), "", "ricordo: it broke\n")
    as_json = cli("init", "--json", opener=_failing(raised))
    assert as_json.code == exit_code(raised)
    assert as_json.error == {"type": error.__name__, "message": "it broke"}


def test_an_unexpected_error_is_one_line_and_with_verbose_a_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    fail = _failing(ZeroDivisionError("by zero"))
    assert main(["init"], given=Given(opener=fail)) == 1
    assert capfd.readouterr().err == (
        "ricordo: unexpected ZeroDivisionError: by zero; --verbose shows where\n"
    )
    assert main(["init", "--verbose"], given=Given(opener=fail)) == 1
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    "argv",
    [
        ["remember"],
        ["remember", "--kind", "opinion", "x"],
        ["remember", "x", "--importance", "7"],
        ["nonsense"],
        ["list", "--nonsense"],
        ["list", "--limit", "many"],
        ["recall", "x", "--only", "both"],
    ],
)
def test_a_wrong_command_line_is_code_2_and_brief(argv: list[str], cli: Cli) -> None:
    ended = cli(*argv)
    assert ended.code == 2
    assert ended.err.startswith("ricordo: ")
    as_json = cli(*argv, "--json")
    assert as_json.code == 2
    assert as_json.error["type"] == "Usage"


def test_an_option_after_two_dashes_is_text(cli: Cli) -> None:
    """What follows ``--`` is never read as an option, in errors either."""
    ended = cli("show", "--", "--json")
    assert ended.code == 3
    assert ended.err.startswith("ricordo: ")


def test_an_interrupt_is_130(cli: Cli) -> None:
    assert cli("init", opener=_failing(KeyboardInterrupt())).code == 130


def test_denied_where_the_settings_grant_less(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without grants the local operator may do everything; with grants exactly what they say."""
    assert cli("document", "--namespace", "platform", "Falcon flies").code == 0
    monkeypatch.setenv("RICORDO_GRANTS", "platform=reader")
    assert cli("document", "--namespace", "platform", "Falcon dives").code == 4
    assert cli("list", "--namespace", "platform").code == 0
    assert cli("list", "--namespace", "hr").code == 4
    assert cli("list", "--org").code == 4
    for whole in (["reindex"], ["stats", "--everything"], ["deadletters", "list", "--everyone"]):
        assert cli(*whole).code == 4


def test_another_users_memory_and_none_at_all_look_alike(cli: Cli) -> None:
    stored = cli("remember", "--user", "alice", "Likes tea", "--json").json
    theirs = cli("show", "--user", "bob", stored["id"])
    nobodys = cli("show", "--user", "bob", "m_nothing")
    assert theirs.code == nobodys.code == 3
    assert theirs.err.replace(stored["id"], "X") == nobodys.err.replace("m_nothing", "X")


@pytest.mark.parametrize("argv", [["list"], ["recall", "x"], ["export"], ["worker"], ["stats"]])
def test_reading_makes_no_file(argv: list[str], cli: Cli, tmp_path: Path) -> None:
    ended = cli(*argv)
    assert ended.code == 3
    assert "`ricordo init` makes one" in ended.err
    assert not (tmp_path / "memory.db").exists()


@pytest.mark.parametrize("content", [b"not a database", b"SQLite format 3\x00" + b"x" * 100])
def test_a_foreign_file_is_code_7_and_left_alone(content: bytes, cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    assert cli("remember", "Likes tea").code == 7
    assert path.read_bytes() == content


def test_a_bad_setting_is_code_2(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_RECALL_LIMIT", "0")
    ended = cli("list", "--json")
    assert ended.code == 2
    assert "RICORDO_RECALL_LIMIT" in ended.error["message"]


def test_a_named_settings_file_is_used(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('user = "carol"\n')
    stored = cli("remember", "Likes tea", "--config", "mine.toml", "--json").json
    assert stored["scope"] == {"type": "user", "tenant": "default", "user": "carol"}
    assert json.dumps(stored)
    assert cli("list", "--config", "missing.toml").code == 2


def test_the_memory_is_closed_however_a_command_ends(cli: Cli) -> None:
    """Whoever opens closes."""
    closed: list[bool] = []

    @asynccontextmanager
    async def watched(settings: Settings, /):
        inner: AbstractAsyncContextManager[Ricordo] = opener(settings)
        try:
            async with inner as memory:
                yield memory
        finally:
            closed.append(True)

    assert cli("init", opener=watched).code == 0
    assert cli("show", "m_nothing", opener=watched).code == 3
    assert closed == [True, True]
