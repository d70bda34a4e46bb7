"""A real agent, a real chat client, a fake endpoint, and a real memory on a real file."""

import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI

from ricordo import Ricordo
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.opening import opened
from tests.support.talking import answer, item

CALM = 10.0
"""A deadline for tests that are not about deadlines."""


class Mind:
    """What the fake model knows: what to say, and what to extract from which words.

    Args:
        says: decides on what it says in a conversation.
    """

    def __init__(self) -> None:
        self.says = lambda request: Reply(text="Fine.")
        self.learns: dict[str, dict[str, Any]] = {
            "I like concise examples": item(
                "Likes concise examples", "I like concise examples", kind="preference"
            ),
            "I work on Project Falcon": item(
                "Works on Project Falcon",
                "I work on Project Falcon",
                relations=(("user", "works on", "Project Falcon"),),
            ),
        }

    def __call__(self, request: Request) -> Reply:
        if not is_extraction(request):
            return self.says(request)
        known = [
            what | {"turn": turn}
            for turn, text in users_lines(request)
            for quote, what in self.learns.items()
            if quote in text
        ]
        return answer(*(known or [item("", "", kind="none")]))


def users_lines(request: Request) -> list[tuple[int, str]]:
    """What an extraction is told that the user said, with the number of its turn."""
    lines = re.findall(r"^U(\d+)> (.*)$", request.last_user_text, re.MULTILINE)
    return [(int(turn), text) for turn, text in lines]


def is_extraction(request: Request) -> bool:
    """Whether memory asks, and not an agent."""
    return "response_format" in request.body


@pytest.fixture
def mind() -> Mind:
    return Mind()


@pytest.fixture
def model(mind: Mind) -> Iterator[FakeModel]:
    with FakeModel(mind) as endpoint:
        yield endpoint


@pytest.fixture
async def client(model: FakeModel) -> AsyncIterator[OpenAIChatCompletionClient]:
    async with AsyncOpenAI(base_url=model.base_url, api_key="none", max_retries=0) as connection:
        yield OpenAIChatCompletionClient(model="fake", async_client=connection)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Ricordo]:
    async with opened(tmp_path) as opened_memory:
        yield opened_memory


def agent_of(client: OpenAIChatCompletionClient, *providers: Any, name: str = "coder") -> Agent:
    """An agent with these context providers."""
    return Agent(client=client, name=name, description=name, context_providers=list(providers))


def extractions(model: FakeModel) -> list[Request]:
    """What memory asked the endpoint."""
    return [request for request in model.requests if is_extraction(request)]


def chats(model: FakeModel) -> list[Request]:
    """What agents asked the endpoint, without what memory asked."""
    return [request for request in model.requests if not is_extraction(request)]
