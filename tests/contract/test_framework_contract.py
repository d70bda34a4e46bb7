"""What Ricordo relies on in the Microsoft Agent Framework, call by call.

When a new version of the framework moves one of these, the test's name and message say which, and
which of our modules must follow. They prove nothing about Ricordo itself.
"""

import inspect
import json
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from typing import Any

import agent_framework
import pytest
from agent_framework import (
    Agent,
    AgentExecutor,
    AgentLoopMiddleware,
    AgentSession,
    Content,
    ContextProvider,
    FunctionMiddleware,
    HistoryProvider,
    InMemoryHistoryProvider,
    MemoryContextProvider,
    MemoryFileStore,
    Message,
    SessionContext,
    WorkflowBuilder,
    tool,
)
from agent_framework.openai import OpenAIChatCompletionClient
from agent_framework.orchestrations import HandoffBuilder
from openai import AsyncOpenAI

from tests.support.fake_model import Call, FakeModel, Reply, Request, scripted

USED = (
    "Agent AgentExecutor AgentResponse AgentSession Content ContextProvider "
    "FunctionInvocationContext FunctionMiddleware FunctionTool HistoryProvider "
    "InMemoryHistoryProvider MemoryContextProvider MemoryFileStore Message SessionContext "
    "SupportsAgentRun SupportsChatGetResponse SupportsGetEmbeddings WorkflowBuilder tool"
).split()


@pytest.fixture
def model() -> Any:
    with FakeModel() as endpoint:
        yield endpoint


@pytest.fixture
async def client(model: FakeModel) -> AsyncIterator[OpenAIChatCompletionClient]:
    async with AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0) as opened:
        yield OpenAIChatCompletionClient(model="fake", async_client=opened)


def takes(call: Callable[..., Any], *names: str) -> None:
    missing = set(names) - set(inspect.signature(call).parameters)
    where = getattr(call, "__qualname__", str(call))
    assert not missing, f"agent_framework moved: {where} no longer takes {sorted(missing)}"


@pytest.mark.parametrize("name", USED)
def test_the_names_that_we_import_are_there(name: str) -> None:
    assert hasattr(agent_framework, name), f"agent_framework moved: {name} is gone"


def test_providers_are_called_with_agent_session_context_and_state() -> None:
    """hosts/maf/providers.py and guarded.py override these two."""
    for hook in (ContextProvider.before_run, ContextProvider.after_run):
        takes(hook, "agent", "session", "context", "state")
        assert inspect.iscoroutinefunction(hook), (
            "agent_framework moved: the hooks are no coroutines"
        )
    assert ContextProvider.after_run_once_per_turn is False, (
        "agent_framework moved: ContextProvider.after_run_once_per_turn"
    )


def test_injected_messages_are_attributed_with_their_origins() -> None:
    """providers.py injects by it, turns.py recognises injected messages by it."""
    takes(SessionContext.extend_messages, "source", "messages", "origin_session_ids")
    context = SessionContext(input_messages=[])
    provider = ContextProvider("ricordo")
    context.extend_messages(provider, [Message("user", ["x"])], origin_session_ids=["a", "b", "a"])
    [message] = context.get_messages()
    assert message.additional_properties == {
        "_attribution": {
            "source_id": "ricordo",
            "source_type": "ContextProvider",
            "origin_session_ids": ["a", "b"],
        }
    }, "agent_framework moved: the attribution of injected messages"


def test_a_message_has_the_parts_that_trust_is_decided_by() -> None:
    """turns.py reads role, author, id, properties, and each content's type and annotations."""
    message = Message("user", ["plain", Content.from_data(b"x", media_type="text/plain")])
    assert (message.role, message.author_name, message.message_id) == ("user", None, None)
    assert message.additional_properties == {}
    text, data = message.contents
    assert (text.type, text.text, text.annotations) == ("text", "plain", None)
    assert text.additional_properties == {}
    assert data.type != "text", "agent_framework moved: a document's content is of type text"


def test_a_session_keeps_plain_state_through_storage() -> None:
    """identity.py keeps the principal there."""
    session = AgentSession(session_id="s")
    session.state["ricordo.identity"] = {
        "tenant": "t",
        "grants": [{"role": "r", "namespace": None}],
    }
    again = AgentSession.from_dict(json.loads(json.dumps(session.to_dict())))
    assert (again.session_id, again.state) == (session.session_id, session.state), (
        "agent_framework moved: AgentSession.to_dict and from_dict change plain state"
    )


class Probe(ContextProvider):
    """Notes what the framework does with a provider."""

    after_run_once_per_turn = True

    def __init__(self) -> None:
        super().__init__("probe")
        self.before: list[SessionContext] = []
        self.after: list[SessionContext] = []
        self.sessions: list[AgentSession] = []
        self.states: list[set[str]] = []

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        self.before.append(context)
        self.sessions.append(session)
        self.states.append(set(session.state))
        context.metadata["probe"] = len(self.before)
        state["runs"] = state.get("runs", 0) + 1

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        self.after.append(context)


@pytest.mark.parametrize("streamed", [False, True])
async def test_one_context_lives_from_before_to_after_with_the_answer(
    client: OpenAIChatCompletionClient, streamed: bool
) -> None:
    """providers.py keeps a run's person in `context.metadata`."""
    probe = Probe()
    agent = Agent(client=client, name="a", context_providers=[probe])
    session = AgentSession()
    if streamed:
        stream = agent.run("hello", session=session, stream=True)
        assert [update async for update in stream]
        await stream.get_final_response()
    else:
        await agent.run("hello", session=session)
    assert probe.before == probe.after, "agent_framework moved: after_run gets another context"
    [context] = probe.after
    assert context.metadata["probe"] == 1
    assert context.response is not None
    assert context.response.text.strip() == "Fine."
    assert session.state["probe"] == {"runs": 1}, "agent_framework moved: a provider's state slice"


async def test_history_is_added_by_itself_only_where_no_provider_loads_any(
    client: OpenAIChatCompletionClient,
) -> None:
    """factories.py names the history, so that short-term memory stays whatever else is added."""
    alone = Agent(client=client, context_providers=[Probe()])
    await alone.run("hello", session=AgentSession())
    assert any(isinstance(p, InMemoryHistoryProvider) for p in alone.context_providers), (
        "agent_framework moved: no history is added next to a plain provider"
    )
    named = Agent(client=client, context_providers=[InMemoryHistoryProvider(), Probe()])
    await named.run("hello", session=AgentSession())
    assert len(named.context_providers) == 2, "agent_framework moved: history is added twice"
    assert issubclass(MemoryContextProvider, HistoryProvider), (
        "agent_framework moved: MemoryContextProvider is no HistoryProvider any more; "
        "factories.py may drop its wrapper"
    )


def test_the_file_store_finds_its_owner_in_the_session_state() -> None:
    """factories.py and identity.py set it."""
    takes(MemoryFileStore.__init__, "base_path", "owner_state_key")
    takes(MemoryContextProvider.__init__, "store", "source_id", "recent_turns")
    assert inspect.signature(MemoryFileStore.__init__).parameters["owner_state_key"].default is (
        inspect.Parameter.empty
    )


@pytest.mark.filterwarnings("ignore:.*is experimental")
async def test_a_loop_runs_after_run_once_on_the_persons_own_message(
    client: OpenAIChatCompletionClient,
) -> None:
    """providers.py relies on `after_run_once_per_turn` to queue one turn, not one per pass."""
    probe = Probe()
    loop = AgentLoopMiddleware(should_continue=lambda **_: len(probe.before) < 3)
    agent = Agent(client=client, context_providers=[probe], middleware=[loop])
    await agent.run("do it", session=AgentSession())
    assert len(probe.before) == 3
    [context] = probe.after
    assert [m.text for m in context.input_messages] == ["do it"], (
        "agent_framework moved: a loop's after_run does not get the original message"
    )


async def test_a_providers_function_middleware_surrounds_each_tool(
    client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    """nesting.py marks by it what a tool starts."""
    inside: ContextVar[bool] = ContextVar("inside", default=False)

    class Mark(FunctionMiddleware):
        async def process(self, context: Any, call_next: Any) -> None:
            token = inside.set(True)
            try:
                await call_next()
            finally:
                inside.reset(token)

    class Adds(ContextProvider):
        async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
            context.extend_middleware(self.source_id, Mark())

    seen: list[bool] = []

    @tool(approval_mode="never_require")
    async def look() -> str:
        """Look."""
        seen.append(inside.get())
        return "seen"

    model.answer = scripted(Reply(calls=[Call(name="look")]), "Done.")
    agent = Agent(client=client, tools=[look], context_providers=[Adds("adds")])
    await agent.run("look", session=AgentSession())
    assert seen == [True], "agent_framework moved: extend_middleware does not reach the tools"
    assert not inside.get()


async def test_an_agent_as_a_tool_hears_the_models_words_in_the_users_role(
    client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    """nesting.py exists because of it."""
    probe = Probe()
    child = Agent(client=client, name="child", description="Helps.", context_providers=[probe])
    model.answer = scripted(
        Reply(calls=[Call(name="child", arguments={"task": "words of the model"})]), "a", "b"
    )
    parent = Agent(client=client, name="parent", tools=[child.as_tool()])
    await parent.run("words of the person", session=AgentSession(session_id="outer"))
    [context] = probe.before
    [message] = context.input_messages
    assert (message.role, message.text) == ("user", "words of the model"), (
        "agent_framework moved: what an agent that is called as a tool hears"
    )
    assert probe.sessions[0].session_id != "outer"
    assert probe.states[0] == {"probe"}, (
        "agent_framework moved: the session of an agent that is called as a tool is not empty"
    )


async def test_a_workflow_runs_each_agent_in_the_session_it_was_given(
    client: OpenAIChatCompletionClient,
) -> None:
    """The documentation tells how memory gets its person in a workflow."""
    takes(AgentExecutor.__init__, "agent", "session", "id")
    probe = Probe()
    agent = Agent(client=client, name="a", context_providers=[probe])
    session = AgentSession(session_id="given")
    executor = AgentExecutor(agent, session=session)
    await WorkflowBuilder(start_executor=executor).build().run("hello")
    assert probe.sessions == [session], "agent_framework moved: AgentExecutor(session=)"


async def test_a_hand_off_keeps_context_providers_and_makes_sessions_of_its_own(
    client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    """`RicordoProvider.within` exists because of it."""
    probe = Probe()
    agents = [
        Agent(
            client=client,
            name=name,
            description=name,
            context_providers=[probe],
            require_per_service_call_history_persistence=True,
        )
        for name in ("first", "second")
    ]
    model.answer = scripted(Reply(calls=[Call(name="handoff_to_second")]), "Second here.")
    workflow = HandoffBuilder(participants=agents).with_start_agent(agents[0]).build()
    await workflow.run("hello")
    assert len(probe.before) == 2, "agent_framework moved: a hand-off drops context providers"
    assert len({session.session_id for session in probe.sessions}) == 2, (
        "agent_framework moved: the agents of a hand-off share a session"
    )


async def test_the_chat_client_speaks_chat_completions_to_any_base_url(model: FakeModel) -> None:
    """The examples, the demo and `ricordo chat` are built on it."""
    takes(OpenAIChatCompletionClient.__init__, "model", "api_key", "base_url", "async_client")
    heard: list[Request] = []
    model.answer = lambda request: (heard.append(request), Reply(text="Hi"))[1]
    async with AsyncOpenAI(base_url=model.base_url, api_key="none") as opened:
        client = OpenAIChatCompletionClient(model="fake", async_client=opened)
        answer = await Agent(client=client).run("hello")
    assert answer.text == "Hi"
    assert heard[0].texts(role="user") == ["hello"]
