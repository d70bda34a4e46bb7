"""Every setting and every command is documented, by pages that are made from the code."""

import json
import re
from pathlib import Path

import pytest
from tools.reference import PAGES, REFERENCE

from ricordo.hosts.cli.app import COMMANDS, GROUPS
from tests.hosts.cli.conftest import Cli

EVERY = [
    *(command.name for commands in COMMANDS.values() for command in commands),
    *(f"{group} {command.name}" for group, (_, some) in GROUPS.items() for command in some),
]
ISSUE = {
    "init", "chat", "remember", "document", "recall", "explore", "list", "show", "edit", "forget",
    "erase", "review", "deadletters", "worker", "reindex", "import", "export", "stats", "doctor",
    "demo",
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_the_page_says_what_the_code_says(name: str) -> None:
    """After a change of settings or commands: python -m tools.reference"""
    assert (REFERENCE / name).read_text(encoding="utf-8") == PAGES[name]()


def test_every_command_of_the_issue_is_there() -> None:
    assert {name.split()[0] for name in EVERY} >= ISSUE


@pytest.mark.parametrize("name", EVERY)
def test_every_help_has_an_example(name: str, cli: Cli) -> None:
    ended = cli(*name.split(), "--help")
    assert ended.code == 0
    assert f"Example: ricordo {name}" in " ".join(ended.out.split())


def test_the_overview_names_every_command(cli: Cli) -> None:
    overview = cli("--help").out
    for name in ISSUE:
        assert re.search(rf"\b{name}\b", overview), name
    assert cli().code in (0, 2)
    assert cli("review", "--help").code == 0


def test_the_documented_lines_can_be_imported(cli: Cli) -> None:
    page = (REFERENCE / "import-format.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) == 5
    summary = cli("import", "-", "--json", stdin="\n".join(lines).encode()).json
    assert (summary["turns"], summary["memories"], summary["skipped"]) == (1, 2, 0)


def test_the_documented_fields_are_those_that_are_printed(cli: Cli) -> None:
    page = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    printed = cli("remember", "Falcon uses Kafka", "--relation", "Falcon|uses|Kafka", "--json").json
    found = cli("recall", "What does Falcon use?", "--json").json
    walk = cli("explore", "Falcon", "--json").json
    names = {*printed, *printed["scope"], *printed["origin"][0], *found, *found["items"][0]}
    names |= {*walk, *walk["items"][0], *walk["items"][0]["steps"][0]}
    assert json.dumps(sorted(names))
    for name in names:
        assert f"`{name}`" in page, name


def test_init_writes_settings_that_can_be_read(cli: Cli) -> None:
    assert cli("init", "--write-settings").code == 0
    assert "# recall_limit = 10" in Path("ricordo.toml").read_text(encoding="utf-8")
    again = cli("init", "--write-settings")
    assert again.code == 5
    assert cli("doctor", "--json").code == 0
