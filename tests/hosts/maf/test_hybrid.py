"""The hybrid history on a real Redis: quick when it is there, right whatever happens to it.

The durable history is the truth. What is acknowledged is in it, and nobody is shown a state that is
older than the bound.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from agent_framework import InMemoryHistoryProvider
from redis import exceptions as raised
from redis.asyncio import Redis

from ricordo import RicordoError
from ricordo.adapters.redis import RedisHistoryCache
from ricordo.adapters.redis.faults import BY_CLASS
from ricordo.errors import Denied, Invalid, Unavailable
from ricordo.hosts.maf import HybridHistory
from ricordo.hosts.maf.packing import pack
from tests.support.conversing import Counting, keep, read, session_of, settled, user
from tests.support.opening import person
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")

PROMPT = 5.0
"""Seconds that a call may take here on a busy machine; all deadlines together are far below."""


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
async def server(shared_server: RedisServer) -> RedisServer:
    """A server for tests that leave it alive, empty at their start."""
    async with Redis.from_url(shared_server.url) as client:
        await client.flushall()
    return shared_server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that a test may kill."""
    with RedisServer(tmp_path / "redis") as running:
        yield running


@pytest.fixture
def durable(tmp_path: Path) -> Counting:
    return Counting(tmp_path / "durable")


Make = Callable[..., Any]


@pytest.fixture
async def hybrid(durable: Counting) -> AsyncIterator[Make]:
    """Makes hybrid histories as separate processes have them, each with its own connection."""
    async with AsyncExitStack() as stack:

        async def make(url: str, *, deadline: float = 0.25, **options: Any) -> HybridHistory:
            cache = await stack.enter_async_context(RedisHistoryCache.open(url, deadline=deadline))
            history = HybridHistory(durable, cache, **options)
            stack.push_async_callback(history.close)
            return history

        yield make


async def test_the_second_reader_is_served_from_the_copy(
    server: RedisServer, hybrid: Make, durable: Counting
) -> None:
    one, two = await hybrid(server.url, deadline=5), await hybrid(server.url, deadline=5)
    session = session_of()
    await keep(one, session, "first", "second")
    await settled(one)
    before = durable.readings
    assert await read(two, session) == ["first", "second"]
    assert await read(one, session) == ["first", "second"]
    assert durable.readings == before
    assert (one.counts.hits, two.counts.hits) == (1, 1)


async def test_what_was_written_is_read_at_once_by_everybody(
    server: RedisServer, hybrid: Make
) -> None:
    """Bounded staleness: with the cache reachable the bound does not matter."""
    one = await hybrid(server.url, deadline=5, staleness=3_600)
    two = await hybrid(server.url, deadline=5, staleness=3_600)
    session, told = session_of(), []
    for number in range(20):
        writer, reader = (one, two) if number % 2 else (two, one)
        told.append(f"message {number}")
        await keep(writer, session, told[-1])
        assert await read(reader, session) == told
        assert await read(writer, session) == told


async def test_one_loader_for_many_readers_in_and_across_processes(
    server: RedisServer, hybrid: Make, durable: Counting
) -> None:
    one = await hybrid(server.url, deadline=5, refill=False)
    two = await hybrid(server.url, deadline=5, wait=PROMPT)
    session = session_of()
    await keep(one, session, "said")
    durable.readings = 0
    durable.gate.clear()
    durable.waiting.clear()
    readers = [asyncio.create_task(read(one, session)) for _ in range(20)]
    await durable.waiting.wait()
    readers += [asyncio.create_task(read(two, session)) for _ in range(20)]
    await until(lambda: two.counts.shared == 19)
    durable.gate.set()
    assert await asyncio.gather(*readers) == [["said"]] * 40
    assert durable.readings == 1


async def test_a_reader_that_gives_up_does_not_take_the_others_along(
    server: RedisServer, hybrid: Make, durable: Counting
) -> None:
    history = await hybrid(server.url, deadline=5, refill=False)
    session = session_of()
    await keep(history, session, "said")
    durable.gate.clear()
    durable.waiting.clear()
    first = asyncio.create_task(read(history, session))
    await durable.waiting.wait()
    second = asyncio.create_task(read(history, session))
    await asyncio.sleep(0)
    first.cancel()
    durable.gate.set()
    assert await second == ["said"]
    assert first.cancelled() or first.cancelling()


async def test_a_loader_that_read_before_a_writing_does_not_fill_the_copy_after_it(
    server: RedisServer, hybrid: Make, durable: Counting
) -> None:
    loader = await hybrid(server.url, deadline=5, refill=False)
    writer = await hybrid(server.url, deadline=5, refill=False)
    third = await hybrid(server.url, deadline=5)
    session = session_of()
    await keep(writer, session, "old")
    durable.gate.clear()
    durable.waiting.clear()
    late = asyncio.create_task(read(loader, session))
    await durable.waiting.wait()  # it has read "old", and is on its way to the cache
    await _past_gate(durable, keep(writer, session, "new"))
    durable.gate.set()
    assert await late == ["old"]
    assert await read(third, session) == ["old", "new"]
    assert await read(loader, session) == ["old", "new"]


async def _past_gate(durable: Counting, writing: Any) -> None:
    await writing  # writing passes the gate, which holds readings back only


@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_without_the_cache_everything_goes_on_and_comes_back(
    own_server: RedisServer, hybrid: Make, how: str
) -> None:
    one = await hybrid(own_server.url, deadline=0.2)
    two = await hybrid(own_server.url, deadline=0.2)
    session = session_of()
    await keep(one, session, "before")
    assert await read(two, session) == ["before"]

    own_server.kill() if how == "killed" else own_server.stop()
    began = time.monotonic()
    await keep(one, session, "meanwhile")
    assert await read(one, session) == ["before", "meanwhile"]
    assert await read(two, session) == ["before", "meanwhile"]
    assert time.monotonic() - began < PROMPT
    assert one.counts.faults

    own_server.start() if how == "killed" else own_server.go_on()
    await until(lambda: not one._owed)  # the copy from before is taken away, now that it can be
    await keep(two, session, "after")
    assert await read(one, session) == ["before", "meanwhile", "after"]
    while not two.counts.hits:
        assert await read(two, session) == ["before", "meanwhile", "after"]
        await asyncio.sleep(0.05)


async def test_a_slow_cache_costs_its_deadline_once_and_then_nothing_for_a_while(
    own_server: RedisServer, hybrid: Make
) -> None:
    history = await hybrid(own_server.url, deadline=0.3)
    session = session_of()
    await keep(history, session, "said")
    own_server.stop()
    began = time.monotonic()
    assert await read(history, session) == ["said"]
    first = time.monotonic() - began
    assert 0.25 < first < 2
    faults = history.counts.faults
    for _ in range(5):
        assert await read(history, session) == ["said"]
    assert history.counts.faults == faults
    own_server.go_on()


async def test_a_writer_that_cannot_reach_the_cache_is_missed_no_longer_than_the_bound(
    server: RedisServer, hybrid: Make
) -> None:
    bound = 0.5
    reader = await hybrid(server.url, deadline=5, staleness=bound)
    cut_off = await hybrid("redis://127.0.0.1:1", deadline=0.2)
    session = session_of()
    await keep(reader, session, "known")
    assert await read(reader, session) == ["known"]
    await keep(cut_off, session, "unheard")
    acknowledged = time.monotonic()
    assert await read(cut_off, session) == ["known", "unheard"]
    while True:
        began = time.monotonic()
        found = await read(reader, session)
        if found == ["known", "unheard"]:
            break
        assert found == ["known"]
        assert began - acknowledged <= bound
        await asyncio.sleep(0.01)


async def test_an_emptied_cache_is_filled_again(server: RedisServer, hybrid: Make) -> None:
    history = await hybrid(server.url, deadline=5)
    session = session_of()
    await keep(history, session, "said")
    await settled(history)
    async with Redis.from_url(server.url) as client:
        await client.flushall()
    assert await read(history, session) == ["said"]
    assert await read(history, session) == ["said"]
    assert history.counts.hits == 1


def damaged(payload: bytes) -> bytes:
    return payload.replace(b"said", b"paid")


def of_another_framework(payload: bytes) -> bytes:
    body = b'[{"type": "another", "role": []}]'
    head = payload.split(b" ")[:2]
    return b" ".join([*head, sha256(body).hexdigest().encode()]) + b"\n" + body


RUBBISH: dict[str, Callable[[bytes], dict[str, bytes]]] = {
    "bytes": lambda old: {"data": b"\x00\xffrubbish"},
    "nothing": lambda old: {"data": b""},
    "json": lambda old: {"data": b"[]"},
    "another format": lambda old: {"data": old.replace(b"history-1", b"history-9")},
    "damaged": lambda old: {"data": damaged(old)},
    "another conversation": lambda old: {"data": pack([user("theirs")], key="another.key")},
    "another framework": lambda old: {"data": of_another_framework(old)},
    "no time": lambda old: {"at": b"not a number"},
    "from the future": lambda old: {"at": b"99999999999999"},
    "another hash": lambda old: {"other": b"field"},
}


@pytest.mark.parametrize("rubbish", RUBBISH)
async def test_rubbish_in_the_cache_is_told_from_a_copy(
    server: RedisServer, hybrid: Make, rubbish: str
) -> None:
    history = await hybrid(server.url, deadline=5)
    session = session_of()
    await keep(history, session, "said")
    await settled(history)
    async with Redis.from_url(server.url) as client:
        (key,) = [key async for key in client.scan_iter("*:copy")]
        changed = RUBBISH[rubbish](await client.hget(key, "data"))
        if "other" in changed:
            await client.delete(key)
        await client.hset(key, mapping=changed)
    assert await read(history, session) == ["said"]
    assert await read(history, session) == ["said"]
    assert history.counts.hits == 1  # the second


@pytest.mark.parametrize("kind", ["copy", "lease", "writers"])
async def test_keys_of_another_type_are_dropped(
    server: RedisServer, hybrid: Make, kind: str
) -> None:
    history = await hybrid(server.url, deadline=5)
    session = session_of()
    conversation = history.conversation(session, agent="coder")
    stem = f"ricordo:history:1:{{{conversation.owner}}}:{conversation.place}"
    async with Redis.from_url(server.url) as client:
        await client.rpush(f"{stem}:{kind}", "rubbish")
        if kind == "lease":  # one that never ends by itself: a writing ends it
            assert await read(history, session) == []
        await keep(history, session, "said")
        await settled(history)
        assert await read(history, session) == ["said"]
    assert history.counts.hits >= 1


async def test_a_full_cache_refuses_copies_and_loses_nothing(tmp_path: Path, hybrid: Make) -> None:
    full = RedisServer(tmp_path / "full", maxmemory="3mb", maxmemory_policy="noeviction")
    with full:
        history = await hybrid(full.url, deadline=5)
        session = session_of()
        await keep(history, session, "said")
        await settled(history)
        async with Redis.from_url(full.url) as client:
            with pytest.raises(raised.OutOfMemoryError):
                await fill_up(client)
        await keep(history, session, "more")
        assert await read(history, session) == ["said", "more"]


async def fill_up(client: Redis) -> None:
    for number in range(1_000):
        await client.set(f"ballast {number}", "x" * 100_000)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what must happen."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


async def test_no_two_tenants_nor_users_nor_sessions_meet(
    server: RedisServer, hybrid: Make
) -> None:
    """Promise 1: equal ids elsewhere are other ids."""
    history = await hybrid(server.url, deadline=5)
    everybody = [
        session_of("t1", who=person("alice", "acme")),
        session_of("t1", who=person("alice", "emca")),
        session_of("t1", who=person("bob", "acme")),
        session_of("t2", who=person("alice", "acme")),
        session_of("t1", who=person("lice", "acmea")),
    ]
    for number, session in enumerate(everybody):
        await keep(history, session, f"words {number}")
    for number, session in enumerate(everybody):
        assert await read(history, session) == [f"words {number}"]
        assert await read(history, session) == [f"words {number}"]
    async with Redis.from_url(server.url) as client:
        keys = [key async for key in client.scan_iter("*")]
    assert len(keys) == len(everybody)
    assert all(b"alice" not in key and b"acme" not in key for key in keys)
    assert all(key.startswith(b"ricordo:history:1:{") for key in keys)


async def test_a_wrong_password_is_told_when_the_cache_is_opened(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "locked", requirepass="secret") as locked:
        wrong = locked.url.replace("//", "//:guess@")
        with pytest.raises(Denied, match=f"127.0.0.1:{locked.port}.*password") as error:
            async with RedisHistoryCache.open(wrong):
                pass
        assert "guess" not in str(error.value)
        async with RedisHistoryCache.open(wrong, refusable=True):
            pass  # for who only reads and deletes, and must not be kept from it


async def test_while_the_cache_rests_a_turn_does_not_wait_for_it(tmp_path: Path) -> None:
    """A cache that is gone is asked once, and then for a while not at all; its copy goes later."""
    with RedisServer(tmp_path / "redis") as server:
        async with RedisHistoryCache.open(server.url) as cache:
            history = HybridHistory(Counting(tmp_path / "live"), cache, refill=False)
            server.kill()
            await keep(history, session_of(), "one")
            asked = history.counts.faults
            history._resting[0] = time.monotonic() + 3_600
            for text in ("two", "three"):
                await keep(history, session_of(), text)
            assert history.counts.faults == asked
            await history.close()


@pytest.mark.parametrize("url", ["http://somewhere", "redis://host:port", "nonsense"])
async def test_an_address_that_is_none_is_told(url: str) -> None:
    with pytest.raises(Invalid, match="history_cache_url"):
        async with RedisHistoryCache.open(url):
            pass


async def test_a_cache_that_is_not_there_is_no_error_at_the_start(
    hybrid: Make, caplog: pytest.LogCaptureFixture
) -> None:
    history = await hybrid("redis://:secret@127.0.0.1:1", deadline=0.2)
    assert "not used for now" in caplog.text
    assert "secret" not in caplog.text
    session = session_of()
    await keep(history, session, "said")
    assert await read(history, session) == ["said"]


def test_a_history_in_the_session_is_no_truth_for_a_cache() -> None:
    with pytest.raises(ValueError, match="not durable"):
        HybridHistory(InMemoryHistoryProvider(), None)


async def test_when_the_truth_is_gone_nobody_is_told_otherwise(
    server: RedisServer, hybrid: Make, durable: Counting
) -> None:
    """A copy is good for readings; a writing without the durable history fails."""
    history = await hybrid(server.url, deadline=5, refill=False)
    session = session_of()
    await keep(history, session, "said")
    assert await read(history, session) == ["said"]
    durable.broken = True
    assert await read(history, session) == ["said"]
    with pytest.raises(OSError, match="disk"):
        await keep(history, session, "lost")
    with pytest.raises(OSError, match="disk"):
        await read(history, session)
    durable.broken = False
    assert await read(history, session) == ["said"]


def every(root: type[BaseException]) -> list[type[BaseException]]:
    return [root, *(found for child in root.__subclasses__() for found in every(child))]


def test_every_error_of_the_vendor_is_one_of_ours() -> None:
    ours = [kind for kind in vars(raised).values() if isinstance(kind, type)]
    vendors = {k for k in ours if issubclass(k, Exception) and k.__module__ == raised.__name__}
    vendors |= set(every(raised.RedisError))
    for kind in vendors:
        assert any(issubclass(kind, cause) for cause, _, _ in BY_CLASS), kind
    assert all(issubclass(meant, RicordoError) for _, meant, _ in BY_CLASS)
    assert {meant for _, meant, _ in BY_CLASS} <= {
        Denied,
        Unavailable,
        *Unavailable.__subclasses__(),
    }
