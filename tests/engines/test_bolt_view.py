"""`Neo4jGraphView` keeps the promises of `GraphView` and walks as the ledger does, on servers."""

from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import pytest

from ricordo.adapters.local.viewed_graph import ViewedGraph
from ricordo.adapters.neo4j import Neo4jGraphView
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.memory.viewing.feeding import Feeder
from ricordo.memory.viewing.graphs import GraphSync
from ricordo.testing.graph import GraphBench, GraphIndexSuite
from ricordo.testing.graph_view import GraphViewBench, GraphViewSuite
from ricordo.testing.naive import NOON
from tests.support import bolt
from tests.support.bolt import Bolt
from tests.support.engines import runs_on
from tests.support.viewing import FedGraph, Nobody

ADAPTER = f"neo4j driver {version('neo4j')}"


def view_of(server: Bolt, build: str) -> Neo4jGraphView:
    return Neo4jGraphView(
        server.url,
        name="graph",
        user=server.user,
        password=server.password,
        database=server.database,
        build=build,
        patience=60,
    )


async def viewed(request: pytest.FixtureRequest, server: Bolt) -> AsyncIterator[GraphViewBench]:
    views: list[Neo4jGraphView] = []

    async def make(build: str) -> Neo4jGraphView:
        views.append(view_of(server, build))
        await views[-1].open(create=True)
        return views[-1]

    view = await make("t1")
    runs_on(request, port="GraphView", adapter=ADAPTER, server=view.engine)
    yield GraphViewBench(view=view, again=lambda: make("t1"), other=lambda: make("t2"))
    for one in views:
        await one.close()
    await emptied(server)


async def emptied(server: Bolt) -> None:
    """Nothing stays for the next test; the schema does, for making it takes long."""
    view = view_of(server, "t1")
    await view.open(create=True)
    for scope in await view.scopes():
        await view.drop(scope)
    await view.close()


async def walked(
    request: pytest.FixtureRequest, server: Bolt, folder: Path
) -> AsyncIterator[GraphBench]:
    async with SqliteLedger.open(folder / "memory.db", clock=lambda: NOON) as ledger:
        build = await ledger.enroll("graph", sort="graph", made_of="names")
        view = view_of(server, "t1")
        await view.open(create=True)
        runs_on(request, port="GraphIndex", adapter=f"{ADAPTER}, fed", server=view.engine)
        sync = GraphSync(ledger, view, build)
        feeder = Feeder(ledger, sync, clock=lambda: NOON, holder="test")
        graph = ViewedGraph(
            Nobody(),  # type: ignore[arg-type]
            ledger,
            serving=lambda: (view, build),
            patience=60,
        )
        yield GraphBench(ledger=ledger, graph=FedGraph(graph, feeder))
        await view.close()
        await emptied(server)


@pytest.fixture
def arcadedb() -> Bolt:
    return bolt.shared("arcadedb")


@pytest.fixture
def neo4j() -> Bolt:
    return bolt.shared("neo4j")


class TestArcadeView(GraphViewSuite):
    """ArcadeDB over Bolt."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, arcadedb: Bolt
    ) -> AsyncIterator[GraphViewBench]:
        async for bench in viewed(request, arcadedb):
            yield bench


class TestArcadeWalks(GraphIndexSuite):
    """Walks through ArcadeDB are those of the ledger."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, arcadedb: Bolt, tmp_path: Path
    ) -> AsyncIterator[GraphBench]:
        async for bench in walked(request, arcadedb, tmp_path):
            yield bench


if bolt.CHOSEN:

    class TestNeo4jView(GraphViewSuite):
        """Neo4j 5.26 LTS."""

        @pytest.fixture
        async def bench(
            self, request: pytest.FixtureRequest, neo4j: Bolt
        ) -> AsyncIterator[GraphViewBench]:
            async for bench in viewed(request, neo4j):
                yield bench

    class TestNeo4jWalks(GraphIndexSuite):
        """Walks through Neo4j are those of the ledger."""

        @pytest.fixture
        async def bench(
            self, request: pytest.FixtureRequest, neo4j: Bolt, tmp_path: Path
        ) -> AsyncIterator[GraphBench]:
            async for bench in walked(request, neo4j, tmp_path):
                yield bench
