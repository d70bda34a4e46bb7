"""`worker`, `deadletters`, `doctor`: extraction on command, and what the operator sees."""

import json
from collections.abc import Iterator

import pytest

from ricordo.testing.embedding import HashingEmbedder
from tests.hosts.cli.conftest import Cli, opener
from tests.support.fake_model import FakeModel, Reply
from tests.support.talking import answer, item

TURN = {
    "thread_id": "t1",
    "run_id": "r1",
    "messages": [{"role": "user", "text": "I work on Project Falcon."}],
}
FALCON = item(
    "Works on Project Falcon",
    "I work on Project Falcon",
    relations=(("user", "works_on", "Project Falcon"),),
)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    """An endpoint that the settings name, and that has learned of Falcon."""
    with FakeModel(lambda _: answer(FALCON)) as endpoint:
        monkeypatch.setenv("RICORDO_MODEL", "fake")
        monkeypatch.setenv("RICORDO_MODEL_BASE_URL", endpoint.base_url)
        yield endpoint


def observe(cli: Cli, user: str = "alice", **more: str) -> None:
    told = json.dumps({**TURN, **more}).encode()
    assert cli("import", "-", "--user", user, stdin=told).code == 0


def test_worker_once_works_off_what_waits(cli: Cli, model: FakeModel) -> None:
    """Promise 6: one model call per batch; none at recall."""
    observe(cli)
    counts = cli("worker", "--once", "--json").json
    assert (counts["batches"], counts["stored"], counts["waiting"]) == (1, 1, 0)
    [memory] = cli("list", "--user", "alice", "--json").json["items"]
    assert memory["text"] == "Works on Project Falcon"
    assert memory["source"] == "inferred"
    assert memory["origin"][0]["quote"] == "I work on Project Falcon"
    assert memory["prompt"]
    calls = len(model.requests)
    assert calls == 1
    cli("recall", "--user", "alice", "Falcon")
    assert len(model.requests) == calls
    assert "batches 0" in cli("worker", "--once").out


def test_other_commands_start_no_worker(cli: Cli, model: FakeModel) -> None:
    observe(cli)
    cli("list", "--user", "alice")
    assert model.requests == []


def test_without_a_model_the_worker_says_what_to_set(cli: Cli) -> None:
    cli("init")
    ended = cli("worker", "--once")
    assert ended.code == 6
    assert "model_base_url" in ended.err


def test_dead_letters_are_listed_shown_and_replayed(cli: Cli, model: FakeModel) -> None:
    """Promise 4: what cannot be extracted is parked visibly, with its reason."""
    model.answer = lambda _: Reply(text="no JSON at all")
    observe(cli)
    assert cli("worker", "--once", "--json").json["parked"] == 1
    [letter] = cli("deadletters", "list", "--user", "alice", "--json").json["items"]
    assert "Malformed" in letter["reason"]
    job = str(letter["id"])
    assert letter["turn"]["messages"][0]["text"] == "I work on Project Falcon."
    assert cli("deadletters", "show", "--user", "alice", job, "--json").json == letter
    shown = cli("deadletters", "show", "--user", "alice", job).out
    assert "thread t1, run r1, agent cli" in shown
    assert "user: I work on Project Falcon." in shown
    assert job in cli("deadletters", "list", "--user", "alice").out
    everyone = cli("deadletters", "list", "--everyone", "--json")
    assert [each["id"] for each in everyone.json["items"]] == [letter["id"]]
    assert "Falcon" not in everyone.out
    assert cli("deadletters", "list", "--user", "bob", "--json").json["items"] == []
    assert cli("deadletters", "show", "--user", "bob", job).code == 3
    assert cli("deadletters", "replay", "--user", "bob", job).code == 3

    model.answer = lambda _: answer(FALCON)
    assert cli("deadletters", "replay", "--user", "alice", job, "--json").json == {
        "replayed": letter["id"]
    }
    assert cli("worker", "--once", "--json").json["stored"] == 1
    assert cli("deadletters", "list", "--user", "alice").err == "no dead letters\n"


def test_a_dead_letter_is_forgotten_and_so_is_what_waits(cli: Cli, model: FakeModel) -> None:
    """Promise 11: forgetting reaches what is not memory yet, and says how much of it went."""
    model.answer = lambda _: Reply(text="no JSON at all")
    observe(cli)
    cli("worker", "--once")
    [letter] = cli("deadletters", "list", "--user", "alice", "--json").json["items"]
    job = str(letter["id"])
    assert cli("deadletters", "forget", "--user", "alice", job).code == 2, "asks first"
    assert cli("deadletters", "forget", "--user", "bob", job, "--yes").code == 3
    assert cli("deadletters", "forget", "--user", "alice", job, "--yes").code == 0
    assert cli("deadletters", "forget", "--user", "alice", job, "--yes").code == 3
    assert "Falcon" not in cli("export", "--user", "alice").out
    observe(cli, run_id="r2")
    assert "Falcon" in cli("export", "--user", "alice").out
    ended = cli("forget", "--user", "alice", "--all", "--yes")
    assert ended.out == "Forgotten: 0; with them turns that were not memory yet: 1, refusals: 0\n"
    assert "Falcon" not in cli("export", "--user", "alice").out
    model.answer = lambda _: answer(FALCON)
    assert cli("worker", "--once", "--json").json["batches"] == 0


def test_what_needs_a_person_is_found_in_review(
    cli: Cli, model: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RICORDO_REVIEW_AUTO_APPROVE", "false")
    observe(cli)
    assert cli("worker", "--once", "--json").json["proposed"] == 1
    [waits] = cli("review", "list", "--user", "alice", "--json").json["items"]
    shown = cli("show", "--user", "alice", waits["id"]).out
    assert "waits  user –works_on→ Project Falcon" in shown
    approved = cli("review", "approve", "--user", "alice", waits["id"], "--json").json
    assert approved["relations"][0]["target"] == "Project Falcon"


def test_doctor_finds_everything_sound(cli: Cli, model: FakeModel) -> None:
    cli("remember", "Likes tea")
    ended = cli("doctor", "--user", "alice", "--json")
    assert ended.code == 0, ended.out
    report = ended.json
    assert report.keys() == {"sound", "settings", "checks"}
    assert report["sound"] is True
    by_name = {check["check"]: check for check in report["checks"]}
    assert by_name["embedding"]["detail"].startswith("hashing-64")
    assert by_name["model"]["ok"] is True
    sources = {setting["name"]: setting["source"] for setting in report["settings"]}
    assert sources["model"] == "environment RICORDO_MODEL"
    assert sources["user"] == "argument"
    words = cli("doctor").out
    assert "✓ embedding: hashing-64" in words
    assert "Sound." in words


def test_doctor_masks_secrets(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("init")
    monkeypatch.setenv("RICORDO_MODEL_API_KEY", "hush-hush")
    for argv in (["doctor"], ["doctor", "--json"]):
        ended = cli(*argv)
        assert "hush" not in ended.out + ended.err
        assert "********" in ended.out


def test_doctor_tells_what_is_wrong(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = cli("doctor", "--json")
    assert missing.code == 1
    assert "ricordo init" in str(missing.json["checks"])
    cli("init")
    monkeypatch.setenv("RICORDO_MODEL", "fake")
    monkeypatch.setenv("RICORDO_MODEL_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("RICORDO_RECAL_LIMIT", "3")
    report = cli("doctor", "--json")
    assert report.code == 1
    problems = " ".join(c["problem"] for c in report.json["checks"] if c["problem"])
    assert "http://127.0.0.1:9/v1/models does not answer" in problems
    assert "did you mean RICORDO_RECALL_LIMIT?" in problems
    assert "Something is wrong" in cli("doctor").out


class _Other(HashingEmbedder):
    """The same vectors under another name: another space."""

    model = "other-64"


def test_another_embedding_model_is_noticed_and_reindexed(cli: Cli) -> None:
    from ricordo import open_memory

    cli("remember", "Likes tea")
    cli("document", "Falcon flies")

    def other(settings):
        return open_memory(settings=settings, embedder=_Other())

    noticed = cli("doctor", "--json", opener=other)
    assert noticed.code == 1
    assert "run `ricordo reindex`" in str(noticed.json["checks"])
    assert cli("remember", "Likes rum", opener=other).code == 5
    assert cli("reindex", "--json", opener=other).json == {"indexed": 2, "left": 0}
    assert cli("doctor", opener=other).code == 0
    found = cli("recall", "tea", "--json", opener=other).json
    assert found["items"][0]["text"] == "Likes tea"
    assert cli("reindex", "--json", opener=opener).json == {"indexed": 2, "left": 0}


def test_an_organizations_dead_letters_are_its_curators(cli: Cli, model: FakeModel) -> None:
    """Promise 4, for a fact whose relations no model could propose."""
    model.answer = lambda _: Reply(text="no JSON at all")
    fact = cli("document", "--namespace", "platform", "Falcon uses Kafka", "--json").json["id"]
    cli("worker", "--once")
    [letter] = cli("deadletters", "list", "--namespace", "platform", "--json").json["items"]
    assert letter["memory_id"] == fact
    job = str(letter["id"])
    assert cli("deadletters", "list", "--user", "alice", "--json").json["items"] == []
    assert cli("deadletters", "list", "--namespace", "hr", "--json").json["items"] == []
    assert cli("deadletters", "show", "--user", "alice", job).code == 3
    assert cli("deadletters", "replay", "--namespace", "hr", job).code == 3
    assert fact in cli("deadletters", "show", "--namespace", "platform", job).out
    assert cli("deadletters", "replay", "--namespace", "platform", job).code == 0
    assert cli("stats", "--namespace", "platform", "--json").json["backlog"]["waiting"] == 1
