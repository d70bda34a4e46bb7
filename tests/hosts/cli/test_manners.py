"""What holds for the command line as a whole: groups, versions, names for oneself, warnings."""

import subprocess
import sys
from importlib.metadata import version

import pytest

from tests.hosts.cli.conftest import Cli

MINE = ("--user", "alice")


@pytest.mark.parametrize("group", ["review", "deadletters", "entities"])
def test_a_group_alone_lists_and_takes_the_options_of_its_commands(group: str, cli: Cli) -> None:
    assert cli("init", "--db", "other.db").code == 0
    ended = cli(group, "--db", "other.db", *MINE, "--json")
    assert (ended.code, ended.json) == (0, {"items": [], "cursor": None})
    assert cli(group, "--db", "gone.db").code == 3


def test_what_is_told_to_a_group_holds_for_its_command_unless_that_is_told_otherwise(
    cli: Cli,
) -> None:
    """Promise 1: whose memory it is, is never guessed."""
    for user, text in (("alice", "Maybe likes rum"), ("bob", "Maybe likes gin")):
        line = f'{{"text": "{text}", "status": "proposed"}}'.encode()
        assert cli("import", "-", "--user", user, stdin=line).code == 0
    for argv, text in (
        (("review", *MINE, "--json"), "Maybe likes rum"),
        (("review", *MINE, "--json", "list"), "Maybe likes rum"),
        (("review", *MINE, "list", "--user", "bob", "--json"), "Maybe likes gin"),
    ):
        assert [item["text"] for item in cli(*argv).json["items"]] == [text]
    [waiting] = cli("review", *MINE, "--json").json["items"]
    assert cli("review", "--user", "bob", "approve", waiting["id"]).code == 3
    assert cli("review", *MINE, "approve", waiting["id"]).code == 0
    assert cli("review", "--bogus").code == 2
    assert cli("review", "bogus").code == 2
    assert cli("--bogus").code == 2


def test_the_version_is_told_and_the_package_is_a_program(cli: Cli) -> None:
    told = f"ricordo {version('ricordo')}\n"
    ended = cli("--version")
    assert (ended.code, ended.out) == (0, told)
    program = subprocess.run(
        [sys.executable, "-m", "ricordo", "--version"],
        capture_output=True,
        check=True,
        text=True,
        timeout=120,
    )
    assert program.stdout == told


def test_whoever_says_me_is_the_user_of_their_own_graph(cli: Cli) -> None:
    """As in relations; the organization has no such thing."""
    cli("remember", *MINE, "Works on Falcon", "--relation", "I|works on|Falcon")
    walks = [
        cli("explore", *MINE, name, "--json").json["items"]
        for name in ("user", "me", "I", "the user", "ich")
    ]
    assert walks[0]
    assert all(walk == walks[0] for walk in walks)
    assert cli("explore", *MINE, "Falcon", "--to", "me", "--json").json["items"]
    cli("document", "--namespace", "platform", "Falcon uses Kafka", "--relation",
        "Falcon|uses|Kafka")  # fmt: skip
    assert cli("explore", "--namespace", "platform", "me", "--json").json["items"] == []


def test_a_mistyped_variable_is_told_of_once_by_every_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("init")
    monkeypatch.setenv("RICORDO_DATABSE", "elsewhere.db")
    warning = "ricordo: RICORDO_DATABSE is not a setting; did you mean RICORDO_DATABASE?\n"
    for words in (["list"], ["stats", "--json"], ["export"]):
        assert cli(*words).err.count(warning) == 1, words
    told = cli("doctor")
    assert "did you mean RICORDO_DATABASE?" in told.out
    assert not told.err


def test_stats_show_histograms_of_what_this_process_did_or_say_where_they_are(cli: Cli) -> None:
    cli("remember", *MINE, "Likes tea")
    plain = cli("stats", *MINE)
    assert "latencies are those of the process that took the time" in plain.err
    assert f"bytes of its texts\t{len('Likes tea')}" in plain.out
    probed = cli("stats", *MINE, "--probe", "3", "--json").json
    took = probed["latencies"]["recall"]
    assert took["count"] == sum(took["buckets"].values()) == 3
    assert set(took["ms"]) == {"p50", "p95", "max"}
    assert probed["bytes"]["index"] > 0
    assert "recall\t3\t" in cli("stats", *MINE, "--probe", "3").out
    assert cli("stats", "--user", "bob", "--json").json["bytes"] == {"texts": 0, "index": 0}
