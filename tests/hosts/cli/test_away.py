"""What works while the embedding endpoint or the vocabulary file is away: what needs neither."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ricordo import open_memory
from tests.hosts.cli.conftest import Cli
from tests.support.fake_model import FakeModel
from tests.support.redis_server import RedisServer

NOWHERE = "http://127.0.0.1:9/v1"
MIND = ("--user", "alice", "--agent", "coder")


@pytest.fixture
def embeds(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModel]:
    """An embedding endpoint that the settings name."""
    with FakeModel() as endpoint:
        monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", endpoint.base_url)
        monkeypatch.setenv("RICORDO_EMBEDDING_MODEL", "fake")
        yield endpoint


def opener(settings: Any, /) -> Any:
    """The memory of the settings, with the embedder that they name."""
    return open_memory(settings=settings)


def test_who_does_not_embed_needs_no_embedding_endpoint(
    cli: Cli, embeds: FakeModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Promises 5 and 11: a model that is away keeps nobody from looking, forgetting, erasing."""
    for text in ("I ski in Davos", "I sail in Thun"):
        assert cli("remember", *MIND, text, opener=opener).code == 0
    monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", NOWHERE)
    kept = cli("list", "--user", "alice", "--json", opener=opener).json["items"]
    assert [one["text"] for one in kept] == ["I ski in Davos", "I sail in Thun"]
    for words in (
        ["show", "--user", "alice", kept[0]["id"]],
        ["export", "--user", "alice"],
        ["stats", "--user", "alice"],
        ["review", "list", "--user", "alice"],
        ["edit", "--user", "alice", kept[0]["id"], "--importance", "0.9"],
        ["explore", "--user", "alice", "user"],
    ):
        ended = cli(*words, opener=opener)
        assert (ended.code, ended.err.count("embedding")) == (0, 0), (words, ended.err)
    found = cli("recall", *MIND, "who goes sailing in Thun", "--json", opener=opener)
    assert "meaning" in found.json["degraded"]
    assert [item["text"] for item in found.json["items"]][:1] == ["I sail in Thun"]
    assert cli("forget", "--user", "alice", kept[0]["id"], "--yes", opener=opener).code == 0
    refused = cli("remember", *MIND, "I swim in Bern", opener=opener)
    assert refused.code == 6
    assert "embedding" in refused.err
    assert cli("erase", "--user", "alice", "--yes", "--json", opener=opener).json["clean"]
    assert cli("init", "--db", str(tmp_path / "new.db"), opener=opener).code == 0
    assert cli("list", "--db", str(tmp_path / "new.db"), opener=opener).code == 0


def test_doctor_blames_the_endpoint_that_is_away_and_nothing_else(
    cli: Cli, embeds: FakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("remember", *MIND, "I ski in Davos", opener=opener).code == 0
    assert cli("doctor", "--json", opener=opener).json["sound"]
    monkeypatch.setenv("RICORDO_EMBEDDING_BASE_URL", NOWHERE)
    told = cli("doctor", "--json", opener=opener)
    assert told.code == 1
    checks = {one["check"]: one for one in told.json["checks"]}
    assert {name for name, one in checks.items() if not one["ok"]} == {
        "embedding",
        "embedding endpoint",
    }
    assert "opens" in checks["file"]["detail"]
    assert "indexed by this model" in checks["index"]["detail"]
    assert not checks["embedding endpoint"]["detail"]
    assert "does not answer" in checks["embedding endpoint"]["problem"]


def test_an_endpoint_with_another_model_behind_it_is_noticed(
    cli: Cli, embeds: FakeModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the ledger says of the model's vectors is believed until a vector says otherwise."""
    assert cli("remember", *MIND, "I ski in Davos", opener=opener).code == 0
    monkeypatch.setattr("tests.support.fake_model.DIMENSION", 32)
    for words in (["recall", *MIND, "ski"], ["remember", *MIND, "I sail"]):
        ended = cli(*words, opener=opener)
        assert ended.code != 0
        assert "ricordo reindex" in ended.err
    checks = {c["check"]: c for c in cli("doctor", "--json", opener=opener).json["checks"]}
    assert "1 memories are indexed by another model" in checks["index"]["problem"]
    assert cli("reindex", opener=opener).code == 0
    assert cli("remember", *MIND, "I sail", opener=opener).code == 0
    assert len(cli("recall", *MIND, "ski or sail", "--json", opener=opener).json["items"]) == 2


def test_a_vocabulary_that_is_away_stops_only_what_needs_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 11: a missing file keeps nobody from leaving; promise 7: nothing is related."""
    one = cli("remember", *MIND, "I ski in Davos", "--json").json["id"]
    monkeypatch.setenv("RICORDO_VOCABULARY", "gone.toml")
    related = cli("remember", *MIND, "I ski", "--relation", "user|visits|Davos")
    assert related.code == 2
    assert "gone.toml" in related.err
    assert cli("worker", "--once").code == 2
    checks = {c["check"]: c for c in cli("doctor", "--json").json["checks"]}
    assert "gone.toml" in checks["vocabulary"]["problem"]
    assert checks["file"]["ok"]
    for words in (["list"], ["export"], ["forget", one, "--yes"], ["erase", "--yes"]):
        assert cli(*words, "--user", "alice").code == 0, words


@pytest.mark.filterwarnings("ignore:.*is experimental")
def test_doctor_tries_the_places_of_conversations(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who is let in and who is not; a refusal names the setting, and shows no secret."""
    with RedisServer(tmp_path / "redis", requirepass="hunter2") as server:
        assert cli("init").code == 0
        monkeypatch.setenv("RICORDO_HISTORY_ARCHIVE_URL", f"file://{tmp_path}/archive")
        for password, problem in (("hunter2", None), ("guess", "Denied")):
            address = server.url.replace("//", f"//:{password}@")
            monkeypatch.setenv("RICORDO_HISTORY_URL", address)
            told = cli("doctor", "--json")
            checks = {one["check"]: one for one in told.json["checks"]}
            found = checks["conversations (redis)"]["problem"]
            assert (found and found.partition(":")[0]) == problem
            assert checks["conversations (files)"]["ok"]
            assert told.json["sound"] is (problem is None)
            assert password not in told.out + told.err
