"""Promise 2: a preference stays with the agent that learned it; a fact is known to all of them."""

from pathlib import Path

import pytest

from ricordo import PreferenceVisibility, Settings
from ricordo.errors import Invalid, NotFound
from tests.support.opening import opened, person

QUESTION = "How long should examples be, and which project?"


async def told(memory) -> tuple[str, str]:
    coder = memory.user(person(), agent="coder")
    preference = await coder.remember("Prefers concise examples", kind="preference")
    fact = await coder.remember("Works on Project Falcon")
    return preference.memory.id, fact.memory.id


async def recalled(
    memory, agent: str | None, user: str = "alice", tenant: str = "acme"
) -> set[str]:
    found = await memory.user(person(user, tenant), agent=agent).recall(QUESTION)
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
