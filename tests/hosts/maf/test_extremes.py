"""Questions of every shape reach the model with what is remembered, and never cost the answer."""

from agent_framework import Agent
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo
from ricordo.hosts.maf import RicordoProvider, new_session
from tests.hosts.maf.conftest import CALM, agent_of, chats
from tests.promises.test_extremes import QUESTIONS
from tests.support.fake_model import FakeModel
from tests.support.opening import person


def sendable(question: str) -> bool:
    """A lone surrogate cannot be sent over HTTP, whatever memory does."""
    try:
        question.encode()
    except UnicodeEncodeError:
        return False
    return True


async def test_every_question_is_answered(
    memory: Ricordo, client: OpenAIChatCompletionClient, model: FakeModel
) -> None:
    await memory.user(person(), agent="coder").remember("Works on Falcon")
    provider = RicordoProvider(memory, deadline=CALM)
    agent: Agent = agent_of(client, provider)
    asked = [question for question in QUESTIONS.values() if sendable(question)]
    for question in asked:
        answer = await agent.run(question, session=new_session(principal=person()))
        assert answer.text == "Fine."
    assert len(chats(model)) == len(asked)
    assert (provider.recalls_failed, provider.lost) == (0, 0)
    long = next(request for request in chats(model) if "matter" in request.all_text)
    assert QUESTIONS["long"] in long.all_text, "the question itself reaches the model whole"
