"""A process that has imported everything and forks a writer on request: short rounds.

Run as ``python -m tests.service.nursery MODEL_URL``. For each line read, a folder and a tag for
what is written, it forks a child that remembers and observes there as fast as it can, extracting
meanwhile, and prints what was acknowledged.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from agent_framework.openai import OpenAIChatCompletionClient

import ricordo.adapters.local
import ricordo.adapters.postgres
import ricordo.adapters.sqlite
import ricordo.wiring.opening  # noqa: F401
from ricordo import EntityClaim, RelationClaim, Said, Settings, Speaker, Turn
from ricordo.adapters.framework.extractor import FrameworkExtractor
from ricordo.memory.screening import sensitivity_of
from tests.support.opening import opened, person

PACE = Settings(worker=True, batch_size=3, batch_wait=0.02)
SAY = os.write


def now() -> datetime:
    return datetime.now(UTC)


def extractor(url: str) -> FrameworkExtractor:
    client = OpenAIChatCompletionClient(model="fake", api_key="none", base_url=url)
    return FrameworkExtractor(client, timeout=10)


async def live(folder: Path, tag: str, *, extract: FrameworkExtractor) -> None:
    async with (
        opened(folder, clock=now, settings=PACE, extractor=extract) as memory,
        asyncio.TaskGroup() as group,
    ):
        for lane in range(3):
            group.create_task(remember(memory, f"{tag}a{lane}"))
            group.create_task(observe(memory, f"{tag}b{lane}"))


async def remember(memory, lane: str) -> None:
    user = memory.user(person(f"user-{lane[-1]}"), agent="coder")
    for number in range(10_000):
        name = f"{lane}n{number}"
        knows = RelationClaim(
            source=EntityClaim(name="user"), relation="knows", target=EntityClaim(name=name)
        )
        stored = await user.remember(f"Knows {name}", relations=[knows])
        SAY(1, f"memory {lane[-1]} {stored.memory.id} {name}\n".encode())


async def observe(memory, lane: str) -> None:
    user = memory.user(person(f"user-{lane[-1]}"), agent="coder")
    for number in range(10_000):
        name = f"{lane}n{number}"
        said = Said(speaker=Speaker.USER, text=f"I collect {name}.")
        turn = Turn(thread_id="t", run_id=name, agent="coder", at=now(), said=(said,))
        await user.observe(turn)
        SAY(1, f"turn {lane[-1]} {name}\n".encode())


def main(url: str) -> None:
    # Once, and not in each child: all authorities' certificates, and the words of the review.
    extract = extractor(url)
    sensitivity_of("")
    for line in sys.stdin:
        folder, tag = line.split()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            SAY(1, f"pid {os.getpid()}\n".encode())
            asyncio.run(live(Path(folder), tag, extract=extract))
            os._exit(0)
        os.waitpid(child, 0)
        SAY(1, b"dead\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
