"""Promise 2: a preference stays with the agent that learned it; a fact is known to all of them."""

import json
import re
from pathlib import Path

import pytest

from ricordo import PreferenceVisibility, Settings
from ricordo.errors import Invalid, NotFound
from tests.support.fake_model import FakeModel, Reply, scripted
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn

QUESTION = "How long should examples be, and which project?"


async def told(memory) -> tuple[str, str]:
    coder = memory.user(person(), agent="coder")
    preference = await coder.remember("Prefers concise examples", kind="preference")
    fact = await coder.remember("Works on Project Falcon")
    return preference.memory.id, fact.memory.id


async def recalled(
    memory, agent: str | None, user: str = "alice", tenant: str = "acme"
) -> set[str]:
    found = await memory.user(person(user, tenant), agent=agent).recall(QUESTION, deadline=60)
    return {item.memory.id for item in found.items}


async def test_another_agent_knows_the_fact_and_not_the_preference(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        preference, fact = await told(memory)
        assert await recalled(memory, "coder") == {preference, fact}
        assert await recalled(memory, "helper") == {fact}
        assert await recalled(memory, None) == {preference, fact}, "the person sees everything"
        assert await recalled(memory, "coder", user="bob") == set()
        assert await recalled(memory, "coder", tenant="other") == set()


async def test_another_agent_cannot_reach_a_preference_by_its_id(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        preference, fact = await told(memory)
        helper = memory.user(person(), agent="helper")
        assert (await helper.get(fact)).id == fact
        for attempt in (
            helper.get(preference),
            helper.edit(preference, text="x"),
            helper.history(preference),
            helper.pin(preference),
        ):
            with pytest.raises(NotFound):
                await attempt
        assert await helper.forget(preference) == 0
        assert await helper.forget_where(everything=True) == 1, "its own view only: the fact"
        assert await recalled(memory, "coder") == {preference}


async def test_the_opt_out_shares_preferences_among_a_users_agents(tmp_path: Path) -> None:
    settings = Settings(worker=False, preference_visibility=PreferenceVisibility.USER)
    async with opened(tmp_path, settings=settings) as memory:
        preference, fact = await told(memory)
        assert await recalled(memory, "helper") == {preference, fact}
        assert await recalled(memory, "coder", user="bob") == set()


async def test_the_same_preference_at_two_agents_is_two_memories(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        one = await memory.user(person(), agent="coder").remember("Likes tea", kind="preference")
        two = await memory.user(person(), agent="helper").remember("Likes tea", kind="preference")
        assert one.memory.id != two.memory.id
        assert two.created


async def test_a_preference_needs_an_agent_and_has_no_relations(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(Invalid, match="agent"):
            await memory.user(person()).remember("Likes tea", kind="preference")
        with pytest.raises(Invalid, match="kind is 'opinion'"):
            await memory.user(person(), agent="coder").remember("Likes tea", kind="opinion")


async def test_another_agent_exports_and_replays_nothing_that_the_first_one_heard(
    tmp_path: Path,
) -> None:
    """Also what waits, what was parked and what was refused may hold a preference."""
    clock = Clock()
    quoted_wrongly = item("Likes SECRET-REFUSED", "never said", kind="preference")
    with FakeModel(scripted(answer(quoted_wrongly), Reply(text="no"), Reply(text="no"))) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            coder = memory.user(person(), agent="coder")
            helper = memory.user(person(), agent="helper")
            await coder.remember("Likes SECRET-STORED", kind="preference")
            for run in ("refused", "PARKED"):
                await coder.observe(turn(f"I like SECRET-{run}", run=run, clock=clock))
                await memory.intake.drain()
            await coder.observe(turn("I like SECRET-WAITING", run="waiting", clock=clock))
            await helper.observe(turn("I like tea", run="mine", thread="t2", clock=clock))

            assert await secrets(helper) == set()
            assert await secrets(coder) == {"REFUSED", "STORED", "PARKED", "WAITING"}
            assert await secrets(memory.user(person())) == await secrets(coder)
            assert len(await coder.refusals()) == 1
            assert await helper.refusals() == []
            [parked] = await coder.dead_letters()
            assert await helper.dead_letters() == []
            with pytest.raises(NotFound):
                await helper.replay(parked.job.id)
            await coder.replay(parked.job.id)


async def secrets(mine) -> set[str]:
    records = json.dumps([record async for record in mine.export()])
    return set(re.findall(r"SECRET-([A-Z]+)", records))


async def test_a_model_that_reads_for_one_agent_is_not_shown_anothers_preferences(
    tmp_path: Path,
) -> None:
    """A model that copies what it is shown must not carry a preference to another agent."""
    clock = Clock()
    with FakeModel(lambda _: answer()) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            said = "I like short examples of code"
            await memory.user(person(), agent="coder").remember(
                "Likes short examples of code, SECRET", kind="preference"
            )
            for run, agent in enumerate(("helper", "helper", "coder")):
                await memory.user(person(), agent=agent).observe(
                    turn(said, run=f"r{run}", agent=agent, clock=clock)
                )
            assert await memory.intake.drain() == 2, "one call for each agent, not for each turn"
            shown = ["SECRET" in request.last_user_text for request in model.requests]
            assert shown == [False, True]
