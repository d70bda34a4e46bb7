"""Promises 4 and 12 over several processes on one ledger: one fact, many origins, fresh caches."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.opening import opened, person

pytestmark = pytest.mark.usefixtures("engine")

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from ricordo.model import Origin
from tests.support.opening import opened, person

async def main(folder, name):
    async with opened(Path(folder), clock=lambda: datetime.now(UTC)) as memory:
        print("ready", flush=True)
        sys.stdin.readline()
        async def say(number):
            await memory.user(person(), agent="coder").remember(
                "Works on Project Falcon",
                origin=Origin(at=datetime.now(UTC), thread_id=f"{name}-{number}"),
            )
        await asyncio.gather(*(say(number) for number in range(4)))
    print("done", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

FOLLOWER = """
import asyncio, json, sys
from datetime import UTC, datetime
from pathlib import Path
from tests.support.opening import opened, person

async def main(folder):
    async with opened(Path(folder), clock=lambda: datetime.now(UTC)) as memory:
        alice = memory.user(person(), agent="coder")
        for line in sys.stdin:
            found = await alice.recall(line.strip(), deadline=20)
            print(json.dumps([item.memory.text for item in found.items]), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


async def test_four_processes_of_four_writers_make_one_fact_with_sixteen_origins(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path):
        pass
    writers = [start(WRITER, str(tmp_path), f"p{number}") for number in range(4)]
    for writer in writers:
        assert await asyncio.to_thread(writer.stdout.readline) == "ready\n"
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        out, _ = await asyncio.to_thread(writer.communicate)
        assert (out, writer.returncode) == ("done\n", 0)
    async with opened(tmp_path) as memory:
        [fact] = (await memory.user(person()).list()).memories
        assert len({origin.thread_id for origin in fact.origins}) == 16
        assert not [finding for finding in await memory.ledger.check() if finding.problem]


async def test_the_next_recall_sees_what_another_process_wrote_changed_or_forgot(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        follower = start(FOLLOWER, str(tmp_path))

        async def seen(question: str) -> list[str]:
            follower.stdin.write(question + "\n")
            follower.stdin.flush()
            return json.loads(await asyncio.to_thread(follower.stdout.readline))

        assert await seen("falcon") == []
        stored = await alice.remember("Works on Project Falcon")
        assert await seen("falcon") == ["Works on Project Falcon"]
        await alice.edit(stored.memory.id, text="Leads Project Falcon")
        assert await seen("falcon") == ["Leads Project Falcon"]
        await alice.remember("Likes falcon feathers", kind="preference")
        assert len(await seen("falcon")) == 2
        await alice.forget(stored.memory.id)
        assert await seen("falcon") == ["Likes falcon feathers"]
        await alice.erase()
        assert await seen("falcon") == []
        await alice.remember("Back with Project Falcon")
        assert await seen("falcon") == ["Back with Project Falcon"]
        await asyncio.to_thread(follower.communicate)
        assert follower.returncode == 0
