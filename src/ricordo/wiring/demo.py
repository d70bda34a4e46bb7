"""The demonstration, wired: the story's agent, memory and endpoint, put together."""

import json
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from ricordo.hosts.demo import (
    Plain,
    Replay,
    Scene,
    Stage,
    StoryClock,
    StoryIds,
    endpoint,
    load,
    play,
)
from ricordo.hosts.maf import RicordoProvider, new_session
from ricordo.settings import Settings
from ricordo.wiring.models import NO_KEY
from ricordo.wiring.opening import open_memory

ANSWER = 600.0
"""Seconds that the model may take: recording runs on whatever machine there is."""

PATIENCE = 10.0
"""Seconds that a recall may take here: on a busy machine the story must still be the same."""


async def show(*, as_json: bool, color: bool = True, database: Path | None = None) -> int:
    """Play the demonstration on standard output; returns an exit code.

    Args:
        as_json: print a list of steps as JSON instead of a story.
        color: False leaves colours out.
        database: keep the memory in this new file; by default it goes when the story ends.
    """
    with tempfile.TemporaryDirectory(prefix="ricordo-demo-") as folder:
        path = Path(folder) / "memory.db" if database is None else database
        replay = load()
        if as_json:
            await _as_json(replay, path)
        else:
            await _as_story(replay, path, color=color, kept=database is not None)
    return 0


@asynccontextmanager
async def staged(base_url: str, *, model: str, database: Path) -> AsyncGenerator[Stage]:
    """The story's stage, with an agent that talks to any OpenAI-compatible endpoint."""
    from agent_framework.openai import OpenAIChatCompletionClient

    clock = StoryClock()
    client = OpenAIChatCompletionClient(model=model, base_url=base_url, api_key=NO_KEY)
    opening = open_memory(
        database, settings=Settings(worker=False, model_timeout=ANSWER), clock=clock, ids=StoryIds()
    )
    async with opening as memory:
        yield Stage(
            memory=memory,
            clock=clock,
            client=client,
            provider=lambda hear: RicordoProvider(memory, deadline=PATIENCE, on_recall=hear),
            session=lambda thread, person: new_session(thread, principal=person),
        )


async def _as_json(replay: Replay, database: Path) -> None:
    steps: list[Plain] = []
    await _play(replay, database, show=lambda scene: steps.append(scene.plain(len(steps) + 1)))
    sys.stdout.write(json.dumps(steps, indent=2, ensure_ascii=False) + "\n")


async def _as_story(replay: Replay, database: Path, *, color: bool, kept: bool) -> None:
    from ricordo.hosts.demo.screen import Screen

    began = time.perf_counter()
    screen = Screen(sys.stdout, color=color)
    screen.begin(models=replay.models)
    await _play(replay, database, show=screen.show)
    screen.end(seconds=time.perf_counter() - began, database=str(database) if kept else None)


async def _play(replay: Replay, database: Path, *, show: Callable[[Scene], object]) -> None:
    async with (
        endpoint(replay, models=replay.models) as url,
        staged(url, model=replay.models[0], database=database) as stage,
    ):
        async for scene in play(stage):
            show(scene)
