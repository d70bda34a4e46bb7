"""Short-term memory in its three shapes: one setting, and the agents' code stays as it is.

An agent's conversation is its room's: everybody's, its own, or its group's.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    FileHistoryProvider,
    HistoryProvider,
    InMemoryHistoryProvider,
)
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo
from ricordo.access import room_of
from ricordo.errors import Denied, Unavailable
from ricordo.hosts.maf import (
    OwnedHistory,
    RicordoProvider,
    ShortTermHistory,
    make_history_provider,
    make_ricordo_context_provider,
    new_session,
)
from ricordo.model import Shape
from tests.hosts.maf.conftest import CALM, Mind, agent_of, chats
from tests.support.conversing import Counting, assistant, session_of, user
from tests.support.fake_model import Call, FakeModel, Reply, Request
from tests.support.opening import person

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")

GROUPS = {"crew": ["coder", "tester"], "desk": ["planner"]}
ALICE = person("alice")


def store_of(kind: str, folder: Path) -> HistoryProvider | None:
    return None if kind == "session" else FileHistoryProvider(folder / "files")


async def talk(
    history: OwnedHistory, client: OpenAIChatCompletionClient, session: AgentSession, name: str
) -> None:
    """The agents' code: the same in every shape."""
    agent = agent_of(client, history, name=name)
    await agent.run(f"I am talking to the {name}", session=session)


def files_in(folder: Path) -> int:
    return len(list(folder.iterdir()))


def heard(model: FakeModel) -> list[str]:
    """Whom the user was talking to, in what the endpoint was asked last."""
    texts = " ".join(chats(model)[-1].texts())
    return [name for name in ("coder", "tester", "planner", "guest") if f"the {name}" in texts]


SEEN = {
    "shared": {"coder": ["coder"], "tester": ["coder", "tester"],
               "planner": ["coder", "tester", "planner"],
               "guest": ["coder", "tester", "planner", "guest"]},
    "distributed": {name: [name] for name in ("coder", "tester", "planner", "guest")},
    "hybrid": {"coder": ["coder"], "tester": ["coder", "tester"], "planner": ["planner"],
               "guest": ["guest"]},
}  # fmt: skip


@pytest.mark.parametrize("store", ["session", "files"])
@pytest.mark.parametrize("shape", SEEN)
async def test_one_setting_decides_who_hears_what(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path, shape: str, store: str
) -> None:
    history = make_history_provider(
        shape=shape,
        store=store_of(store, tmp_path),
        groups=GROUPS if shape == "hybrid" else {},
    )
    session = session_of()
    for name, expected in SEEN[shape].items():
        await talk(history, client, session, name)
        assert heard(model) == expected


@pytest.mark.parametrize("shape", SEEN)
async def test_a_session_that_carries_its_conversation_survives_being_stored(
    client: OpenAIChatCompletionClient, model: FakeModel, shape: str
) -> None:
    groups = GROUPS if shape == "hybrid" else {}
    history = make_history_provider(shape=shape, groups=groups)
    session = session_of()
    await talk(history, client, session, "coder")
    stored = json.dumps(session.to_dict())
    again = make_history_provider(shape=shape, groups=groups)
    await talk(again, client, AgentSession.from_dict(json.loads(stored)), "coder")
    assert len(chats(model)[-1].texts()) == 3


async def test_sessions_from_before_are_read_on(
    client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    session = session_of()
    await agent_of(client, ShortTermHistory()).run("I said this before", session=session)
    await agent_of(client, make_history_provider()).run("And now?", session=session)
    assert "I said this before" in " ".join(chats(model)[-1].texts())


async def test_each_agent_service_has_a_store_of_its_own(
    client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """Distributed: correlated by the session's id alone."""
    history = make_history_provider(
        shape="distributed",
        store=FileHistoryProvider(tmp_path / "others"),
        stores={"coder": FileHistoryProvider(tmp_path / "coder")},
    )
    session = session_of("goal-1")
    await talk(history, client, session, "coder")
    await talk(history, client, session, "planner")
    assert (files_in(tmp_path / "coder"), files_in(tmp_path / "others")) == (1, 1)
    for name in ("coder", "planner"):
        found = await history.messages(session, agent=name)
        assert [message.text for message in found] == [f"I am talking to the {name}", "Fine."]
    rooms = history.conversations(session, agents=["planner"])
    assert {room.room for room in rooms} == {"agent:coder", "agent:planner"}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"shape": "hybrid"}, "needs a cache, or groups"),
        ({"shape": "shared", "groups": GROUPS}, "belong to the hybrid shape"),
        ({"shape": "shared", "stores": {"a": InMemoryHistoryProvider()}}, "store of its own"),
        ({"shape": "hybrid", "groups": {"a": ["x"], "b": ["x"]}}, "put it into one"),
        ({"shape": "round"}, "round"),
        ({"recent_turns": 0}, "recent_turns"),
    ],
)
def test_what_does_not_fit_the_shape_is_told(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        make_history_provider(**wrong)


@pytest.mark.parametrize(
    ("shape", "groups", "rooms"),
    [
        (Shape.SHARED, {}, ["everybody", "everybody", "everybody"]),
        (Shape.DISTRIBUTED, {}, ["agent:coder", "agent:tester", "agent:guest"]),
        (Shape.HYBRID, {}, ["everybody", "everybody", "everybody"]),
        (Shape.HYBRID, GROUPS, ["group:crew", "group:crew", "agent:guest"]),
    ],
)
def test_the_table_of_rooms(
    shape: Shape, groups: Mapping[str, list[str]], rooms: list[str]
) -> None:
    names = ["coder", "tester", "guest"]
    assert [room_of(name, shape=shape, groups=groups) for name in names] == rooms


async def test_no_identity_no_history(client: OpenAIChatCompletionClient, tmp_path: Path) -> None:
    """Identity fails closed; a session's id alone opens nothing."""
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    with pytest.raises(Denied, match="names no principal"):
        await agent_of(client, history).run("Hello", session=AgentSession(session_id="t1"))
    for state in (None, {}, {"conversation": "t1"}):
        with pytest.raises(Denied, match="id alone"):
            await history.get_messages("t1", state=state)
        with pytest.raises(Denied, match="id alone"):
            await history.save_messages("t1", [user("x")], state=state)


async def test_equal_session_ids_of_two_people_do_not_meet(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path
) -> None:
    """Promise 1."""
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    agent = agent_of(client, history)
    await agent.run("My name is Alice", session=session_of("t1", who=person("alice")))
    await agent.run("Who am I?", session=session_of("t1", who=person("bob")))
    await agent.run("Who am I?", session=session_of("t1", who=person("alice", "emca")))
    for request in chats(model)[1:]:
        assert "My name is Alice" not in " ".join(request.texts())


async def test_only_the_recent_turns_are_sent(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path
) -> None:
    history = make_history_provider(store=FileHistoryProvider(tmp_path), recent_turns=1)
    agent, session = agent_of(client, history), session_of()
    for text in ("one", "two", "three"):
        await agent.run(text, session=session)
    assert chats(model)[-1].texts() == ["two", "Fine.", "three"]
    assert len(await history.messages(session, agent="coder")) == 6


async def test_what_is_said_twice_is_kept_twice(
    client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """No acknowledged message is lost, not even one that repeats the last turn word for word."""
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    agent, session = agent_of(client, history), session_of()
    for _ in range(3):
        await agent.run("Yes.", session=session)
    found = [message.text for message in await history.messages(session, agent="coder")]
    assert found == ["Yes.", "Fine."] * 3


async def test_what_a_workflow_hands_over_is_neither_kept_nor_sent_twice(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path
) -> None:
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    session = session_of()
    await agent_of(client, history, name="coder").run("I need a plan", session=session)
    handed_over = [user("I need a plan"), assistant("Fine."), user("So plan")]
    await agent_of(client, history, name="planner").run(handed_over, session=session)
    assert chats(model)[-1].texts() == ["I need a plan", "Fine.", "So plan"]
    found = [message.text for message in await history.messages(session, agent="planner")]
    assert found == ["I need a plan", "Fine.", "So plan", "Fine."]


async def test_agents_inside_a_workflow_act_in_the_conversation_that_they_are_given(
    client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    session = session_of()
    inner = agent_of(client, history.within(session))
    await inner.run("Hello", session=AgentSession())
    assert len(await history.messages(session, agent="coder")) == 2
    with pytest.raises(Denied):
        history.within(AgentSession())


async def test_an_agent_called_as_a_tool_acts_for_the_same_person(
    client: OpenAIChatCompletionClient, mind: Mind, memory: Ricordo, tmp_path: Path
) -> None:
    def says(request: Request) -> Reply:
        asked = request.texts()[-1]
        if asked == "Ask the helper":
            return Reply(calls=[Call(name="helper", arguments={"task": "Help the coder"})])
        return Reply(text=f"To {asked}")

    mind.says = says
    history = make_history_provider(store=FileHistoryProvider(tmp_path / "files"))
    helper = agent_of(client, history, name="helper")
    outer = Agent(
        client=client,
        name="coder",
        context_providers=[history, RicordoProvider(memory, deadline=CALM)],
        tools=[helper.as_tool(name="helper", propagate_session=True)],
    )
    session = session_of()
    await outer.run("Ask the helper", session=session)
    found = [message.text for message in await history.messages(session, agent="helper")]
    assert "Help the coder" in found
    assert any(text.startswith("To Help the coder") for text in found)


async def test_a_history_that_cannot_be_written_costs_neither_the_answer_nor_the_turn(
    client: OpenAIChatCompletionClient, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Promise 5: the reply never dies of memory; what waits is stored first, in order."""
    durable = Counting(tmp_path)
    history = make_history_provider(store=durable)
    agent, session = agent_of(client, history), session_of()
    await agent.run("one", session=session)

    async def refuse(*_: Any, **__: Any) -> None:
        raise OSError("a secret path")

    durable.save_messages = refuse
    for text in ("two", "three"):
        assert (await agent.run(text, session=session)).text == "Fine."
    assert history.lost == 2
    assert "secret" not in caplog.text
    assert [m.text for m in await history.messages(session, agent="coder")] == [
        "one", "Fine.", "two", "Fine.", "three", "Fine."
    ]  # fmt: skip

    del durable.save_messages
    restored = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    await agent.run("four", session=restored)
    fresh = await history.messages(session_of(), agent="coder")
    expected = [text for word in ("one", "two", "three", "four") for text in (word, "Fine.")]
    assert [message.text for message in fresh] == expected


async def test_a_turn_that_was_stored_though_it_looked_lost_is_stored_once(
    client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    durable = Counting(tmp_path)
    history = make_history_provider(store=durable)
    agent, session = agent_of(client, history), session_of()
    save = durable.save_messages

    async def store_and_fail(*given: Any, **more: Any) -> None:
        await save(*given, **more)
        raise OSError("the connection broke")

    durable.save_messages = store_and_fail
    await agent.run("one", session=session)
    del durable.save_messages
    await agent.run("two", session=session)
    found = [message.text for message in await history.messages(session_of(), agent="coder")]
    assert found == ["one", "Fine.", "two", "Fine."]


async def test_without_its_context_no_question_is_answered(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path
) -> None:
    durable = Counting(tmp_path)
    history = make_history_provider(store=durable, patience=0.2)
    agent, session = agent_of(client, history), session_of()
    durable.broken = True
    with pytest.raises(Unavailable, match=r"'t1'.*cannot be read"):
        await agent.run("one", session=session)
    durable.broken = False
    durable.gate.clear()
    with pytest.raises(Unavailable, match="its history took longer"):
        await agent.run("one", session=session)
    assert chats(model) == []


async def test_the_service_that_keeps_the_conversation_itself_keeps_it(tmp_path: Path) -> None:
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    session = new_session("t1", principal=ALICE)
    session.service_session_id = "at the service"
    await history.before_run(agent=None, session=session, context=None, state={})
    await history.after_run(agent=None, session=session, context=None, state={})
    assert await history.messages(session, agent="coder") == []


async def test_memory_and_history_are_plugged_in_by_one_line(
    client: OpenAIChatCompletionClient, model: FakeModel, memory: Ricordo, tmp_path: Path
) -> None:
    history = make_history_provider(store=FileHistoryProvider(tmp_path))
    providers = make_ricordo_context_provider(memory, history=history, deadline=CALM)
    agent, session = agent_of(client, *providers), session_of()
    await agent.run("I like concise examples", session=session)
    await agent.run("And now?", session=session)
    assert "I like concise examples" in chats(model)[-1].texts()
    with pytest.raises(ValueError, match="recent_turns"):
        make_ricordo_context_provider(memory, history=history, recent_turns=2)
