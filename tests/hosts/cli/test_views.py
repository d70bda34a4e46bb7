"""`verify`, `rebuild`, and what `stats`, `doctor` and `erase` say of views outside."""

import json
from pathlib import Path

import pytest

from tests.hosts.cli.conftest import Cli


@pytest.fixture
def viewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vector view, set in the environment."""
    store = {"provider": "qdrant", "config": {"path": str(tmp_path / "qdrant"), "on_disk": True}}
    monkeypatch.setenv("RICORDO_VECTOR_VIEW", json.dumps(store))
    monkeypatch.setenv("RICORDO_VECTOR_VIEW_FROM", "0")
    monkeypatch.setenv("RICORDO_VIEW_TIMEOUT", "60")


@pytest.mark.usefixtures("viewed")
def test_a_view_is_verified_rebuilt_and_counted(cli: Cli) -> None:
    """Each command says what it did, as a line and as JSON."""
    for user in ("alice", "bob"):
        assert cli("remember", "--user", user, "Works on Project Falcon").code == 0
    assert cli("verify", "--json").json == {"sound": True, "differences": []}
    assert "the same as the file" in cli("verify").out
    rebuilt = {"view": "vectors", "scopes": 2, "kept": []}
    assert cli("rebuild", "vectors", "--json").json == rebuilt
    assert cli("verify", "vectors", "--repair", "--json").json["sound"]
    [view] = cli("stats", "--everything", "--json").json["views"]
    assert (view["view"], view["sort"], view["build"]) == ("vectors", "vectors", 2)
    assert view["behind"] == 0
    assert view["engine"].startswith("qdrant through mem0")
    assert "vectors" in cli("stats", "--everything").out
    told = cli("doctor", "--json").json
    [check] = [check for check in told["checks"] if check["check"] == "view vectors"]
    assert check["ok"]


@pytest.mark.usefixtures("viewed")
def test_a_view_that_is_off_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The receipt is not clean while something may be left somewhere, and the exit code says so."""
    cli("remember", "--user", "alice", "Works on Project Falcon")
    cli("verify")
    monkeypatch.delenv("RICORDO_VECTOR_VIEW")
    ended = cli("erase", "--user", "alice", "--yes", "--json")
    assert ended.code == 1
    assert ended.json["pending"] == ["vectors"]
    assert not ended.json["clean"]
    assert "switched off" in cli("stats", "--everything").out
    assert "switched off" in str(cli("doctor", "--json").json["checks"])


@pytest.mark.usefixtures("viewed")
def test_a_view_that_is_off_for_good_is_given_up(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After a question, and with word of what is left and where; then receipts are clean again."""
    cli("remember", "--user", "alice", "Works on Project Falcon")
    cli("verify")
    assert cli("rebuild", "vectors", "--remove", "--yes").code == 5, "the settings name it"
    monkeypatch.delenv("RICORDO_VECTOR_VIEW")
    assert cli("rebuild", "vectors", "--remove").code == 2, "asks first"
    given_up = cli("rebuild", "vectors", "--remove", "--yes", "--json")
    assert given_up.code == 0
    assert given_up.json["view"] == "vectors"
    [left] = given_up.json["left"]
    assert left["place"] == f"qdrant, path {tmp_path / 'qdrant'}"
    assert left["names"][0] in given_up.err
    assert cli("erase", "--user", "alice", "--yes", "--json").json["clean"]
    assert cli("rebuild", "vectors", "--remove", "--yes").code == 3


@pytest.mark.usefixtures("viewed")
def test_a_worker_without_a_model_feeds_views(cli: Cli) -> None:
    """What needs no model is done, and that turns wait is said."""
    cli("remember", "--user", "alice", "Works on Project Falcon")
    ended = cli("worker", "--once", "--json")
    assert ended.code == 0
    assert "no model" in ended.err
    [view] = cli("stats", "--everything", "--json").json["views"]
    assert (view["behind"], view["fault"]) == (0, None)


def test_without_a_view_there_is_nothing_to_verify(cli: Cli) -> None:
    cli("remember", "--user", "alice", "Works on Project Falcon")
    assert cli("verify", "--json").error["type"] == "NotFound"
    assert "vector_view" in cli("rebuild", "vectors", "--json").error["message"]


@pytest.mark.usefixtures("viewed")
def test_views_are_for_the_operator(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has grants only does not look at the file as a whole."""
    cli("remember", "--user", "alice", "Works on Project Falcon")
    monkeypatch.setenv("RICORDO_GRANTS", "=reader")
    assert cli("verify", "--json").error["type"] == "Denied"
    assert cli("rebuild", "vectors", "--json").error["type"] == "Denied"


def test_a_secret_of_a_view_is_shown_nowhere(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where settings are shown nor where they are refused."""
    cli("remember", "--user", "alice", "Works on Project Falcon")
    monkeypatch.setenv("RICORDO_VIEW_TIMEOUT", "0.5")
    address = "postgresql://ricordo:hunter2@127.0.0.1:9/ricordo"
    for config in ({"connection_string": address, "minconn": 1}, "hunter2"):
        store = {"provider": "pgvector", "config": config}
        monkeypatch.setenv("RICORDO_VECTOR_VIEW", json.dumps(store))
        for words in (("doctor", "--json"), ("verify",)):
            ended = cli(*words)
            assert ended.code != 0
            assert "hunter2" not in ended.out + ended.err
