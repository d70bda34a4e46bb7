"""Views whose engine is another one, was emptied, cannot be loaded, or was given up."""

import asyncio
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Settings
from ricordo.access import user_scope
from ricordo.errors import Conflict, Invalid, NotFound, SpaceMismatch, Unavailable
from ricordo.memory.reindexing import reindex
from ricordo.memory.viewing.feeding import CHECK, Feeder
from ricordo.memory.viewing.rebuilding import kept, rebuild
from ricordo.testing.embedding import HashingEmbedder
from tests.support.opening import Clock, opened, person

TEXTS = ("Works on Project Falcon", "Keeps bees in the garden", "Deploys with blue-green releases")


def settings(folder: Path, **more: Any) -> Settings:
    store = {"provider": "qdrant", "config": {"path": str(folder), "on_disk": True}}
    return viewed_by(store, **more)


def viewed_by(store: dict[str, Any], **more: Any) -> Settings:
    chosen: dict[str, Any] = {
        "vector_view": store,
        "vector_view_from": 0,
        "view_deadline": 60,
        "view_timeout": 60,
        "recall_deadline": 60,
    }
    return Settings(worker=False, **(chosen | more))


async def said(memory: Ricordo, *texts: str, user: str = "alice") -> list[str]:
    mine = memory.user(person(user), agent="coder")
    return [(await mine.remember(text)).memory.id for text in texts]


async def feed(memory: Ricordo) -> Feeder:
    feeder = await memory.services.views.named("vectors").feeder()
    assert await feeder.turn()
    return feeder


async def entries(memory: Ricordo, feeder: Feeder, user: str = "alice") -> int:
    key = await memory.ledger.subject(scope=user_scope(person(user)))
    return len(await feeder.sync.view.inventory(key))


async def rebuilt(memory: Ricordo) -> None:
    async for _ in rebuild(memory.ledger, memory.services.views.named("vectors"), grace=0):
        pass


async def test_another_store_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """Promise 11: what lies in the old store is named in every receipt until somebody sees to it;
    set again, the old store forgets before it serves."""
    first, second = settings(tmp_path / "a"), settings(tmp_path / "b")
    async with opened(tmp_path, settings=first) as memory:
        await said(memory, *TEXTS)
        await said(memory, TEXTS[0], user="bob")
        await feed(memory)
    async with opened(tmp_path, settings=second) as memory:
        outside = memory.services.views.named("vectors")
        with pytest.raises(SpaceMismatch, match="ricordo rebuild vectors"):
            await outside.feeder()
        recollection = await memory.user(person(), agent="coder").recall("bees", hops=0)
        assert recollection.degraded == ("meaning",), "it says that the view had no part in it"
        await rebuilt(memory)
        feeder = await feed(memory)
        assert await entries(memory, feeder) == len(TEXTS)
        [old] = await kept(memory.ledger, outside)
        receipt = await memory.user(person(), agent="coder").erase()
        assert not receipt.clean
        assert receipt.pending == (f"vectors (build 1 in qdrant, path {tmp_path / 'a'})",)
        assert await memory.ledger.holding(scope=receipt.subject) == [old]
    async with opened(tmp_path, settings=first) as memory:
        await rebuilt(memory)
        feeder = await feed(memory)
        assert feeder.sync.build.build == old.build, "it goes on where it was"
        assert await entries(memory, feeder) == 0
        assert await entries(memory, feeder, user="bob") == 1


async def test_a_store_that_lost_everything_is_fed_anew(tmp_path: Path) -> None:
    """An empty volume is noticed when it is opened; until it is fed again it is not believed."""
    async with opened(tmp_path, settings=settings(tmp_path / "q")) as memory:
        await said(memory, *TEXTS)
        assert await entries(memory, await feed(memory)) == len(TEXTS)
    shutil.rmtree(tmp_path / "q")
    async with opened(tmp_path, settings=settings(tmp_path / "q")) as memory:
        outside = memory.services.views.named("vectors")
        await outside.feeder()
        with pytest.raises(Unavailable):
            outside.serving()
        assert await entries(memory, await feed(memory)) == len(TEXTS)
        outside.serving()


async def test_a_collection_that_is_dropped_meanwhile_comes_back(tmp_path: Path) -> None:
    """A feeder looks now and then; what cannot be looked at is opened anew."""
    clock = Clock()
    async with opened(tmp_path, settings=settings(tmp_path / "q"), clock=clock) as memory:
        await said(memory, *TEXTS)
        feeder = await feed(memory)
        await feeder.sync.view.destroy()
        clock.pass_by(seconds=CHECK.total_seconds())
        with pytest.raises(Unavailable):
            await feeder.turn()
        await memory.services.views.named("vectors").refresh()
        assert await entries(memory, await feed(memory)) == len(TEXTS)


async def test_a_view_that_lacks_most_is_not_believed(tmp_path: Path) -> None:
    """Before a feeder has looked: an answer that cannot be whole is no answer."""
    async with opened(tmp_path, settings=settings(tmp_path / "q")) as memory:
        await said(memory, *TEXTS)
        feeder = await feed(memory)
        key = await memory.ledger.subject(scope=user_scope(person()))
        await feeder.sync.view.drop(key)
        recollection = await memory.user(person(), agent="coder").recall("bees", hops=0)
        assert recollection.degraded == ("meaning",)


class Small(HashingEmbedder):
    """Another model, with vectors of half the length."""

    model = "small-32"

    async def dimension(self) -> int:
        return 32

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        return [_half(vector) for vector in await super().documents(texts)]

    async def question(self, text: str) -> bytes:
        return _half(await super().question(text))


def _half(vector: bytes) -> bytes:
    numbers = struct.unpack("<64f", vector)[:32]
    length = sum(number * number for number in numbers) ** 0.5 or 1.0
    return struct.pack("<32f", *(number / length for number in numbers))


async def test_a_model_of_another_dimension_is_rebuilt_for(tmp_path: Path) -> None:
    """The old build's vectors go, though no vector of the new length fits there."""
    async with opened(tmp_path, settings=settings(tmp_path / "q")) as memory:
        await said(memory, *TEXTS)
        await feed(memory)
    async with opened(tmp_path, settings=settings(tmp_path / "q"), embedder=Small()) as memory:
        async for _ in reindex(memory.services):
            pass
        await rebuilt(memory)
        [build] = await memory.ledger.builds()
        assert build.build == 2
        assert await entries(memory, await feed(memory)) == len(TEXTS)
        assert (await memory.user(person(), agent="coder").erase()).clean


MISSING = {"provider": "pinecone", "config": {"api_key": "hunter2"}}


async def test_a_missing_package_stops_nothing(tmp_path: Path) -> None:
    """Promise 11: what is forgotten is gone; the view that cannot be loaded is named, and why."""
    async with opened(tmp_path, settings=viewed_by(MISSING)) as memory:
        mine = memory.user(person(), agent="coder")
        ids = await said(memory, *TEXTS)
        outside = memory.services.views.named("vectors")
        with pytest.raises(Invalid, match="package") as failed:
            await outside.feeder()
        assert "hunter2" not in str(failed.value)
        await mine.forget(ids[0])
        receipt = await mine.erase()
        assert receipt.pending == ("vectors",)
        [standing] = await memory.services.views.standing()
        assert "package" in str(standing.fault)
        with pytest.raises(Invalid, match="package"):
            await rebuilt(memory)


async def test_a_view_that_is_given_up_is_waited_for_no_more(tmp_path: Path) -> None:
    """Switched off for good, it is dismissed, and what is left to be deleted is told."""
    async with opened(tmp_path, settings=settings(tmp_path / "q")) as memory:
        await said(memory, *TEXTS)
        await feed(memory)
        with pytest.raises(Conflict, match="vector_view"):
            await memory.give_up_view("vectors")
    async with opened(tmp_path) as memory:
        [left] = await memory.give_up_view("vectors")
        assert (left.view, left.build) == ("vectors", 1)
        assert left.place == f"qdrant, path {tmp_path / 'q'}"
        assert left.names
        assert all(name.endswith("_1") for name in left.names)
        assert (tmp_path / "q" / left.names[0]).is_dir()
        assert await memory.ledger.builds() == []
        assert await memory.readers() == []
        assert (await memory.user(person(), agent="coder").erase()).clean
        with pytest.raises(NotFound):
            await memory.give_up_view("vectors")


async def test_only_the_store_that_is_not_set_any_more_is_given_up(tmp_path: Path) -> None:
    """With another store set: the build in the old one goes, the one that serves stays."""
    async with opened(tmp_path, settings=settings(tmp_path / "a")) as memory:
        await said(memory, *TEXTS)
        await feed(memory)
    async with opened(tmp_path, settings=settings(tmp_path / "b")) as memory:
        await rebuilt(memory)
        await feed(memory)
        [left] = await memory.give_up_view("vectors")
        assert left.build == 1
        assert [one.build for one in await memory.ledger.builds()] == [2]
        assert (await memory.user(person(), agent="coder").erase()).clean


async def test_a_scope_that_the_store_does_not_take_keeps_up_no_other(tmp_path: Path) -> None:
    """Its fault is told, and it is tried again; everybody else's memories are fed."""
    clock = Clock()
    async with opened(tmp_path, settings=settings(tmp_path / "q"), clock=clock) as memory:
        feeder = await feed(memory)
        await said(memory, *TEXTS)
        await said(memory, TEXTS[0], user="bob")
        view: Any = feeder.sync.view
        key = await memory.ledger.subject(scope=user_scope(person()))
        upsert = view.upsert

        async def refusing(points: Any, *, scope: str, fresh: bool) -> None:
            if scope == key:
                raise Invalid("the store does not take it")
            await upsert(points, scope=scope, fresh=fresh)

        view.upsert = refusing
        assert await feeder.turn()
        assert (await entries(memory, feeder), await entries(memory, feeder, "bob")) == (0, 1)
        [standing] = await memory.services.views.standing()
        assert standing.behind == 0
        assert "the store does not take it" in str(standing.fault)
        view.upsert = upsert
        clock.pass_by(seconds=CHECK.total_seconds())
        assert await feeder.turn()
        assert await entries(memory, feeder) == len(TEXTS)
        assert feeder.fault is None


async def test_small_partitions_keep_their_meaning_while_the_view_is_down(tmp_path: Path) -> None:
    """What is held in memory anyway is found by meaning, and only the rest is missing."""
    down = {"provider": "qdrant", "config": {"url": "http://127.0.0.1:9", "api_key": "k"}}
    chosen = viewed_by(down, vector_view_from=30)
    async with opened(tmp_path, settings=chosen) as memory:
        principal = person(admin=[None])
        await said(memory, TEXTS[1])
        organization = memory.organization(principal)
        await asyncio.gather(*(organization.document(f"Policy number {n}") for n in range(31)))
        mine = memory.user(principal, agent="coder")
        found = await mine.recall("bees in a garden", hops=0, explain=True)
        assert found.degraded == ("meaning",)
        [bees] = [item for item in found.items if item.memory.text == TEXTS[1]]
        assert bees.signals["meaning"] > 0
