"""`Mem0View` keeps the promises of `VectorView` on every one of mem0's stores that can run here."""

from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from ricordo.adapters.mem0 import Mem0View
from ricordo.errors import Invalid, SpaceMismatch
from ricordo.testing.vector_view import (
    ALICE,
    DIMENSION,
    VectorViewBench,
    VectorViewSuite,
    key,
    point,
    vector,
)
from tests.support.engines import runs_on
from tests.support.postgres import Server


def view_of(store: dict[str, Any], *, dimension: int = DIMENSION) -> Mem0View:
    return Mem0View(store, name="vectors", collection="ricordo_1", dimension=dimension, patience=60)


async def opened(store: dict[str, Any], collection: str) -> Mem0View:
    view = Mem0View(store, name="vectors", collection=collection, dimension=DIMENSION, patience=60)
    await view.open(create=True)
    return view


async def benched(
    request: pytest.FixtureRequest, store: dict[str, Any], server: str
) -> AsyncIterator[VectorViewBench]:
    runs_on(request, port="VectorView", adapter=f"mem0 {version('mem0ai')}", server=server)
    views: list[Mem0View] = []

    async def make(collection: str) -> Mem0View:
        views.append(await opened(store, collection))
        return views[-1]

    yield VectorViewBench(
        view=await make("ricordo_1"),
        again=lambda: make("ricordo_1"),
        other=lambda: make("ricordo_2"),
    )
    for one in views:
        await one.close()


class TestQdrantInProcess(VectorViewSuite):
    """Qdrant's client without a server; a server's network and cluster are not tested here."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[VectorViewBench]:
        store = {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "on_disk": True}}
        name = f"Qdrant in process ({version('qdrant-client')})"
        async for bench in benched(request, store, name):
            yield bench


class TestChromaInProcess(VectorViewSuite):
    """Chroma in this process."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[VectorViewBench]:
        store = {"provider": "chroma", "config": {"path": str(tmp_path / "chroma")}}
        async for bench in benched(request, store, f"Chroma in process ({version('chromadb')})"):
            yield bench


class TestFaiss(VectorViewSuite):
    """faiss in this process; it filters late, so it is asked for everything."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[VectorViewBench]:
        store = {"provider": "faiss", "config": {"path": str(tmp_path / "faiss")}}
        async for bench in benched(request, store, f"faiss in process ({version('faiss-cpu')})"):
            yield bench


class TestMilvusLite(VectorViewSuite):
    """Milvus Lite, a file."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, tmp_path: Path
    ) -> AsyncIterator[VectorViewBench]:
        config = {"url": str(tmp_path / "milvus.db"), "token": "", "db_name": ""}
        store = {"provider": "milvus", "config": config}
        async for bench in benched(request, store, f"Milvus Lite ({version('milvus-lite')})"):
            yield bench


class TestPgvector(VectorViewSuite):
    """pgvector on a real PostgreSQL, without its approximate index."""

    @pytest.fixture
    async def bench(
        self, request: pytest.FixtureRequest, vectors_postgres: Server
    ) -> AsyncIterator[VectorViewBench]:
        server, database = vectors_postgres, vectors_postgres.empty()
        store = {
            "provider": "pgvector",
            "config": {"connection_string": server.admin(database)},
        }
        name = f"pgvector on PostgreSQL {server.version}, {server.pgvector}"
        async for bench in benched(request, store, name):
            yield bench
        server.drop(database)


REFUSED = (
    ({"provider": "langchain"}, "cannot hold a view"),
    ({"provider": "s3_vectors"}, "cannot hold a view"),
    ({"provider": "pgvector", "config": {"hnsw": True}}, "hnsw"),
    ({"provider": "faiss", "config": {"distance_strategy": "euclidean"}}, "distance_strategy"),
    ({"provider": "milvus", "config": {"metric_type": "L2"}}, "metric_type"),
    ({"provider": "qdrant", "config": {"collection_name": "mine"}}, "collection_name"),
    ({"provider": "qdrant", "config": {"embedding_model_dims": 3}}, "embedding_model_dims"),
)


@pytest.mark.parametrize(("store", "reason"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_cannot_hold_a_view_is_refused(store: dict[str, Any], reason: str) -> None:
    """Before anything is opened, with the reason."""
    with pytest.raises(Invalid, match=reason):
        view_of(store)


async def test_a_wrong_configuration_is_told_without_its_secrets() -> None:
    """The message says what is wrong, and not what is in it."""
    for store in (
        {"provider": "nothing", "config": {"api_key": "hunter2"}},
        {"provider": "qdrant", "config": {"api_key": "hunter2", "colour": "blue"}},
    ):
        view = view_of(store)
        with pytest.raises(Invalid) as failed:
            await view.open(create=True)
        await view.close()
        assert "hunter2" not in str(failed.value)


async def test_vectors_of_another_size_are_told(tmp_path: Path) -> None:
    """A collection that was made for another model is not written to."""
    store = {"provider": "qdrant", "config": {"path": str(tmp_path / "q"), "on_disk": True}}
    view = await opened(store, "ricordo_1")
    await view.upsert([point("m_1", 1)], scope=ALICE, fresh=True)
    await view.close()
    other = view_of(store, dimension=DIMENSION + 1)
    with pytest.raises(SpaceMismatch):
        await other.open(create=True)
    await other.close()


async def test_a_store_that_filters_after_its_search_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unknown store is tried out: faiss, were it not known to filter late, would be refused."""
    from ricordo.adapters.mem0 import traits

    known = {"faiss": traits.Traits(fixed={"distance_strategy": "cosine"}, local=("path",))}
    monkeypatch.setattr(traits, "_TRAITS", known)
    view = view_of({"provider": "faiss", "config": {"path": str(tmp_path / "faiss")}})
    with pytest.raises(Invalid, match="starve"):
        await view.open(create=True)
    await view.close()


async def test_a_probe_leaves_nothing(tmp_path: Path) -> None:
    store = {"provider": "chroma", "config": {"path": str(tmp_path / "chroma")}}
    view = await opened(store, "ricordo_1")
    assert await view.scopes() == set()
    assert list(await view.search(vector(1), part=key("any"), limit=5)) == []
    await view.close()


async def test_a_scope_larger_than_a_list_is_dropped_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Promise 3: page by page, as far as the store lists; what cannot be listed whole is told."""
    from ricordo.adapters.mem0 import traits

    short = traits.Traits(local=("path",), apart="path", most_listed=20)
    monkeypatch.setattr(traits, "_TRAITS", {"qdrant": short})
    view = await opened({"provider": "qdrant", "config": {"path": str(tmp_path / "q")}}, "r_1")
    many = [point(f"m_{n}", 1) for n in range(50)]
    await view.upsert(many, scope=ALICE, fresh=True)
    await view.upsert(many[:5], scope=key("bob"), fresh=True)
    for listed in (view.inventory(ALICE), view.scopes()):
        with pytest.raises(Invalid, match="lists 20 entries at most"):
            await listed
    await view.drop(ALICE)
    assert await view.inventory(ALICE) == {}
    assert len(await view.inventory(key("bob"))) == 5
    await view.close()
