"""Three memories, one line to swap: the same agent, the same contract, whichever is plugged in.

The traps of the other two are closed: the owner is set, the conversation stays, a failing memory
never costs the answer, and a search is never wider than one user.
"""

import builtins
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentSession, ContextProvider, Message
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo.errors import Denied
from ricordo.hosts.maf import (
    make_mem0_context_provider,
    make_memory_context_provider,
    make_ricordo_context_provider,
    new_session,
)
from tests.hosts.maf.conftest import CALM, Mind, agent_of, chats
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.mem0_local import close_mem0, local_mem0, mem0_config, remembers
from tests.support.opening import opened, person

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")

ALICE, BOB = person("alice"), person("bob")
SAID = "I work on Project Falcon"


@asynccontextmanager
async def ricordo(model: FakeModel, path: Path) -> AsyncIterator[Any]:
    async with opened(path) as memory:

        async def settle() -> None:
            await memory.intake.drain()

        yield make_ricordo_context_provider(memory, deadline=CALM), settle


@asynccontextmanager
async def files(model: FakeModel, path: Path) -> AsyncIterator[Any]:
    yield make_memory_context_provider(path / "files"), nothing


@asynccontextmanager
async def mem0(model: FakeModel, path: Path) -> AsyncIterator[Any]:
    async with local_mem0(model, path) as client:
        yield make_mem0_context_provider(client=client), nothing


async def nothing() -> None:
    """These memories learn before the run ends."""


BACKENDS = {"ricordo": ricordo, "files": files, "mem0": mem0}


class World(Mind):
    """A model that extracts the same for each of the three memories, in the form each asks for."""

    def __call__(self, request: Request) -> Reply:
        first = request.texts()[0]
        if request.body.get("response_format", {}).get("type") == "json_object":
            return remembers(request)
        if "memor" in first and "JSON" in first and request.messages[0]["role"] == "system":
            known = SAID in request.last_user_text
            facts = [{"topic": "Falcon", "memory": "Works on Project Falcon"}] if known else []
            return Reply(text=json.dumps({"memories": facts}))
        return super().__call__(request)


@pytest.fixture
def mind() -> World:
    return World()


def conversation(model: FakeModel) -> list[Request]:
    """What the agent asked, without what the memories asked."""
    return [r for r in chats(model) if "You extract durable" not in r.texts()[0]]


@pytest.fixture(params=sorted(BACKENDS))
async def backend(request: Any, model: FakeModel, tmp_path: Path) -> AsyncIterator[Any]:
    async with BACKENDS[request.param](model, tmp_path) as made:
        yield made


async def test_each_memory_keeps_the_same_contract(
    backend: tuple[list[ContextProvider], Callable[[], Any]],
    client: OpenAIChatCompletionClient,
    model: FakeModel,
) -> None:
    """Known in the next session, unknown to the next user, and the conversation itself stays."""
    providers, settle = backend
    agent = agent_of(client, *providers)
    first = new_session("monday", principal=ALICE)
    await agent.run(SAID, session=first)
    await settle()
    await agent.run("Do you know my Project Falcon? (alice)", session=first)
    same_session = conversation(model)[-1]
    assert SAID in same_session.texts(role="user")
    await settle()
    await agent.run("Do you know Project Falcon? (later)", session=new_session(principal=ALICE))
    later = conversation(model)[-1]
    assert "ork on Project Falcon" in later.all_text or "orks on Project Falcon" in later.all_text
    question = "Do you know Project Falcon? (bob)"
    await agent.run(question, session=new_session(principal=BOB))
    bobs = conversation(model)[-1]
    assert "ork on Project" not in bobs.all_text
    assert "orks on Project" not in bobs.all_text


async def test_each_memory_is_closed_without_an_identity(
    backend: tuple[list[ContextProvider], Any], client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    agent = agent_of(client, *backend[0])
    with pytest.raises(Denied, match="new_session"):
        await agent.run("hello", session=AgentSession())
    with pytest.raises(Denied, match="new_session"):
        await agent.run("hello")
    assert model.requests == []


async def test_each_memory_survives_a_stored_session(
    backend: tuple[list[ContextProvider], Any], client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    agent = agent_of(client, *backend[0])
    session = new_session("kept", principal=ALICE)
    await agent.run(SAID, session=session)
    restored = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    await agent.run("Do you know?", session=restored)
    assert SAID in conversation(model)[-1].texts(role="user")


async def test_no_memorys_failure_costs_the_answer(
    backend: tuple[list[ContextProvider], Any],
    client: OpenAIChatCompletionClient,
    model: FakeModel,
    mind: World,
    tmp_path: Path,
) -> None:
    """Whatever breaks: every model call that is not the agent's own, and every file."""
    providers, _ = backend
    memory: Any = providers[-1]
    agent = agent_of(client, *providers)
    model.answer = lambda r: (
        Reply(text="Fine.") if "hello" in r.last_user_text[:9] else Reply(status=500)
    )
    answer = await agent.run("hello", session=new_session(principal=ALICE))
    assert answer.text == "Fine."
    if replaced_by_a_file(tmp_path / "files"):
        answer = await agent.run("hello again", session=new_session(principal=ALICE))
        assert answer.text == "Fine."
        assert memory.lost >= 1


def replaced_by_a_file(folder: Path) -> bool:
    """Break the folder, where there is one."""
    if not folder.is_dir():
        return False
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("no folder any more")
    return True


async def test_mem0_can_be_made_from_a_configuration(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path
) -> None:
    async with local_mem0(model, tmp_path):
        pass  # sets the folder that mem0 keeps its own files in
    providers = make_mem0_context_provider(config=mem0_config(model, tmp_path / "other"))
    session = new_session(principal=ALICE)
    guarded: Any = providers[-1]
    inner = await guarded._choose("acme:alice")
    try:
        assert (inner.user_id, inner.search_user_id) == ("acme:alice", "acme:alice")
        await agent_of(client, *providers).run(SAID, session=session)
    finally:
        await guarded.close()
        close_mem0(inner.mem0_client)
    assert inner.mem0_client.db is None


async def test_no_memory_learns_what_was_injected_or_returned(
    backend: tuple[list[ContextProvider], Callable[[], Any]],
    client: OpenAIChatCompletionClient,
    model: FakeModel,
) -> None:
    """No feedback loop, whichever memory is plugged in: promise 8."""
    providers, settle = backend
    agent = agent_of(client, *providers)
    injected = {"_attribution": {"source_id": "another"}}
    messages = [
        Message("user", [SAID], additional_properties=injected),
        Message("user", ["hello"]),
    ]
    await agent.run(messages, session=new_session(principal=ALICE))
    await settle()
    asked = [r for r in model.requests if r not in conversation(model)]
    assert asked
    assert not any(SAID in request.last_user_text for request in asked)


async def test_mem0_of_another_agent_called_as_a_tool_learns_nothing(
    client: OpenAIChatCompletionClient, model: FakeModel, tmp_path: Path, mind: World
) -> None:
    from tests.hosts.maf.test_many_agents import delegates

    async with local_mem0(model, tmp_path) as mem:
        child = agent_of(client, *make_mem0_context_provider(client=mem), name="child")
        parent = agent_of(client, *make_mem0_context_provider(client=mem), name="parent")
        parent.default_options["tools"] = [child.as_tool()]
        mind.says = delegates
        await parent.run("hello", session=new_session(principal=ALICE))
        stored = await mem.get_all(filters={"user_id": "acme:alice"})
        assert [m["memory"] for m in stored["results"]] == ["hello"]


@pytest.mark.parametrize(
    "given", [{}, {"api_key": "k", "config": {}}, {"client": 1, "api_key": "k"}]
)
def test_mem0_wants_exactly_one_way_to_reach_it(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one"):
        make_mem0_context_provider(**given)


def test_mem0s_synchronous_client_is_refused() -> None:
    """It would fail in every run."""
    from mem0 import Memory

    with pytest.raises(ValueError, match="AsyncMemory"):
        make_mem0_context_provider(client=Memory.__new__(Memory))


async def test_mem0s_hosted_service_out_of_reach_does_not_cost_the_answer(
    client: OpenAIChatCompletionClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client calls out when it is made, which is at the first run and never on the loop."""
    from mem0 import AsyncMemoryClient

    def away(self: AsyncMemoryClient) -> None:
        raise ConnectionError("no network")

    monkeypatch.setattr(AsyncMemoryClient, "_validate_api_key", away)
    providers = make_mem0_context_provider(api_key="k")
    answer = await agent_of(client, *providers).run("hello", session=new_session(principal=ALICE))
    assert answer.text == "Fine."
    memory: Any = providers[-1]
    assert memory.lost == 1


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **more: Any) -> Any:
        if name.split(".")[0] in ("mem0", "agent_framework_mem0"):
            raise ModuleNotFoundError(name)
        return real(name, *args, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"ricordo\[mem0\]"):
        make_mem0_context_provider(api_key="k")


async def test_the_files_belong_to_one_owner_per_tenant_and_user(
    client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """Promise 1: `a` of tenant `b/c` and `c/a` of tenant `b` are two people."""
    agent = agent_of(client, *make_memory_context_provider(tmp_path))
    for tenant, user in (("b/c", "a"), ("b", "c/a"), ("b", ".."), ("b", "*")):
        await agent.run("hello", session=new_session(principal=person(user, tenant)))
    assert len(list((tmp_path / "memory").iterdir())) == 4
