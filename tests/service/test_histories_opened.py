"""Histories opened from settings, on real servers; and erased with their person."""

import asyncio
import importlib
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from redis.asyncio import Redis

from ricordo import Ricordo, Settings, load_settings, open_history
from ricordo.errors import Invalid
from ricordo.hosts.maf import ShapedHistory
from ricordo.wiring.command import run
from tests.support.conversing import keep, read, session_of
from tests.support.opening import opened, person
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis"), durable=True) as running:
        yield running


@asynccontextmanager
async def both(folder: Path, **given: Any) -> AsyncIterator[tuple[Ricordo, ShapedHistory]]:
    settings = Settings(worker=False, **given)
    async with (
        opened(folder, settings=settings) as memory,
        open_history(memory, settings=settings) as history,
    ):
        yield memory, history


STORES = {
    "files": lambda server, folder: {"history_url": f"file://{folder}/live"},
    "redis": lambda server, folder: {"history_url": server.url},
    "files behind a cache": lambda server, folder: {
        "shape": "hybrid",
        "history_url": f"file://{folder}/live",
        "history_cache_url": server.url,
    },
    "redis behind a cache": lambda server, folder: {
        "shape": "hybrid",
        "history_url": server.url,
        "history_cache_url": server.url,
    },
    "files behind a cache of this process": lambda server, folder: {
        "shape": "hybrid",
        "history_url": f"file://{folder}/live",
        "history_cache_url": "memory://",
    },
    "a store per agent, and an archive": lambda server, folder: {
        "shape": "distributed",
        "history_url": server.url,
        "history_urls": {"coder": f"file://{folder}/coder"},
        "history_archive_url": f"file://{folder}/archive",
    },
}


@pytest.mark.parametrize("kind", STORES)
async def test_a_persons_conversations_are_erased_with_them(
    server: RedisServer, tmp_path: Path, kind: str
) -> None:
    """Promise 11: every place that settings name is emptied, and scanned."""
    async with both(tmp_path, **STORES[kind](server, tmp_path)) as (memory, history):
        hers, his = session_of(who=person("alice")), session_of(who=person("bob"))
        for agent in ("coder", "planner"):
            for session in (hers, his):
                await keep(history, session, "a word", agent=agent)
                assert "a word" in await read(history, session, agent=agent)
        if "archive" in kind:
            for conversation in history.conversations(hers, agents=["planner"]):
                assert await history.put_away(conversation)
            await keep(history, hers, "again", agent="coder")
        receipt = await memory.user(person("alice")).erase()
        assert receipt.clean, receipt
        places = {name: n for name, n in receipt.removed.items() if "(" in name}
        assert places
        assert sum(places.values()) >= 2 if "archive" in kind else 1
        assert set(places) <= set(receipt.remaining)
        for agent in ("coder", "planner"):
            assert await read(history, hers, agent=agent) == []
            assert "a word" in await read(history, his, agent=agent)
        assert not files_of(owner(history, hers), tmp_path)
        again = await memory.user(person("alice")).erase()
        assert again.clean


def files_of(owner: str, folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*.jsonl") if owner in file.name]


def owner(history: ShapedHistory, session: Any) -> str:
    return history.conversation(session, agent="coder").owner


async def test_a_place_that_does_not_answer_is_named_with_the_way_out(tmp_path: Path) -> None:
    """The receipt is a proof or says that it is none."""
    with RedisServer(tmp_path / "redis") as server:
        given = {
            "shape": "hybrid",
            "history_url": f"file://{tmp_path}/live",
            "history_cache_url": server.url,
        }
        async with both(tmp_path, **given) as (memory, history):
            await keep(history, session_of(), "a word")
            server.kill()
            receipt = await memory.user(person()).erase()
            assert not receipt.clean
            assert not any(receipt.remaining.values())
            told = receipt.outside["history cache (redis)"]
            assert "cannot be reached" in told
            assert "wait 3600 seconds" in told
            server.start()
            assert (await memory.user(person()).erase()).clean


async def test_the_command_line_erases_conversations_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`ricordo erase` empties what its settings name, and says when a place did not answer."""
    with RedisServer(tmp_path / "redis") as server:
        monkeypatch.chdir(tmp_path)
        (tmp_path / "ricordo.toml").write_text(
            f'database = "memory.db"\nshape = "hybrid"\nhistory_url = "file://{tmp_path}/live"\n'
            f'history_cache_url = "{server.url}"\ntenant = "acme"\n'
        )
        async with open_history(settings=load_settings().settings) as history:
            await keep(history, session_of(), "a word")
        assert await asyncio.to_thread(run, ["init"]) == 0
        words = ["erase", "--user", "alice", "--yes"]
        assert await asyncio.to_thread(run, words) == 0
        assert "conversations (files)" in capsys.readouterr().out
        assert not files_of("", tmp_path / "live")
        server.kill()
        assert await asyncio.to_thread(run, words) == 1
        told = " ".join(capsys.readouterr().out.split())
        assert "NOT EMPTIED: history cache (redis)" in told
        assert "SOMETHING REMAINS" not in told


async def test_two_agent_services_correlate_by_the_session(
    server: RedisServer, tmp_path: Path
) -> None:
    """Distributed: each service with settings of its own."""
    coder = {"shape": "distributed", "history_url": server.url}
    planner = {"shape": "distributed", "history_url": f"file://{tmp_path}/planner"}
    async with (
        open_history(settings=Settings(**coder)) as one,
        open_history(settings=Settings(**planner)) as two,
    ):
        session = session_of("goal")
        await keep(one, session, "to the coder", agent="coder")
        await keep(two, session, "to the planner", agent="planner")
        assert await read(one, session, agent="coder") == ["to the coder"]
        assert await read(two, session, agent="planner") == ["to the planner"]
        assert await read(two, session, agent="coder") == []


async def test_idle_sessions_are_ended_in_the_background(tmp_path: Path) -> None:
    settings = Settings(worker=False, session_idle=1, history_url=f"file://{tmp_path}/live")
    async with (
        opened(tmp_path, settings=settings) as memory,
        open_history(memory, settings=settings) as history,
    ):
        assert history._on_turn is not None


async def test_conversations_in_redis_outlive_it(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis", durable=True) as server:
        settings = Settings(history_url=server.url)
        async with open_history(settings=settings) as history:
            await keep(history, session_of(), "acknowledged")
        server.kill()
        server.start()
        async with open_history(settings=settings) as history:
            assert await read(history, session_of()) == ["acknowledged"]
        async with Redis.from_url(server.url, decode_responses=True) as client:
            [key] = await client.keys("*")
        assert "alice" not in key
        assert "acme" not in key


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"shape": "hybrid"}, "needs history_cache_url, or history_groups"),
        ({"history_groups": {"a": ["x"]}}, "need shape hybrid"),
        ({"shape": "hybrid", "history_cache_url": "redis://a"}, "needs history_url"),
        ({"shape": "hybrid", "history_groups": {"a": ["x"], "b": ["x"]}}, "is in 'a' and in 'b'"),
        ({"history_urls": {"coder": "file:///a"}}, "need shape distributed, or hybrid"),
        (
            {
                "shape": "hybrid",
                "history_url": "file:///a",
                "history_cache_url": "memory://",
                "history_urls": {"coder": "file:///b"},
            },
            "every agent shares a history",
        ),
        (
            {
                "shape": "hybrid",
                "history_groups": {"crew": ["coder", "tester"]},
                "history_urls": {"coder": "file:///b", "planner": "file:///c"},
            },
            "coder shares a history",
        ),
        ({"history_url": "http://a"}, "begins with file://"),
        ({"history_archive_url": "file:///a"}, "needs history_url"),
        ({"shape": "hybrid", "history_url": "file:///a", "history_cache_url": "x"}, "redis://"),
        ({"shape": "round"}, "shared"),
    ],
)
def test_settings_that_do_not_fit_are_told(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        Settings(**given)


def test_groups_stores_and_passwords_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_SHAPE", "hybrid")
    monkeypatch.setenv("RICORDO_HISTORY_URL", "rediss://ricordo:hunter2@cache:6380/0")
    monkeypatch.setenv("RICORDO_HISTORY_GROUPS", "crew=coder+tester,desk=planner")
    loaded = load_settings()
    assert loaded.settings.history_groups == {"crew": ["coder", "tester"], "desk": ["planner"]}
    assert loaded.shown("history_url") == "rediss://ricordo:********@cache:6380/0"
    assert loaded.shown("history_groups") == "crew=coder+tester, desk=planner"
    monkeypatch.setenv("RICORDO_SHAPE", "distributed")
    monkeypatch.delenv("RICORDO_HISTORY_GROUPS")
    monkeypatch.setenv("RICORDO_HISTORY_URLS", "coder=redis://:hunter2@a:6379,writer=file:///b")
    loaded = load_settings()
    assert loaded.settings.history_urls == {
        "coder": "redis://:hunter2@a:6379", "writer": "file:///b"
    }  # fmt: skip
    assert "hunter2" not in loaded.shown("history_urls")
    monkeypatch.setenv("RICORDO_HISTORY_URL", "http://:hunter2@x")
    with pytest.raises(Invalid) as error:
        load_settings()
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    ("missing", "given", "extra"),
    [
        ("agent_framework_redis", {"history_url": "redis://127.0.0.1:1"}, "redis"),
        ("agent_framework_azure_cosmos", {"history_url": "cosmos://h/d/c"}, "cosmos"),
        (
            "redis",
            {"shape": "hybrid", "history_url": "file:///tmp/x", "history_cache_url": "redis://a"},
            "redis",
        ),
    ],
)
async def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str, given: dict[str, Any], extra: str
) -> None:
    for name in list(sys.modules):
        if name.split(".")[0] == missing or name.startswith("ricordo.adapters.redis"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    given = {k: v.replace("/tmp/x", str(tmp_path)) for k, v in given.items()}
    settings = Settings(history_key="key", **given)
    with pytest.raises(ImportError, match=rf"pip install 'ricordo\[{extra}\]'"):
        async with open_history(settings=settings):
            pass
    importlib.invalidate_caches()
