"""What Ricordo relies on in mem0 2.x and its provider for the framework, call by call.

When a new version moves one of these, the test's message says which; `hosts/maf/factories.py` must
follow. mem0 runs here for real: its OSS client on a local store, with a fake model endpoint.
"""

import inspect
import os
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_model import FakeModel, Reply
from tests.support.mem0_local import local_mem0, remembers


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel(remembers) as endpoint:
        yield endpoint


def takes(call: Any, *names: str) -> None:
    missing = set(names) - set(inspect.signature(call).parameters)
    assert not missing, f"mem0 moved: {call.__qualname__} no longer takes {sorted(missing)}"


def test_it_is_the_second_generation_of_mem0() -> None:
    assert version("mem0ai").startswith("2."), "mem0 moved: its major version"


def test_the_providers_store_scope_and_search_scope_are_two() -> None:
    """Without `search_user_id` it would store and find nothing."""
    from agent_framework_mem0 import Mem0ContextProvider

    takes(Mem0ContextProvider.__init__, "mem0_client", "user_id", "search_user_id")


def test_telemetry_is_off_before_mem0_is_imported() -> None:
    """Promise 13: no telemetry."""
    import agent_framework_mem0  # noqa: F401 - imported first, it switches telemetry off
    from mem0.memory import telemetry

    assert os.environ["MEM0_TELEMETRY"].lower() == "false"
    assert telemetry.MEM0_TELEMETRY is False, "mem0 moved: how telemetry is switched off"


def test_the_open_source_client_is_made_from_a_configuration() -> None:
    from mem0 import AsyncMemory

    takes(AsyncMemory.from_config, "config_dict")
    takes(AsyncMemory.search, "query", "filters")
    takes(AsyncMemory.add, "messages", "user_id", "agent_id")
    assert not inspect.iscoroutinefunction(AsyncMemory.from_config), (
        "mem0 moved: AsyncMemory.from_config is a coroutine now"
    )


def test_the_hosted_client_calls_out_in_its_constructor() -> None:
    """So it is made at the first run, in a thread; if that is no longer so, make it at once."""
    from mem0 import AsyncMemoryClient

    takes(AsyncMemoryClient.__init__, "api_key")
    assert "_validate_api_key" in inspect.getsource(AsyncMemoryClient.__init__), (
        "mem0 moved: the constructor of AsyncMemoryClient"
    )


async def test_what_is_added_for_a_user_is_found_for_that_user_only(
    model: FakeModel, tmp_path: Path
) -> None:
    async with local_mem0(model, tmp_path) as memory:
        await memory.add(
            messages=[{"role": "user", "content": "I work on Project Falcon"}], user_id="acme:alice"
        )
        found = await memory.search(query="Project Falcon", filters={"user_id": "acme:alice"})
        assert [hit["memory"] for hit in found["results"]] == ["I work on Project Falcon"], (
            "mem0 moved: the shape of a search result"
        )
        other = await memory.search(query="Project Falcon", filters={"user_id": "acme:bob"})
        assert other["results"] == []


async def test_a_wildcard_still_reads_every_user(model: FakeModel, tmp_path: Path) -> None:
    """Why `owner_of` lets no wildcard through; if mem0 refuses it one day, so much the better."""
    async with local_mem0(model, tmp_path) as memory:
        await memory.add(messages=[{"role": "user", "content": "My pin"}], user_id="acme:alice")
        found = await memory.search(query="pin", filters={"user_id": "*"})
        assert len(found["results"]) == 1, "mem0 moved: `*` as a user id (for the better)"


async def test_a_failing_model_raises_out_of_add(model: FakeModel, tmp_path: Path) -> None:
    """Why `GuardedProvider` exists: unguarded, it costs the user the finished answer."""
    from mem0.exceptions import LLMError

    async with local_mem0(model, tmp_path) as memory:
        model.answer = lambda _: Reply(status=500)
        with pytest.raises(LLMError):
            await memory.add(messages=[{"role": "user", "content": "x"}], user_id="acme:alice")
