"""Views outside, from settings: which there are, and who asks them."""

import secrets
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import datetime
from typing import cast

from ricordo.adapters.local import LocalGraph, LocalIndex
from ricordo.adapters.local.viewed import ViewedIndex
from ricordo.adapters.local.viewed_graph import ViewedGraph
from ricordo.memory.viewing.graphs import GraphSync
from ricordo.memory.viewing.leaving import mark_of
from ricordo.memory.viewing.outside import Outside, Plan
from ricordo.memory.viewing.syncing import Sync
from ricordo.memory.viewing.vectors import VectorSync
from ricordo.memory.viewing.views import Views
from ricordo.model import Space
from ricordo.ports import GraphIndex, GraphView, Ledger, VectorIndex, VectorView, ViewBuild
from ricordo.settings import Settings
from ricordo.wiring.places import graph_place, store_place

Telling = Callable[[], Awaitable[Space]]

VECTORS, GRAPH = "vectors", "graph"
"""Names of the views, for `ricordo verify` and `ricordo rebuild`."""


async def make_views(
    settings: Settings, ledger: Ledger, *, space: Telling, clock: Callable[[], datetime]
) -> Views:
    """The views that the settings name; nothing is opened yet.

    Several ledgers may use one engine: what each of them makes there has a name of its own.
    """
    mark = await mark_of(ledger)
    plans: list[Plan] = []
    if settings.vector_view is not None:
        plans.append(_vectors(settings, ledger, space, mark))
    if settings.graph_view_url is not None:
        plans.append(_graph(settings, ledger, mark))
    holder = f"feeder-{secrets.token_hex(8)}"
    return Views(ledger, [Outside(ledger, plan, clock=clock, holder=holder) for plan in plans])


async def viewed_index(
    settings: Settings,
    views: Views,
    inner: LocalIndex,
    ledger: Ledger,
    *,
    space: Telling,
    stack: AsyncExitStack,
) -> VectorIndex:
    """The index that asks the vector view for large partitions, where one is configured."""
    if settings.vector_view is None:
        return inner
    outside = views.named(VECTORS)
    index = ViewedIndex(
        inner,
        ledger,
        space=space,
        serving=lambda: cast("tuple[VectorView, ViewBuild]", outside.serving()),
        least=settings.vector_view_from,
        patience=settings.view_deadline,
        max_bytes=settings.index_memory_mb * 1_000_000,
    )
    return await stack.enter_async_context(index)


def viewed_graph(settings: Settings, views: Views, local: LocalGraph, ledger: Ledger) -> GraphIndex:
    """The walk that asks the graph view, where one is configured."""
    if settings.graph_view_url is None:
        return local
    outside = views.named(GRAPH)
    return ViewedGraph(
        local,
        ledger,
        serving=lambda: cast("tuple[GraphView, ViewBuild]", outside.serving()),
        patience=settings.view_deadline,
    )


def _vectors(settings: Settings, ledger: Ledger, space: Telling, mark: str) -> Plan:
    store = settings.vector_view
    if store is None:
        raise ValueError("no vector view is set")

    async def make(build: ViewBuild) -> Sync:
        from ricordo.adapters.mem0 import Mem0View

        known = await space()
        view = Mem0View(
            store.model_dump(),
            name=build.view,
            collection=f"ricordo_{mark}_{build.build}",
            dimension=known.dimension,
            patience=settings.view_timeout,
        )
        return VectorSync(ledger, view, build, space=known)

    async def made_of() -> str:
        # Not the analyzer: words are not in the view.
        known = await space()
        return f"{known.model} ({known.dimension} dimensions, transform {known.transform})"

    place = store_place(store.model_dump())
    return Plan(name=VECTORS, sort="vectors", place=place, made_of=made_of, make=make)


def _graph(settings: Settings, ledger: Ledger, mark: str) -> Plan:
    url, password = settings.graph_view_url, settings.graph_view_password
    if url is None:
        raise ValueError("no graph view is set")

    async def make(build: ViewBuild) -> Sync:
        from ricordo.adapters.neo4j import Neo4jGraphView

        view = Neo4jGraphView(
            url,
            name=build.view,
            user=settings.graph_view_user,
            password=password.get_secret_value() if password else "",
            database=settings.graph_view_database,
            build=f"{mark}_{build.build}",
            patience=settings.view_timeout,
        )
        return GraphSync(ledger, view, build)

    async def made_of() -> str:
        return "names and relations, 1"

    place = graph_place(url, settings.graph_view_database)
    return Plan(name=GRAPH, sort="graph", place=place, made_of=made_of, make=make)
