"""Agents that call agents, hand over to agents, and run in workflows: whose words, whose memory."""

from typing import Any

import pytest
from agent_framework import Agent, AgentExecutor, AgentSession, WorkflowBuilder
from agent_framework.openai import OpenAIChatCompletionClient
from agent_framework.orchestrations import HandoffBuilder, SequentialBuilder

from ricordo import Ricordo
from ricordo.errors import Denied
from ricordo.hosts.maf import RicordoProvider, make_ricordo_context_provider, new_session
from tests.hosts.maf.conftest import CALM, Mind, agent_of, chats, extractions, users_lines
from tests.support.fake_model import Call, FakeModel, Reply, Request, scripted
from tests.support.opening import person

ALICE, BOB = person("alice"), person("bob")


def delegates(request: Request) -> Reply:
    """The parent delegates once, in words of its own; the child answers."""
    if "child" in request.tools and not any(m["role"] == "tool" for m in request.messages):
        task = {"task": "I like concise examples, and Falcon"}
        return Reply(calls=[Call(name="child", arguments=task)])
    return Reply(text="Done.")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("propagate", [False, True])
async def test_an_agent_as_a_tool_acts_for_the_person_and_learns_nothing_from_the_model(
    memory: Ricordo,
    client: OpenAIChatCompletionClient,
    model: FakeModel,
    mind: Mind,
    propagate: bool,
    streamed: bool,
) -> None:
    """Promise 8: what a model writes to another agent is not said by the person."""
    await memory.user(ALICE).remember("Works on Project Falcon")
    child = agent_of(client, RicordoProvider(memory, deadline=CALM), name="child")
    parent = Agent(
        client=client,
        name="parent",
        context_providers=[RicordoProvider(memory, deadline=CALM)],
        tools=[child.as_tool(propagate_session=propagate)],
    )
    mind.says = delegates
    session = new_session("outer", principal=ALICE)
    if streamed:
        await parent.run("I work with owls", session=session, stream=True).get_final_response()
    else:
        await parent.run("I work with owls", session=session)
    [heard] = [r for r in chats(model) if r.last_user_text.startswith("I like concise")]
    assert "Works on Project Falcon" in heard.all_text
    backlog = await memory.ledger.backlog(scope=memory.user(ALICE)._scope)
    assert backlog.waiting == 2  # the parent's turn, and the relations of what was remembered
    await memory.intake.drain()
    assert [m.text for m in (await memory.user(ALICE).list()).memories] == [
        "Works on Project Falcon"
    ]


async def test_a_run_after_a_tool_is_nobodys_inner_run(
    memory: Ricordo, client: OpenAIChatCompletionClient, mind: Mind
) -> None:
    child = agent_of(client, RicordoProvider(memory, deadline=CALM), name="child")
    parent = Agent(
        client=client,
        name="parent",
        context_providers=[RicordoProvider(memory, deadline=CALM)],
        tools=[child.as_tool()],
    )
    mind.says = delegates
    await parent.run("hello", session=new_session(principal=ALICE))
    with pytest.raises(Denied):
        await child.run("hello", session=AgentSession())
    await child.run("I like concise examples", session=new_session(principal=ALICE))
    await memory.intake.drain()
    [preference] = (await memory.user(ALICE).list()).memories
    assert preference.agent == "child"


async def test_an_inner_agent_with_an_identity_of_its_own_keeps_it(
    memory: Ricordo, client: OpenAIChatCompletionClient, model: FakeModel, mind: Mind
) -> None:
    await memory.user(BOB).remember("Bob works on Falcon")
    inner = agent_of(client, RicordoProvider(memory, deadline=CALM), name="inner")

    async def child(task: str) -> str:
        """Ask for Bob."""
        return (await inner.run(task, session=new_session(principal=BOB))).text

    parent = Agent(
        client=client,
        name="parent",
        context_providers=[RicordoProvider(memory, deadline=CALM)],
        tools=[child],
    )
    mind.says = delegates
    await parent.run("hello", session=new_session(principal=ALICE))
    [heard] = [r for r in chats(model) if r.last_user_text.startswith("I like concise")]
    assert "Bob works on Falcon" in heard.all_text


def hand_off(client: OpenAIChatCompletionClient, provider: RicordoProvider) -> Any:
    agents = [
        Agent(
            client=client,
            name=name,
            description=name,
            context_providers=[provider],
            require_per_service_call_history_persistence=True,
        )
        for name in ("triage", "expert")
    ]
    return HandoffBuilder(participants=agents).with_start_agent(agents[0]).build()


async def test_a_hand_off_remembers_for_the_person_of_the_conversation(
    memory: Ricordo, client: OpenAIChatCompletionClient, model: FakeModel, mind: Mind
) -> None:
    await memory.user(ALICE).remember("Works on Project Falcon")
    conversation = new_session("talk", principal=ALICE, display_id="d1")
    provider = RicordoProvider(memory, deadline=CALM)
    mind.says = scripted(Reply(calls=[Call(name="handoff_to_expert")]), "The expert is here.")
    await hand_off(client, provider.within(conversation)).run("I like concise examples on Falcon")
    assert len(chats(model)) == 2
    assert all("Works on Project Falcon" in request.all_text for request in chats(model))
    await memory.intake.drain()
    preferences = [m for m in (await memory.user(ALICE).list()).memories if m.agent is not None]
    assert {m.agent for m in preferences} == {"triage", "expert"}
    assert {o.thread_id for m in preferences for o in m.origins} == {"talk"}
    assert {o.display_id for m in preferences for o in m.origins} == {"d1"}
    assert provider.lost == 0


async def test_a_hand_off_without_a_conversation_is_denied(
    memory: Ricordo, client: OpenAIChatCompletionClient
) -> None:
    with pytest.raises(Denied):
        RicordoProvider(memory, deadline=CALM).within(AgentSession())
    with pytest.raises(Denied):
        await hand_off(client, RicordoProvider(memory, deadline=CALM)).run("hello")


async def test_agents_of_a_workflow_share_the_person_and_hear_each_word_once(
    memory: Ricordo, client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    provider = RicordoProvider(memory, deadline=CALM)
    executors = [
        AgentExecutor(
            agent_of(client, provider, name=name), session=new_session("talk", principal=ALICE)
        )
        for name in ("writer", "critic")
    ]
    workflow = WorkflowBuilder(start_executor=executors[0]).add_edge(*executors).build()
    await workflow.run("I like concise examples")
    await workflow.run("I work on Project Falcon")
    await memory.intake.drain()
    heard = [text for r in extractions(model) for _, text in users_lines(r)]
    assert sorted(heard) == sorted(["I like concise examples", "I work on Project Falcon"] * 2)
    assert provider.lost == 0
    memories = (await memory.user(ALICE).list()).memories
    assert sorted((m.agent, m.text) for m in memories if m.kind == "preference") == [
        ("critic", "Likes concise examples"),
        ("writer", "Likes concise examples"),
    ]
    [fact] = [m for m in memories if m.kind == "fact"]
    assert len(fact.origins) == 2


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_workflow_as_an_agent_injects_once_and_never_learns_what_was_injected(
    memory: Ricordo, client: OpenAIChatCompletionClient, model: FakeModel, streamed: bool
) -> None:
    await memory.user(ALICE).remember("I like concise examples")
    conversation = new_session("talk", principal=ALICE)
    provider = RicordoProvider(memory, deadline=CALM)
    inner = agent_of(client, provider.within(conversation), name="inner")
    workflow = SequentialBuilder(participants=[inner]).build()
    agent = workflow.as_agent(
        name="outer", context_providers=make_ricordo_context_provider(memory, deadline=CALM)
    )
    for text in ("I work on Project Falcon", "concise examples?"):
        if streamed:
            async for _ in agent.run(text, session=conversation, stream=True):
                pass
        else:
            await agent.run(text, session=conversation)
    await memory.intake.drain()
    heard = {text for r in extractions(model) for _, text in users_lines(r)}
    assert heard == {"I work on Project Falcon", "concise examples?"}
    kinds = [m.kind for m in (await memory.user(ALICE).list()).memories]
    assert kinds == ["fact", "fact"]
