"""Spans of memory are part of the framework's own span of the agent's run."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from agent_framework import observability
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo
from ricordo.hosts.maf import RicordoProvider, new_session
from tests.hosts.maf.conftest import CALM, agent_of
from tests.support.opening import opened, person
from tests.support.watching import Watched, watched


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Watched:
    """The framework traces into the test's provider, as it does into a program's global one."""
    found = watched()
    monkeypatch.setattr(
        observability, "get_tracer", lambda *_, **__: found.tracing.get_tracer("agent_framework")
    )
    return found


@pytest.fixture
async def memory(tmp_path: Path, seen: Watched) -> AsyncIterator[Ricordo]:
    async with opened(tmp_path, telemetry=seen.telemetry) as opened_memory:
        yield opened_memory


@pytest.mark.parametrize("streamed", [False, True])
async def test_recall_and_observe_are_part_of_the_agents_run(
    streamed: bool, memory: Ricordo, client: OpenAIChatCompletionClient, seen: Watched
) -> None:
    agent = agent_of(client, RicordoProvider(memory, deadline=CALM))
    session = new_session(principal=person())
    if streamed:
        stream = agent.run("I work on Project Falcon", session=session, stream=True)
        await stream.get_final_response()
    else:
        await agent.run("I work on Project Falcon", session=session)
    [recall], [observe] = seen.named("ricordo recall"), seen.named("ricordo observe")
    assert seen.parent_of(recall) == "invoke_agent coder"
    assert seen.parent_of(observe) == "invoke_agent coder"
    traces = {span.context.trace_id for span in seen.spans if span.context}
    assert len(traces) == 1
    ours = [span for span in seen.spans if span.name.startswith("ricordo")]
    assert ours
    assert not any("Falcon" in span.to_json() for span in ours)
