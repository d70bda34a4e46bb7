"""Many callers and few connections: who gave up costs nothing more, and a busy server is not asked
for more than it has."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from ricordo.adapters.postgres import PostgresLedger, lanes
from ricordo.errors import RicordoError
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import ALICE, memory, store, stored
from tests.support.postgres import Server


@pytest.fixture
def database(first_postgres: Server) -> Iterator[str]:
    name = first_postgres.ledger()
    yield name
    first_postgres.give_back(name)


@contextmanager
def held(server: Server, database: str) -> Iterator[None]:
    """Nobody can read or write memories meanwhile."""
    with psycopg.connect(server.admin(database)) as other:
        other.execute("lock table ricordo.memories in access exclusive mode")
        yield


async def until_waiting(ledger: Any, count: int) -> None:
    async with asyncio.timeout(60):
        while ledger._lanes._pool.get_stats()["requests_waiting"] < count:
            await asyncio.sleep(0.005)


async def test_what_nobody_waits_for_any_more_is_not_begun(
    first_postgres: Server, database: str
) -> None:
    """Ledger 4: else recalls that are over since long would keep the connections busy."""
    begun: list[str] = []

    async def late(tx: Any) -> None:
        begun.append("late")
        await tx.memories(["m_1"], scope=ALICE)

    url = first_postgres.url(database)
    async with PostgresLedger.open(url, clock=HandClock(), connections=1, patience=60) as ledger:
        with held(first_postgres, database):
            first = asyncio.create_task(store(ledger, memory("first", id="m_1")))
            async with asyncio.timeout(60):
                while ledger._lanes._pool.get_stats()["pool_available"]:
                    await asyncio.sleep(0.005)
            late_read = asyncio.create_task(ledger.read(late, scopes=[ALICE]))
            late_write = asyncio.create_task(ledger.write(late, scope=ALICE))
            await until_waiting(ledger, 2)
            for each in (late_read, late_write):
                each.cancel()
            ended = await asyncio.gather(late_read, late_write, return_exceptions=True)
            assert [type(each) for each in ended] == [asyncio.CancelledError] * 2
        await first
        await store(ledger, memory("last", id="m_2"))
        assert begun == []
        assert len(await stored(ledger, "m_1", "m_2")) == 2


async def test_many_that_wait_in_vain_try_one_connection_more(
    first_postgres: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each learns why it waited; together they do not take the server's last connections."""
    trying, most = 0, 0
    connect = lanes.connect

    async def counted(*address: Any, **more: Any) -> Any:
        nonlocal trying, most
        trying += 1
        most = max(most, trying)
        try:
            return await connect(*address, **more)
        finally:
            trying -= 1

    url = first_postgres.url(database)
    async with PostgresLedger.open(url, clock=HandClock(), connections=1, patience=0.5) as ledger:
        monkeypatch.setattr(lanes, "connect", counted)
        with held(first_postgres, database):
            writes = [store(ledger, memory(f"number {number}")) for number in range(40)]
            ended = await asyncio.gather(*writes, return_exceptions=True)
        assert all(isinstance(each, RicordoError) for each in ended)
        assert any("were busy" in str(each) for each in ended)
        assert most == 1
