"""A view of vectors outside: fed, checked, rebuilt, switched off; never asked what is true."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Settings
from ricordo.access import user_scope
from ricordo.errors import Conflict, NotFound, SpaceMismatch, Unavailable
from ricordo.events import UserMemoryErased
from ricordo.memory.pruning import Retention, prune_now
from ricordo.memory.viewing.feeding import Feeder
from ricordo.memory.viewing.outside import Outside
from ricordo.memory.viewing.rebuilding import rebuild
from ricordo.memory.viewing.verifying import Difference, verify
from ricordo.ports import Point
from tests.support.opening import Clock, opened, person

SCOPE = user_scope(person())

TEXTS = (
    "Works on Project Falcon",
    "Deploys with blue-green releases",
    "Keeps bees in the garden",
    "Reads the incident reports on Mondays",
)


def settings(folder: Path, *, least: int = 0, **more: Any) -> Settings:
    store = {"provider": "qdrant", "config": {"path": str(folder / "qdrant"), "on_disk": True}}
    return Settings(
        worker=False,
        vector_view=store,  # type: ignore[arg-type]
        vector_view_from=least,
        view_deadline=30,
        view_timeout=60,
        recall_deadline=60,
        **more,
    )


def view_of(memory: Ricordo) -> Outside:
    return memory.services.views.named("vectors")


async def feed(memory: Ricordo) -> Outside:
    outside = view_of(memory)
    assert await (await outside.feeder()).turn()
    return outside


async def scopes_in(feeder: Feeder) -> set[str]:
    """Whose entries are in the view; its build's own entry is nobody's."""
    return await feeder.sync.view.scopes() - {await feeder.signature()}


async def said(memory: Ricordo, *texts: str, user: str = "alice") -> list[str]:
    mine = memory.user(person(user), agent="coder")
    return [(await mine.remember(text)).memory.id for text in texts]


async def found(memory: Ricordo, question: str, *, user: str = "alice") -> list[str]:
    recollection = await memory.user(person(user), agent="coder").recall(question, hops=0)
    assert recollection.degraded == ()
    return [item.memory.text for item in recollection.items]


async def differences(memory: Ricordo, *, repair: bool = False) -> list[Difference]:
    compared = verify(memory.ledger, view_of(memory), repair=repair)
    return [one async for one in compared if one is not None]


async def test_recall_through_a_view_is_recall(tmp_path: Path) -> None:
    """Promise 2 of the index: with the view fed, half fed or not fed, the answer is the same."""
    for name in "ab":
        (tmp_path / name).mkdir()
    async with (
        opened(tmp_path / "a") as plain,
        opened(tmp_path / "b", settings=settings(tmp_path)) as memory,
    ):
        for one in (plain, memory):
            await said(one, *TEXTS[:2])
        await feed(memory)
        for one in (plain, memory):
            await said(one, *TEXTS[2:])
        for _ in range(2):
            for question in ("Which project does Alice work on?", "bees", "releases"):
                assert await found(memory, question) == await found(plain, question)
            await feed(memory)
        assert await differences(memory) == []


@pytest.mark.usefixtures("engine")
async def test_what_was_acknowledged_is_found_before_the_view_knows(tmp_path: Path) -> None:
    """Promise 2 of the index, and promise 11: forgotten is gone while the view still has it."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        first, second = await said(memory, *TEXTS[:2])
        outside = await feed(memory)
        view = (await outside.feeder()).sync.view
        mine = memory.user(person(), agent="coder")
        await mine.edit(first, text="Works on Project Kestrel")
        await memory.ledger.write(lambda tx: tx.remove([second], scope=SCOPE), scope=SCOPE)
        assert len(await view.inventory(await memory.ledger.subject(scope=SCOPE))) == 2
        assert await found(memory, "Project Kestrel") == ["Works on Project Kestrel"]
        assert TEXTS[1] not in await found(memory, TEXTS[1])


async def test_a_view_that_lies_shows_nothing(tmp_path: Path) -> None:
    """Promise 1: what a view names is looked up in the asker's own memory, and nowhere else."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        [mine] = await said(memory, TEXTS[0])
        [theirs] = await said(memory, "Bob's salary is secret", user="bob")
        outside = await feed(memory)
        feeder = await outside.feeder()
        ledger, view = memory.ledger, feeder.sync.view
        scope = SCOPE
        key = await ledger.subject(scope=scope)
        [(_, part)] = await _parts(memory, scope)
        vector = await memory.services.embedder.question("Bob's salary is secret")
        lies = [
            Point(memory_id=one, part=part, vector=vector, version="x") for one in (theirs, "m_0")
        ]
        await view.upsert(lies, scope=key, fresh=True)  # type: ignore[attr-defined]
        assert await found(memory, "Bob's salary is secret") == [TEXTS[0]]
        [difference] = await differences(memory, repair=True)
        assert (difference.extra, difference.missing, difference.stale) == (2, 0, 0)
        assert list(await view.inventory(key)) == [mine]


async def _parts(memory: Ricordo, scope: Any) -> list[tuple[str, str]]:
    from ricordo.model import part_key

    states = await memory.ledger.read(lambda tx: tx.partitions(scope=scope), scopes=[scope])
    key = await memory.ledger.subject(scope=scope)
    return [(key, part_key(key, state.partition)) for state in states]


@pytest.mark.usefixtures("engine")
async def test_forgetting_and_erasing_reach_the_view_at_once(tmp_path: Path) -> None:
    """Promise 11: not only when it is fed; the receipt comes from a scan of the view, too."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        mine = memory.user(person(), agent="coder")
        ids = await said(memory, *TEXTS[:2])
        await said(memory, TEXTS[2], user="bob")
        feeder = await (await feed(memory)).feeder()
        key = await memory.ledger.subject(scope=SCOPE)
        await mine.forget(ids[0])
        assert list(await feeder.sync.view.inventory(key)) == ids[1:]
        receipt = await mine.erase()
        assert receipt.clean
        assert receipt.remaining["view vectors"] == 0
        assert len(await scopes_in(feeder)) == 1
        await feed(memory)
        assert await differences(memory) == []
        # Whoever comes back begins anew, in the view as well.
        await said(memory, TEXTS[3])
        await feed(memory)
        assert await differences(memory) == []
        assert await found(memory, "reports") == [TEXTS[3]]


@pytest.mark.usefixtures("engine")
async def test_deletion_does_not_depend_on_a_flag(tmp_path: Path) -> None:
    """Promise 11: an erasure while the view is switched off is applied before its first search."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        [gone] = await said(memory, TEXTS[0])
        kept = await said(memory, *TEXTS[1:3], user="bob")
        await feed(memory)
    async with opened(tmp_path) as memory:  # switched off
        mine = memory.user(person(), agent="coder")
        receipt = await mine.erase()
        assert not receipt.clean
        assert receipt.pending == ("vectors",), "the receipt says where something may be left"
        await memory.user(person("bob"), agent="coder").forget(kept[0])
        [standing] = await memory.services.views.standing()
        assert not standing.configured
        assert standing.behind, "its place in the outbox is known while it is off"
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        outside = view_of(memory)
        with pytest.raises(Unavailable, match="not ready"):
            outside.serving()
        feeder = await outside.feeder()  # opening it applies erasures, nothing else does
        outside.serving()
        assert await scopes_in(feeder) == {
            await memory.ledger.subject(scope=user_scope(person("bob")))
        }
        assert await memory.ledger.holding(scope=receipt.subject) == []
        await feed(memory)
        assert await differences(memory) == []
        assert await found(memory, "bees", user="bob") == [TEXTS[2]]
        assert gone not in str(await feeder.sync.view.scopes())


async def test_what_was_there_before_a_view_is_fed(tmp_path: Path) -> None:
    """A view switched on later gets everything, and only once each."""
    async with opened(tmp_path) as memory:
        await said(memory, *TEXTS)
    for _ in range(2):
        async with opened(tmp_path, settings=settings(tmp_path)) as memory:
            await feed(memory)
            assert await differences(memory) == []
            assert len(await memory.ledger.builds()) == 1


async def test_the_same_events_again_change_nothing(tmp_path: Path) -> None:
    """At least once is enough: a feeder that died before it said how far it was begins again."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        await said(memory, *TEXTS)
        feeder = await (await feed(memory)).feeder()
        await memory.ledger.dismiss(feeder.sync.build)  # marks and place are lost …
        await memory.ledger.enroll("vectors", sort="vectors", made_of=feeder.sync.build.made_of)
        await feeder.sweep()  # … and it is fed from the beginning, into what is there
        key = await memory.ledger.subject(scope=SCOPE)
        assert len(await feeder.sync.view.inventory(key)) == len(TEXTS)


async def test_verify_finds_and_mends_what_differs(tmp_path: Path) -> None:
    """Missing, extra and stale entries are told apart, and none is left after the repair."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        ids = await said(memory, *TEXTS)
        feeder = await (await feed(memory)).feeder()
        scope = SCOPE
        [(key, part)] = await _parts(memory, scope)
        view: Any = feeder.sync.view
        await view.remove([ids[0]], scope=key)
        other = await memory.services.embedder.question("something else")
        stale = Point(memory_id=ids[1], part=part, vector=other, version="old")
        extra = Point(memory_id="m_gone", part=part, vector=other, version="x")
        await view.upsert([stale, extra], scope=key, fresh=False)
        stranger = Point(memory_id="m_1", part="ab" * 16, vector=other, version="x")
        await view.upsert([stranger], scope="cd" * 32, fresh=True)
        counted = [
            (d.scope, d.missing, d.extra, d.stale, d.mended) for d in await differences(memory)
        ]
        assert counted == [(scope, 1, 1, 1, False), (None, 0, 1, 0, False)]
        assert all(one.mended for one in await differences(memory, repair=True))
        assert await differences(memory) == []
        assert await scopes_in(feeder) == {key}


@pytest.mark.usefixtures("engine")
async def test_a_rebuild_serves_the_old_until_the_new_is_whole(tmp_path: Path) -> None:
    """Interrupted and taken up again; what happens meanwhile is in both."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        for user in ("alice", "bob", "carol"):
            await said(memory, *TEXTS[:2], user=user)
        outside = await feed(memory)
        old = (await outside.feeder()).sync.build
        begun = rebuild(memory.ledger, outside, grace=0)
        async for done, _ in begun:
            if done == 2:
                break
        await begun.aclose()
        assert outside.serving()[1] == old
        [half] = [one for one in await memory.ledger.builds() if not one.serving]
        await memory.user(person("alice"), agent="coder").erase()
        await said(memory, TEXTS[3], user="bob")
        assert await found(memory, "Mondays", user="bob") != []
        steps = [done async for done, _ in rebuild(memory.ledger, outside, grace=0)]
        assert steps[-1] == len(await memory.ledger.scopes())
        [build] = await memory.ledger.builds()
        assert (build.build, build.serving) == (half.build, True)
        await asyncio.sleep(0.3)  # the next look is no sooner
        feeder = await outside.feeder()
        assert feeder.sync.build.build == half.build
        assert await differences(memory) == []
        assert len(await scopes_in(feeder)) == 2


async def test_another_model_needs_another_build(tmp_path: Path) -> None:
    """What was built with another model is not searched; the message says what to do."""
    async with opened(tmp_path, settings=settings(tmp_path)) as memory:
        await said(memory, *TEXTS[:2])
        await feed(memory)
    (tmp_path / "x").mkdir()
    async with opened(tmp_path / "x", settings=settings(tmp_path / "x")) as fresh:
        await fresh.ledger.enroll("vectors", sort="vectors", made_of="another model")
        with pytest.raises(SpaceMismatch, match="ricordo rebuild vectors"):
            await view_of(fresh).feeder()
        async for _ in rebuild(fresh.ledger, view_of(fresh), grace=0):
            pass
        await view_of(fresh).feeder()


@pytest.mark.filterwarnings("ignore:Failed to obtain server version")
async def test_a_view_that_was_retired_is_made_equal_again(tmp_path: Path) -> None:
    """Switched off for good, it holds nothing up; set again, it forgets first, then catches up."""
    clock = Clock()
    with_view, without = settings(tmp_path), Settings(worker=False)
    async with opened(tmp_path, settings=with_view, clock=clock) as memory:
        first, _ = await said(memory, *TEXTS[:2])
        await said(memory, "Bob sings", user="bob")
        outside = await feed(memory)
        name = (await outside.feeder()).sync.build.consumer
        await outside.close()
        clock.pass_by(days=1)
        with pytest.raises(Conflict, match="take the view out"):
            await memory.retire_reader(name)
    async with opened(tmp_path, settings=without, clock=clock) as memory:
        await memory.user(person(), agent="coder").forget(first)
        await memory.user(person("bob"), agent="coder").erase()
        await said(memory, *TEXTS[2:])
        [reader] = await memory.readers()
        assert (reader.name, reader.behind > 0) == (name, True)
        assert (await memory.retire_reader(name)).retired_at is not None
        clock.pass_by(days=99)
        assert await prune_now(memory.services, keep=Retention()) > 0
        assert [type(e) for _, e in await memory.ledger.announced(after=0, limit=9)] == [
            UserMemoryErased
        ]
    async with opened(tmp_path, settings=with_view, clock=clock) as memory:
        outside = await feed(memory)
        feeder = await outside.feeder()
        assert await scopes_in(feeder) == {await memory.ledger.subject(scope=SCOPE)}
        assert await differences(memory) == []
        [reader] = await memory.readers()
        assert (reader.retired_at, reader.behind) == (None, 0)


async def test_a_view_that_is_down_stops_nothing(tmp_path: Path) -> None:
    """Promise 5: writes go on, recall answers by words and says what is missing."""
    down = Settings(
        worker=False,
        vector_view={
            "provider": "qdrant",
            "config": {"url": "http://127.0.0.1:9", "api_key": "secret-key"},
        },  # type: ignore[arg-type]
        vector_view_from=0,
        view_timeout=30,
        recall_deadline=60,
    )
    async with opened(tmp_path, settings=down) as memory:
        ids = await said(memory, *TEXTS)
        outside = view_of(memory)
        with pytest.raises(Unavailable) as failed:
            await outside.feeder()
        assert "secret-key" not in str(failed.value)
        mine = memory.user(person(), agent="coder")
        recollection = await mine.recall("bees", hops=0)
        assert recollection.degraded == ("meaning",)
        assert recollection.faults == {"meaning": "Unavailable"}
        assert recollection.items[0].memory.text == TEXTS[2]
        await mine.forget(ids[2])
        assert (await mine.erase()).pending == ("vectors",)
        [standing] = await memory.services.views.standing()
        assert standing.fault


async def test_one_feeder_at_a_time(tmp_path: Path) -> None:
    """Of several processes one feeds; when it is gone, another takes over."""
    clock = Clock()
    async with opened(tmp_path, settings=settings(tmp_path), clock=clock) as memory:
        await said(memory, *TEXTS)
        feeder = await (await feed(memory)).feeder()
        build = feeder.sync.build
        assert not await memory.ledger.elect(build, holder="other", at=clock(), seconds=30)
        clock.pass_by(seconds=31)
        assert await memory.ledger.elect(build, holder="other", at=clock(), seconds=30)
        assert not await feeder.turn()
        await memory.ledger.resign(build, holder="other")
        assert await feeder.turn()


async def test_a_worker_feeds_in_the_background(tmp_path: Path) -> None:
    """Lag is visible, and goes away by itself."""
    chosen = settings(tmp_path).model_copy(update={"worker": True})
    async with opened(tmp_path, settings=chosen) as memory:
        await said(memory, *TEXTS)
        async with asyncio.timeout(60):
            while True:
                [standing] = await memory.services.views.standing()
                if standing.behind == 0 and not standing.fault:
                    break
                await asyncio.sleep(0.05)
        assert await differences(memory) == []


def test_an_unknown_view_is_named(tmp_path: Path) -> None:
    async def ask() -> None:
        async with opened(tmp_path) as memory:
            memory.services.views.named("vectors")

    with pytest.raises(NotFound, match="vector_view"):
        asyncio.run(ask())
