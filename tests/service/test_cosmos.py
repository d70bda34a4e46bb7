"""Conversations in Cosmos DB by the framework's own provider and the official SDK.

They need Node.js, which a fresh machine may lack, so they are chosen: RICORDO_TEST_COSMOS=1, as
`.ci/run` does where there is Node.js. `tests/support/cosmos_server.py` says what the server under
test cannot do.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Settings, open_history
from ricordo.errors import Invalid
from tests.support.conversing import assistant, keep, read, session_of, settled, user
from tests.support.cosmos_server import WANTED, OneByOne, cosmos_server
from tests.support.fake_model import FakeModel
from tests.support.opening import opened, person
from tests.support.redis_server import RedisServer

# The SDK's transport closes its TLS connections after the loop of the test has gone.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

chosen = os.environ.get(WANTED) == "1"


def test_the_tests_on_a_cosmos_server_are_chosen_or_said_to_be_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing is left out in silence: without Node.js this is what the output says."""
    if not chosen:
        with capsys.disabled():
            print(f"\n[cosmos] not run here; set {WANTED}=1 (needs Node.js 20 and npm)")


@pytest.mark.parametrize(
    ("url", "key", "told"),
    [
        ("cosmos://account.documents.azure.com", "k", "cosmos://ACCOUNT"),
        ("cosmos://account.documents.azure.com/only-database", "k", "cosmos://ACCOUNT"),
        ("cosmos://account.documents.azure.com/d/c?key=secret", "k", "history_key"),
        ("cosmos://account.documents.azure.com/d/c", None, "set history_key"),
    ],
)
async def test_an_address_that_is_none_is_told(url: str, key: str | None, told: str) -> None:
    with pytest.raises(Invalid, match=told) as error:
        async with open_history(settings=Settings(history_url=url, history_key=key)):
            pass
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("key", ["AAAA", "not base64!"])
async def test_a_service_that_is_away_keeps_no_memory_closed(tmp_path: Path, key: str) -> None:
    """Looking, forgetting and erasing need no server of conversations; a receipt names it."""
    settings = Settings(worker=False, history_url="cosmos://127.0.0.1:1/d/c", history_key=key)
    async with opened(tmp_path, settings=settings) as memory:
        await memory.user(person()).remember("Prefers concise examples")
        receipt = await memory.user(person()).erase()
    assert list(receipt.outside) == ["conversations (cosmos)"]
    assert not receipt.clean


if chosen:
    from azure.cosmos import PartitionKey
    from azure.cosmos.aio import CosmosClient

    from ricordo.adapters.histories import cosmos
    from ricordo.adapters.histories.cosmos import open_cosmos
    from ricordo.adapters.redis import RedisHistoryCache
    from ricordo.hosts.maf import HybridHistory, end_session, make_history_provider
    from tests.hosts.maf.conftest import agent_of

    @pytest.fixture(scope="module")
    def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        with cosmos_server(tmp_path_factory.mktemp("cosmos")) as url:
            asyncio.run(prepare(url))
            yield url

    async def prepare(url: str) -> None:
        """What an operator does once: a database, a container, its partition key."""
        async with CosmosClient(url=url, credential=KEY, connection_verify=False) as client:
            database = await client.create_database("ricordo")
            await database.create_container("history", partition_key=PartitionKey("/session_id"))

    KEY = "ZHVtbXk="

    @pytest.fixture
    async def store(address: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
        """Opened as the wiring opens it, with a container that needs no batches."""
        ours = cosmos.container_of
        monkeypatch.setattr(
            cosmos, "container_of", lambda *given, **more: OneByOne(ours(*given, **more))
        )
        url = f"{address.replace('https', 'cosmos')}/ricordo/history"
        async with open_cosmos(url, key=KEY, connection_verify=False) as opened_store:
            yield opened_store

    async def test_conversations_are_kept_in_order_and_apart(store: Any) -> None:
        history = make_history_provider(store=store.provider)
        sessions = [
            session_of(f"t{number}", who=person(who, tenant))
            for number in (1, 2)
            for who, tenant in (("alice", "acme"), ("bob", "acme"), ("alice", "emca"))
        ]
        for turn in range(3):
            for number, session in enumerate(sessions):
                await keep(history, session, f"{number}: {turn}")
        for number, session in enumerate(sessions):
            assert await read(history, session) == [f"{number}: {turn}" for turn in range(3)]

    async def test_a_cache_in_front_of_it(store: Any, tmp_path: Any) -> None:
        """The hybrid of design section 4: Redis over Cosmos DB, with Redis killed in between."""
        with RedisServer(tmp_path / "redis") as server:
            async with AsyncExitStack() as stack:
                opening = RedisHistoryCache.open(server.url, deadline=1)
                cache = await stack.enter_async_context(opening)
                history = HybridHistory(store.provider, cache)
                stack.push_async_callback(history.close)
                session = session_of("cached")
                await keep(history, session, "one")
                await settled(history)
                assert await read(history, session) == ["one"]
                assert await read(history, session) == ["one"]
                assert history.counts.hits >= 1
                server.kill()
                await keep(history, session, "two")
                assert await read(history, session) == ["one", "two"]

    async def test_an_agent_talks_over_it_and_its_session_is_archived(
        store: Any, tmp_path: Any
    ) -> None:
        with FakeModel() as model:
            client = OpenAIChatCompletionClient(
                model="fake", api_key="none", base_url=model.base_url
            )
            async with opened(tmp_path) as memory, client.client:
                archive = make_history_provider(store=store.provider)
                history = make_history_provider(store=store.provider, archive=store.provider)
                session = session_of("archived")
                agent = agent_of(client, history)
                await agent.run("Hello", session=session)
                await agent.run("Hello", session=session)
                assert await read(history, session) == ["Hello", "Fine."] * 2
                ended = await end_session(session, memory=memory, history=history)
                assert ended.put_away == 1
                assert await read(archive, session) == []

    async def test_a_person_is_erased_from_it(store: Any) -> None:
        """Promise 11, across partitions, filtered by the server."""
        history = make_history_provider(store=store.provider)
        alice, bob = person("alice", "erased"), person("bob", "erased")
        for who in (alice, bob):
            for thread in ("t1", "t2"):
                session = session_of(thread, who=who)
                conversation = history.conversation(session, agent="coder")
                await history.store(conversation, [user("said"), assistant("heard")], state={})
        scope = history.conversation(session_of(who=alice), agent="coder").scope
        assert await store.outside.count(scope=scope) == 2
        assert await store.outside.erase(scope=scope) == 2
        assert await store.outside.count(scope=scope) == 0
        assert await store.outside.erase(scope=scope) == 0
        assert await read(history, session_of("t1", who=alice)) == []
        assert await read(history, session_of("t1", who=bob)) == ["said", "heard"]
