"""`ricordo events` on a real NATS server: prepare, relay, look; every fault in one line."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from ricordo.wiring.command import prepared
from tests.hosts.cli.conftest import Cli
from tests.support.nats_server import NatsServer
from tests.support.serving import free_port

_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def here(server: NatsServer, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> Cli:
    """The command line with a server in its settings, and a memory with something in it."""
    monkeypatch.setenv("RICORDO_NATS_URL", server.url)
    monkeypatch.setenv("RICORDO_NATS_PREFIX", f"c{next(_numbers)}")
    assert cli("init").code == 0
    for text in ("Works on Falcon", "Works on Eagle"):
        assert cli("remember", text, "--user", "alice").code == 0
    return lambda *argv, **parts: cli(*argv, **{"preparer": prepared, **parts})


def acts(changes: list[dict[str, str]]) -> dict[str, str]:
    """What was done to the streams and consumers, by the last part of their names."""
    return {change["name"].rpartition("_")[2]: change["act"] for change in changes}


def test_streams_are_made_once_and_brought_up_to_date(
    here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ("events", "init", "--consumer", "billing", "--tenant", "acme", "--json")
    planned = here(*first, "--dry-run").json
    assert planned["dry_run"] is True
    wanted = acts(planned["changes"])
    assert {"events", "billing", "dead"} <= wanted.keys()
    assert set(wanted.values()) == {"create"}
    assert acts(here(*first, "--dry-run").json["changes"]) == wanted, "nothing was changed"
    assert acts(here(*first).json["changes"]) == wanted
    assert acts(here(*first).json["changes"]) == dict.fromkeys(wanted, "keep")
    monkeypatch.setenv("RICORDO_NATS_KEEP_DAYS", "7")
    changes = here(*first).json["changes"]
    assert (acts(changes)["events"], acts(changes)["billing"]) == ("update", "keep")
    assert changes[0]["fields"] == ["max_age"]
    assert "acme_billing" in here("events", "init", "--consumer", "billing", "--tenant", "acme").out
    everyone = here("events", "init", "--consumer", "audit", "--everyone", "--json").json
    assert any(change["name"].endswith("_events/=_audit") for change in everyone["changes"])


def test_what_waits_is_relayed_and_counted(here: Cli) -> None:
    here("events", "init")
    behind = here("events", "tail", "--since", "0", "--count", "2", "--json").lines
    assert [event["event"] for event in behind] == ["UserMemoryStored", "UserMemoryStored"]
    ended = here("events", "relay", "--once", "--json").json
    assert (ended["from"], ended["behind"]) == (0, 0)
    assert ended["to"] == behind[-1]["position"]
    stats = here("stats", "--everything", "--json").json
    assert stats["outbox"]["behind"] == {"relay:nats": 0}
    assert "Relayed from" in here("events", "relay", "--once").out


def test_events_are_shown_by_id_and_never_by_text(here: Cli) -> None:
    for words in (["--json"], []):
        shown = here("events", "tail", "--since", "0", "--count", "2", *words).out
        assert "UserMemoryStored" in shown
        assert "m_" in shown
        assert "Falcon" not in shown


def test_a_tenant_s_permissions_are_shown(here: Cli) -> None:
    ended = here("events", "permissions", "--tenant", "acme", "--consumer", "billing")
    assert ".acme.events.>" in ended.out
    assert "_INBOX_acme" in ended.out
    view = here("events", "permissions", "--tenant", "acme", "--json").json
    assert view["publish"] == []


def test_an_account_s_exports_and_imports_are_shown(here: Cli) -> None:
    words = ("events", "permissions", "--tenant", "acme", "--consumer", "billing", "--account")
    shown = here(*words, "ACME").out
    assert '.acme.events.>", accounts: [ACME] }' in shown
    assert '.acme.events.>" } }' in shown
    assert "account: RICORDO" in shown
    assert "_INBOX" not in shown
    assert here(*words, "A } B", "--json").error["type"] == "Invalid"


def test_a_consumer_s_name_is_checked(here: Cli) -> None:
    for name in ("a.b", "x_y", "=a", ""):
        ended = here("events", "init", "--consumer", name, "--json")
        assert ended.error["type"] == "Invalid", name


def failed(here: Cli, *argv: str) -> dict[str, str]:
    ended = here(*argv, "--json")
    assert ended.code != 0
    assert len(ended.err.splitlines()) == 1
    return json.loads(ended.err)["error"]


def test_without_a_server_in_the_settings_the_setting_is_named(
    here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RICORDO_NATS_URL")
    for command in (["init"], ["relay", "--once"]):
        error = failed(here, "events", *command)
        assert error["type"] == "Invalid"
        assert "nats_url" in error["message"]


def test_without_streams_the_command_that_makes_them_is_named(here: Cli) -> None:
    error = failed(here, "events", "relay", "--once")
    assert error["type"] == "NotFound"
    assert "ricordo events init" in error["message"]


@pytest.mark.parametrize(
    ("url", "kind", "words"),
    [
        ("http://localhost:4222", "Invalid", "nats, tls"),
        ("nats://bob:secret@localhost:4222", "Invalid", "nats_user"),
        ("nats://127.0.0.1:{closed}", "Unavailable", "cannot be reached"),
    ],
)
def test_a_wrong_address_is_told(
    here: Cli, monkeypatch: pytest.MonkeyPatch, url: str, kind: str, words: str
) -> None:
    monkeypatch.setenv("RICORDO_NATS_URL", url.format(closed=free_port()))
    error = failed(here, "events", "init")
    assert error["type"] == kind
    assert words in error["message"]
    assert "secret" not in error["message"]


def test_more_copies_than_nodes_are_told(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_NATS_REPLICAS", "3")
    error = failed(here, "events", "init")
    assert error["type"] == "Invalid"
    assert "nats_replicas" in error["message"]


def test_a_server_without_jetstream_is_told(
    tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NatsServer(tmp_path / "bare", jetstream=False) as bare:
        monkeypatch.setenv("RICORDO_NATS_URL", bare.url)
        for command in (["init"], ["relay", "--once"]):
            assert "JetStream" in failed(here, "events", *command)["message"]


def test_wrong_credentials_are_told(
    tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    users = 'authorization { users: [{ user: "bob", password: "right" }] }'
    with NatsServer(tmp_path / "guarded", config=users) as guarded:
        monkeypatch.setenv("RICORDO_NATS_URL", guarded.url)
        for password in (None, "wrong-one"):
            if password is not None:
                monkeypatch.setenv("RICORDO_NATS_USER", "bob")
                monkeypatch.setenv("RICORDO_NATS_PASSWORD", password)
            error = failed(here, "events", "init")
            assert error["type"] == "Denied"
            assert "nats_user" in error["message"]
            assert "nats_password" in error["message"]
            assert "wrong-one" not in error["message"]
        monkeypatch.setenv("RICORDO_NATS_PASSWORD", "right")
        assert here("events", "init").code == 0


def test_a_user_who_may_not_publish_is_told(
    tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server refuses beside the call, which by itself would only see silence."""
    users = (
        'authorization { users: [{ user: "bob", password: "right", permissions: { publish: '
        '{ deny: "*.*.events.>" } } }] }'
    )
    with NatsServer(tmp_path / "half", config=users) as half:
        monkeypatch.setenv("RICORDO_NATS_URL", half.url)
        monkeypatch.setenv("RICORDO_NATS_USER", "bob")
        monkeypatch.setenv("RICORDO_NATS_PASSWORD", "right")
        assert here("events", "init").code == 0
        error = failed(here, "events", "relay", "--once")
        assert error["type"] == "Denied"
        assert "publish to" in error["message"]


def test_a_server_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, here: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every call has a deadline: connecting, asking, and while events are in flight."""
    with NatsServer(tmp_path / "mute") as mute:
        monkeypatch.setenv("RICORDO_NATS_URL", mute.url)
        monkeypatch.setenv("RICORDO_NATS_TIMEOUT", "0.5")
        mute.stop()
        for command in (["init"], ["relay", "--once"]):
            error = failed(here, "events", *command)
            assert error["type"] in {"DeadlineExceeded", "Unavailable"}
        mute.go_on()
