"""Turns and extraction answers, written shortly."""

import json
from typing import Any

from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Said, Speaker, Turn
from ricordo.adapters.framework.extractor import FrameworkExtractor
from tests.support.fake_model import FakeModel, Reply
from tests.support.opening import Clock


def turn(
    *lines: str,
    run: str = "r1",
    thread: str = "t1",
    agent: str = "coder",
    clock: Clock,
    **more: Any,
) -> Turn:
    """What the user said in one run, with the assistant nodding after it."""
    said = [
        Said(speaker=Speaker.USER, text=text, id=f"{run}-{number}")
        for number, text in enumerate(lines)
    ]
    said.append(Said(speaker=Speaker.ASSISTANT, text="I see."))
    return Turn(
        thread_id=thread,
        run_id=run,
        display_id="d1",
        agent=agent,
        at=clock(),
        said=tuple(said),
        **more,
    )


def item(
    text: str,
    quote: str,
    *,
    kind: str = "fact",
    relations: tuple[tuple[str, str, str], ...] = (),
    confidence: str = "high",
    replaces: tuple[int, ...] = (),
    turn: int = 1,
) -> dict[str, Any]:
    """One item of a model's answer."""
    return {
        "kind": kind,
        "turn": turn,
        "quote": quote,
        "text": text,
        "relations": [
            {"source": s, "source_type": None, "relation": r, "target": t, "target_type": None}
            for s, r, t in relations
        ],
        "confidence": confidence,
        "replaces": list(replaces),
    }


def answer(*items: dict[str, Any]) -> Reply:
    """A model's whole answer."""
    return Reply(text=json.dumps({"items": list(items)}))


def extractor(model: FakeModel, **more: Any) -> FrameworkExtractor:
    """The real extractor, talking to the endpoint."""
    client = OpenAIChatCompletionClient(model="fake", api_key="none", base_url=model.base_url)
    return FrameworkExtractor(client, **more)
