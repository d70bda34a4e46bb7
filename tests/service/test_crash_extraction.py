"""Promise 4: `kill -9` at random instants during concurrent writes and extraction.

RICORDO_CRASH_ROUNDS sets how many times in a file (200 unless set), and a twentieth of that on a
server, where each round takes much longer. After each kill the memory must open and be sound, and
everything acknowledged must be there, whole. At the end every acknowledged turn has been extracted
exactly once.
"""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ricordo import Kind, Listing, Settings
from ricordo.access import user_scope
from ricordo.model import Partition
from tests.service.nursery import extractor
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.ledgers import quiet
from tests.support.opening import opened, person
from tests.support.places import Places

ROUNDS = int(os.environ.get("RICORDO_CRASH_ROUNDS", "200"))
ON_SERVER = max(2, ROUNDS // 20)
PER_MEMORY = 20


def collecting(request: Request) -> Reply:
    """Extracts "I collect X" from every line of the user's."""
    lines = re.findall(r"U(\d+)> (I collect ([a-z0-9]+)\.)", request.last_user_text)
    items = [
        {
            "kind": "fact",
            "turn": int(number),
            "quote": quote,
            "text": f"Collects {name}",
            "confidence": "high",
            "replaces": [],
            "relations": [
                {
                    "source": "user",
                    "source_type": "person",
                    "relation": "likes",
                    "target": name,
                    "target_type": "thing",
                }
            ],
        }
        for number, quote, name in lines
    ]
    return Reply(text=json.dumps({"items": items}))


class Nursery:
    """Children that write until they are killed."""

    def __init__(self, url: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.nursery", url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def round(self, folder: Path, tag: str, *, seconds: float) -> list[list[str]]:
        """Let a child live for so long after its first word; returns what it acknowledged."""
        self.process.stdin.write(f"{folder} {tag}\n")
        self.process.stdin.flush()
        heard = [self.process.stdout.readline().split()]
        assert heard[0][0] == "pid"
        heard.append(self.process.stdout.readline().split())  # it is open and works
        time.sleep(seconds)
        os.kill(int(heard[0][1]), signal.SIGKILL)
        while heard[-1] != ["dead"]:
            heard.append(self.process.stdout.readline().split())
        return heard[1:-1]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@pytest.mark.timeout(1_200)
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_written(places: Places) -> None:
    rounds = ROUNDS if places.engine == "sqlite" else ON_SERVER
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    told = 0
    with FakeModel(collecting) as model, closing(Nursery(model.base_url)) as nursery:
        for start in range(0, rounds, PER_MEMORY):
            folder = places.new(str(start))
            acknowledged: list[list[str]] = []
            for number in range(start, min(start + PER_MEMORY, rounds)):
                fresh = nursery.round(folder, f"r{number}", seconds=chance.uniform(0.0, 0.12))
                acknowledged += fresh
                quiet(folder)
                await whole(folder, fresh)
            await extracted_exactly_once(folder, acknowledged, model.base_url)
            told += len(acknowledged)
    print(f"{rounds} kills, {told:,} acknowledgements")
    assert told >= rounds


async def whole(folder: Path, acknowledged: list[list[str]]) -> None:
    """The memory opens, is sound, and holds what was acknowledged, complete."""
    async with opened(folder) as memory:
        problems = [f for f in await memory.ledger.check() if f.problem]
        assert not problems
        for kind, user, *rest in acknowledged:
            if kind != "memory":
                continue
            memory_id, name = rest
            owner = memory.user(person(f"user-{user}"))
            found = await owner.get(memory_id)
            assert found.text == f"Knows {name}"
            assert len(found.origins) == 1
            [relation] = await owner.relations(memory_id)
            assert (relation.source_name, relation.target_name) == ("user", name)
        for user in {word[1] for word in acknowledged}:
            await consistent(memory, user)


async def consistent(memory, user: str) -> None:
    """Every memory has its index row, and every one its announcement."""
    scope = user_scope(person(f"user-{user}"))
    partition = Partition(scope=scope, kind=Kind.FACT)

    async def look(tx):
        return await tx.rows(partition=partition, since=None)

    rows = await memory.ledger.read(look, scopes=[scope])
    ids = await everything(memory, user)
    assert set(rows.ids) == set(ids)


async def everything(memory, user: str) -> dict[str, object]:
    found, cursor = {}, None
    while True:
        page = await memory.user(person(f"user-{user}")).list(Listing(limit=1_000, after=cursor))
        found |= {m.id: m for m in page.memories}
        cursor = page.cursor
        if cursor is None:
            return found


async def extracted_exactly_once(folder: Path, acknowledged: list[list[str]], url: str) -> None:
    def later() -> datetime:
        return datetime.now(UTC) + timedelta(hours=1)  # past every lease of the dead

    settings = Settings(worker=False, batch_size=64)
    async with opened(folder, clock=later, settings=settings, extractor=extractor(url)) as memory:
        await memory.intake.drain()
        backlog = await memory.ledger.backlog()
        assert (backlog.waiting, backlog.leased, backlog.parked) == (0, 0, 0)
        for user in {word[1] for word in acknowledged}:
            origins = {
                m.text.removeprefix("Collects "): m.origins
                for m in (await everything(memory, user)).values()
                if m.text.startswith("Collects ")
            }
            for kind, whose, *rest in acknowledged:
                if (kind, whose) == ("turn", user):
                    assert [o.run_id for o in origins[rest[0]]] == [rest[0]]
