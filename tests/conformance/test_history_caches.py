"""Both caches keep every promise of their port: in this process, and on a real server."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from ricordo.adapters.local import LocalHistoryCache
from ricordo.adapters.redis import RedisHistoryCache
from ricordo.ports import HistoryCache
from ricordo.testing.history import LEASE, LIFETIME, PATIENCE, Elapse, HistoryCacheSuite
from tests.support.engines import runs_on
from tests.support.redis_server import RedisServer


class Hand:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


class TestLocalHistoryCache(HistoryCacheSuite):
    @pytest.fixture
    def clock(self) -> Hand:
        return Hand()

    @pytest.fixture
    def cache(self, clock: Hand, request: pytest.FixtureRequest) -> HistoryCache:
        runs_on(request, port="HistoryCache", adapter="local", server="in this process")
        return LocalHistoryCache(lifetime=LIFETIME, lease=LEASE, patience=PATIENCE, clock=clock)

    @pytest.fixture
    def elapse(self, clock: Hand) -> Elapse:
        async def go_by(seconds: float) -> None:
            clock.now += seconds

        return go_by


class TestRedisHistoryCache(HistoryCacheSuite):
    @pytest.fixture
    async def cache(
        self, server: RedisServer, request: pytest.FixtureRequest
    ) -> AsyncIterator[HistoryCache]:
        runs_on(request, port="HistoryCache", adapter="redis", server=server.version)
        async with RedisHistoryCache.open(
            server.url,
            lifetime=LIFETIME,
            lease=LEASE,
            patience=PATIENCE,
            deadline=5.0,
            prefix=f"test:{request.node.name}",
        ) as cache:
            yield cache

    @pytest.fixture
    def elapse(self) -> Elapse:
        return asyncio.sleep  # the server's own clock tells the time there
