"""Promise 11: forgotten means gone, from every place, with a receipt from a scan."""

import asyncio
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo import EntityClaim, Origin, RelationClaim, Settings, Turn
from ricordo.errors import Invalid, NotFound
from ricordo.model import Backlog
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.opening import Clock, kept, opened, person
from tests.support.talking import answer, extractor, item, turn

MARK = "Zanzibarquokka"


def works_on(target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name="user"), relation="works on", target=EntityClaim(name=target)
    )


async def test_erasure_leaves_nothing_in_any_place_nor_in_the_bytes(
    tmp_path: Path, engine: str
) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(f"alice-{MARK}"), agent="coder")
        bob = memory.user(person("bob"), agent="coder")
        await bob.remember("Bob stays")
        stored = await alice.remember(
            f"Works on {MARK}", relations=[works_on(MARK), works_on("it")]
        )
        await alice.edit(stored.memory.id, text=f"Worked on {MARK} " + "long " * 1_500)
        await alice.remember(f"Likes {MARK}", kind="preference")
        await alice.alias("user", name=f"The {MARK}")
        await alice.observe(turn(f"I said {MARK}", clock=clock))
        await alice.recall(MARK, deadline=5)
        await memory.services.journal.flush()
        assert MARK.encode() in kept(tmp_path)
        receipt = await alice.erase()
        assert receipt.clean
        assert receipt.log_cleared is (engine == "sqlite"), "a server's log is its own"
        assert sum(receipt.removed.values()) > 8
        assert MARK not in str(receipt)
        assert not (await alice.list()).memories
        assert not (await alice.recall(MARK)).items
        assert [m.text for m in (await bob.list()).memories] == ["Bob stays"]
        assert MARK.encode() not in kept(tmp_path)
        assert not [f for f in await memory.ledger.check() if f.problem]


async def test_forgetting_one_takes_its_edges_history_and_orphans_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember(f"Works on {MARK}", relations=[works_on(MARK)])
        other = await alice.remember("Works on Falcon", relations=[works_on("Falcon")])
        assert await alice.forget(stored.memory.id) == 1
        assert await alice.forget(stored.memory.id) == 0, "forgetting it twice is not an error"
        assert [p.end for p in (await alice.explore("user")).paths] == ["Falcon"]
        assert (await alice.explore(MARK)).paths == ()
        assert [m.id for m in (await alice.list()).memories] == [other.memory.id]
        assert MARK.encode() not in kept(tmp_path)


async def test_an_edge_with_other_evidence_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        one = await alice.remember("Works on Falcon", relations=[works_on("Falcon")])
        two = await alice.remember("Leads Falcon's tests", relations=[works_on("Falcon")])
        [relation] = await alice.relations(one.memory.id)
        assert set(relation.evidence) == {one.memory.id, two.memory.id}
        await alice.forget(one.memory.id)
        [kept] = await alice.relations(two.memory.id)
        assert kept.evidence == (two.memory.id,)


async def test_forgetting_by_thread_time_and_everything(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Old fact")
        middle = clock()
        clock.pass_by(days=1)
        await alice.remember("New fact")
        await alice.remember("New taste", kind="preference")
        with pytest.raises(Invalid, match="say what to forget"):
            await alice.forget_where()
        assert await alice.forget_where(before=middle) == 1
        assert await alice.forget_where(thread_id="nowhere") == 0
        assert await alice.forget_where(everything=True) == 2
        assert not (await alice.list()).memories


SUSHI = "I love sushi"
LOVES_SUSHI = item("Loves sushi", SUSHI)


@pytest.mark.parametrize(
    "which",
    [
        {"everything": True},
        {"thread_id": "t1"},
        {"agent": "coder"},
        {"before": Clock().at + timedelta(hours=1)},
    ],
    ids=["all", "thread", "agent", "time"],
)
async def test_a_turn_that_waits_is_forgotten_too(tmp_path: Path, which: dict[str, Any]) -> None:
    """Promise 11: what was not memory yet does not become memory afterwards, delivered again or
    not, and lies nowhere."""
    clock = Clock()
    with FakeModel(lambda _: answer(LOVES_SUSHI)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            said = turn(SUSHI, MARK, clock=clock)
            await alice.observe(said)
            assert MARK.encode() in kept(tmp_path)
            gone = await memory.user(person()).forget_where(**which)
            assert (gone, gone.turns, gone.refusals) == (0, 1, 0)
            assert not await alice.observe(said), "delivered late"
            assert await memory.intake.drain() == 0
            assert not (await alice.list()).memories
            assert MARK not in str([record async for record in alice.export()])
            assert MARK.encode() not in kept(tmp_path)
            assert not model.requests


@pytest.mark.parametrize("status", [200, 503], ids=["answered", "failing"])
async def test_what_a_model_is_reading_is_forgotten_too(tmp_path: Path, status: int) -> None:
    """Promise 11: the batch under way commits nothing of it; its neighbour is read once more."""
    clock = Clock()
    arrived, forgotten = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def reply(request: Request) -> Reply:
        loop.call_soon_threadsafe(arrived.set)
        forgotten.wait(60)
        if SUSHI not in request.last_user_text:
            return answer(item("Works on Falcon", "I work on Falcon"))
        return answer(LOVES_SUSHI) if status == 200 else Reply(status=status)

    with FakeModel(reply) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            await alice.observe(turn(SUSHI, run="r1", thread="t1", clock=clock))
            await alice.observe(turn("I work on Falcon", run="r2", thread="t2", clock=clock))
            working = asyncio.create_task(memory.intake.drain())
            await arrived.wait()
            assert (await alice.forget_where(thread_id="t1")).turns == 1
            forgotten.set()
            await working
            await memory.intake.drain()
            assert [m.text for m in (await alice.list()).memories] == ["Works on Falcon"]
            assert await memory.ledger.backlog() == Backlog()


async def test_dead_letters_and_refusals_are_forgotten_too(tmp_path: Path) -> None:
    """Promise 11: by conditions, and a dead letter by its number."""
    clock = Clock()
    settings = Settings(worker=False, max_attempts=1)
    refused = item(f"Her sister {MARK} has diabetes", "my sister has diabetes")
    with FakeModel(lambda _: answer(refused)) as model:
        async with opened(
            tmp_path, clock=clock, extractor=extractor(model), settings=settings
        ) as memory:
            alice, whole = memory.user(person(), agent="coder"), memory.user(person())
            await alice.observe(turn("Hello there", run="r1", thread="t1", clock=clock))
            await memory.intake.drain()
            assert MARK in str(await alice.refusals())
            model.answer = lambda _: Reply(text="no")
            for run in ("r2", "r3"):
                await alice.observe(turn(f"I am {MARK}", run=run, thread="t2", clock=clock))
                await memory.intake.drain()
            first, second = [letter.job.id for letter in await whole.dead_letters()]
            with pytest.raises(NotFound):
                await memory.user(person(), agent="helper").forget_letter(first)
            await alice.forget_letter(first)
            assert [letter.job.id for letter in await whole.dead_letters()] == [second]
            gone = await whole.forget_where(everything=True)
            assert (gone, gone.turns, gone.refusals) == (0, 1, 1)
            assert not await whole.dead_letters()
            assert not await whole.refusals()
            assert MARK.encode() not in kept(tmp_path)


async def test_a_memory_is_not_learned_once_more_from_its_own_turn(tmp_path: Path) -> None:
    """Promise 11: the agent's tool stored it, the person forgot it, and its turn still waits."""
    clock = Clock()
    with FakeModel(lambda _: answer(LOVES_SUSHI)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            said = turn(SUSHI, clock=clock)
            where = Origin(at=said.at, agent="coder", thread_id=said.thread_id, run_id=said.run_id)
            stored = await alice.remember("Loves sushi", origin=where)
            await alice.observe(said)
            gone = await alice.forget(stored.memory.id)
            assert (gone, gone.turns) == (1, 1)
            await memory.intake.drain()
            assert not (await alice.list()).memories


async def test_an_agent_forgets_of_the_queue_what_it_heard_itself(tmp_path: Path) -> None:
    """Promise 2: what another agent heard is not its to see, nor to forget."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        coder = memory.user(person(), agent="coder")
        helper = memory.user(person(), agent="helper")
        await coder.observe(turn(SUSHI, run="r1", clock=clock))
        await helper.observe(turn(SUSHI, run="r2", agent="helper", clock=clock))
        assert (await helper.forget_where(everything=True)).turns == 1
        assert (await memory.ledger.backlog()).waiting == 1
        assert (await coder.forget_where(everything=True)).turns == 1


async def test_a_dead_letter_holds_no_secret(tmp_path: Path) -> None:
    """What must not be remembered must not lie about among what could not be."""
    clock = Clock()
    settings = Settings(worker=False, max_attempts=1)
    with FakeModel(lambda _: Reply(text="no")) as model:
        async with opened(
            tmp_path, clock=clock, extractor=extractor(model), settings=settings
        ) as memory:
            alice = memory.user(person(), agent="coder")
            await alice.observe(turn("my password is hunter2!, and I like tea", clock=clock))
            await memory.intake.drain()
            [letter] = await alice.dead_letters()
            assert isinstance(letter.job.work, Turn)
            assert "hunter2" not in str(letter)
            assert "I like tea" in letter.job.work.said[0].text
            await memory.ledger.scrub()  # what waited lies in the log until it is written back
            assert b"hunter2" not in kept(tmp_path)


async def test_erasing_a_person_again_or_a_stranger_is_a_clean_receipt(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Something")
        first, second = await alice.erase(), await alice.erase()
        assert first.clean
        assert second.clean
        assert first.subject == second.subject
        assert (await memory.user(person("stranger")).erase()).clean
        assert (await alice.remember("Something")).created, "and may begin anew"
