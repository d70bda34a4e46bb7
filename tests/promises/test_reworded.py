"""Other wordings that a model proposes: grounded, reviewed, never applied by themselves."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo, Settings, Status, UserMemory
from ricordo.access import user_scope
from ricordo.events import UserMemoryForgotten
from tests.support.consolidating import claim, state
from tests.support.fake_model import FakeModel, Reply
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, item

ONE = "Prefers to travel by train with a bicycle"
OTHER = "With a bicycle, prefers to travel by train"
BOTH = "Prefers to travel by train, with bicycle"


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel(lambda _: answer(item(BOTH, "travel by train with a bicycle"))) as each:
        yield each


def with_model(folder: Path, model: FakeModel, **more):
    client = OpenAIChatCompletionClient(model="fake", api_key="none", base_url=model.base_url)
    return opened(folder, consolidation_client=client, **more)


async def said(memory: Ricordo) -> UserMemory:
    coder = memory.user(person(), agent="coder")
    for number, text in enumerate((ONE, OTHER)):
        relation = claim("user", "travels by", ("train", "bicycle")[number])
        await coder.remember(text, relations=[relation])
    return memory.user(person())


async def test_a_wording_waits_for_the_person(tmp_path: Path, model: FakeModel) -> None:
    """Promises 8, 9 and 10: with the origins of both; approved, it takes their place."""
    async with with_model(tmp_path, model) as memory:
        me = await said(memory)
        before = await state(memory, user_scope(person()))
        report = await me.consolidate()
        assert report.counts == {"reworded": 1}
        assert len(model.requests) == 1
        one, other, proposed = (await me.list()).memories
        assert (proposed.text, proposed.status) == (BOTH, Status.PROPOSED)
        assert "reworded" in proposed.reasons
        assert set(proposed.origins) == {*one.origins, *other.origins}
        assert {c.target.name for c in proposed.pending} == {"train", "bicycle"}
        await me.consolidate()
        assert len(model.requests) == 1, "what waits is not asked about again"
        await me.undo_consolidation(str(report.pass_id))
        assert await state(memory, user_scope(person())) == before
        told = [event for _, event in await memory.ledger.announced(after=0, limit=1_000)]
        gone = [event for event in told if isinstance(event, UserMemoryForgotten)]
        assert [event.memory_ids for event in gone] == [(proposed.id,)]
        report = await me.consolidate()
        await me.approve(report.changes[0].memory_id or "")
        statuses = {m.text: m.status for m in (await me.list()).memories}
        assert statuses == {
            ONE: Status.SUPERSEDED,
            OTHER: Status.SUPERSEDED,
            BOTH: Status.ACTIVE,
        }
        walk = await me.explore("user", hops=1)
        assert {path.end for path in walk.paths} == {"train", "bicycle"}


@pytest.mark.parametrize(
    "found",
    [
        item(BOTH, "I never said that"),
        item("Prefers to travel by train 42 times with bicycle", "travel by train with a bicycle"),
        item("Prefers to travel by aeroplane", "travel by train with a bicycle"),
        item("Does not prefer to travel by train", "travel by train with a bicycle"),
        item(ONE, "travel by train with a bicycle"),
        item(BOTH, "travel by train with a bicycle", kind="preference"),
        item(BOTH, "travel by train with a bicycle", turn=7),
        item("", "travel by train with a bicycle"),
    ],
)
async def test_what_is_not_grounded_is_not_even_proposed(
    tmp_path: Path, model: FakeModel, found: dict
) -> None:
    """Promise 8."""
    model.answer = lambda _: answer(found)
    async with with_model(tmp_path, model) as memory:
        me = await said(memory)
        report = await me.consolidate()
        assert report.counts == {}
        assert len(model.requests) == 1
        assert len((await me.list()).memories) == 2


@pytest.mark.parametrize("reply", [Reply(text="no JSON"), Reply(status=500)])
async def test_a_model_that_fails_costs_nothing_else(
    tmp_path: Path, model: FakeModel, reply: Reply
) -> None:
    model.answer = lambda _: reply
    async with with_model(tmp_path, model) as memory:
        me = await said(memory)
        await memory.user(person(), agent="coder").remember("Lives in Bern")
        await memory.user(person(), agent="coder").remember("I live in Bern")
        report = await me.consolidate()
        assert report.counts == {"merged": 1}
        assert len(report.notes) == 1


async def test_a_wording_that_waits_goes_with_what_it_is_made_of(
    tmp_path: Path, model: FakeModel
) -> None:
    """Promise 11: forgotten means gone, in other words too."""
    async with with_model(tmp_path, model) as memory:
        me = await said(memory)
        await me.consolidate()
        one = (await me.list()).memories[0]
        await me.forget(one.id)
        assert [m.text for m in (await me.list()).memories] == [OTHER]


async def test_without_a_model_nobody_is_asked(tmp_path: Path, model: FakeModel) -> None:
    """Promise 13. A dry run asks nobody either."""
    async with opened(tmp_path, settings=Settings(worker=False)) as memory:
        assert (await (await said(memory)).consolidate()).changes == ()
    async with with_model(tmp_path, model, clock=Clock()) as memory:
        report = await memory.user(person()).consolidate(dry_run=True)
        assert report.changes == ()
        assert len(report.notes) == 1
    assert model.requests == []
