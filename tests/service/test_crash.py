"""Promise 4, for the ledger itself: `kill -9` at random instants loses nothing acknowledged.

RICORDO_CRASH_ROUNDS sets how many times a writer of a file is killed (200 unless set); a writer to
a server, where each round takes much longer, is killed a tenth as often. After each kill the ledger
must open and be sound, everything acknowledged must be there, and nothing may be half-written: a
memory always has its origins, its index row, its relation and its event. At the end every
acknowledged turn has become exactly one memory.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.testing.ledger.making import sound, stored, turn
from tests.service.writers_nursery import learn, now, user
from tests.support.ledgers import ledger, rows
from tests.support.places import Places

ROUNDS = int(os.environ.get("RICORDO_CRASH_ROUNDS", "200"))
ON_SERVER = max(2, ROUNDS // 10)
PER_LEDGER = 20

HALF_WRITTEN = """
select count(*) from memories m where
  not exists (select 1 from origins o where o.memory_row = m.row)
  or not exists (select 1 from memory_index i where i.memory_row = m.row)
  or not exists (select 1 from evidence v join relations r on r.row = v.relation_row
                 join relation_origins o on o.relation_row = r.row where v.memory_row = m.row)
"""
MEMORIES = "select id from memories"
EVENTS = "select payload from outbox"
LEARNED = "select run_id, count(*) from origins where run_id like 'run-_%-_%-%' group by run_id"


class Nursery:
    """Children that write until they are killed."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.service.writers_nursery"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def begin(self, folder: Path, tag: str) -> None:
        """Let a child live."""
        self.process.stdin.write(f"{folder} {tag}\n")
        self.child = int(self.process.stdout.readline().split()[1])

    def until(self, *kinds: str) -> list[list[str]]:
        """What it acknowledges until it has acknowledged something of one of these kinds."""
        said = [self.process.stdout.readline().split()]
        while said[-1][0] not in kinds:
            said.append(self.process.stdout.readline().split())
        return said

    def kill(self) -> list[list[str]]:
        """Let it die at once; what it acknowledged meanwhile."""
        os.kill(self.child, signal.SIGKILL)
        said: list[list[str]] = []
        while (line := self.process.stdout.readline().split()) != ["dead"]:
            said.append(line)
        return said


@pytest.fixture
def nurseries() -> Iterator[list[Nursery]]:
    running = [Nursery() for _ in range(3)]
    yield running
    for each in running:
        each.close()


async def inspect(folder: Path, said: list[list[str]]) -> None:
    """Open what is left; look for everything that was acknowledged."""
    async with ledger(folder, clock=now) as opened:
        await sound(opened)
        for lane in ("0", "1"):
            ids = [words[2] for words in said if words[:2] == ["memory", lane]]
            found = await stored(opened, *ids, scope=user(int(lane)))
            assert [each.id for each in found] == ids
            for words in said:
                if words[:2] == ["turn", lane]:
                    again = await opened.accept(turn(words[2], at=now()), scope=user(int(lane)))
                    assert again is False, words
    assert rows(folder, HALF_WRITTEN) == [(0,)]
    # First the memories: where others still write, an event may come in between, a memory not.
    there = {memory_id for (memory_id,) in rows(folder, MEMORIES)}
    told = {json.loads(payload).get("memory_id") for (payload,) in rows(folder, EVENTS)}
    assert there <= told, "a memory without its event"


async def settle(folder: Path) -> dict[str, int]:
    """Finish the queue; for every turn, how many memories it became."""
    async with ledger(folder, clock=now) as opened:
        while (await opened.backlog()).waiting + (await opened.backlog()).leased:
            batch = await opened.claim(at=now(), size=50, patience=0, lease=60)
            if batch is None:  # the lease of a dead worker has still to run out
                await asyncio.sleep(0.01)
                continue
            await learn(opened, batch)
    return dict(rows(folder, LEARNED))


@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost(nurseries: list[Nursery], places: Places) -> None:
    """Ledger 1 and 2, Queue 1 and 3, over many deaths."""
    chance = random.Random(os.environ.get("RICORDO_CRASH_SEED"))
    rounds = ROUNDS if places.engine == "sqlite" else ON_SERVER
    done = Counter[str]()
    turns: dict[Path, set[str]] = {}
    nursery = nurseries[0]
    for number in range(rounds):
        if number % PER_LEDGER == 0:
            folder = places.new(str(number))
            turns[folder] = set()
        nursery.begin(folder, str(number))
        said = nursery.until("memory" if number % 2 else "turn")
        time.sleep(chance.uniform(0, 0.12))
        said += nursery.kill()
        asyncio.run(inspect(folder, said))
        done.update(words[0] for words in said)
        turns[folder].update(f"run-{words[2]}" for words in said if words[0] == "turn")
    for folder, acknowledged in turns.items():
        learned = asyncio.run(settle(folder))
        assert set(learned.values()) <= {1}
        assert acknowledged <= learned.keys()
    print(f"{rounds} deaths after {dict(done)}")
    assert min(done["memory"], done["turn"]) >= rounds // 2


def test_processes_that_share_a_ledger_lose_nothing(
    nurseries: list[Nursery], places: Places
) -> None:
    """Ledger 3: writers, workers and moving logs side by side, one dying while the others go on."""
    folder = places.new("shared")
    acknowledged: set[str] = set()
    for number in range(6):
        said: list[list[str]] = []
        for name, nursery in enumerate(nurseries):
            nursery.begin(folder, f"{number}p{name}")
        for nursery in nurseries:
            said += nursery.until("turn")
        for nursery in nurseries:
            time.sleep(0.1)
            said += nursery.kill()
        asyncio.run(inspect(folder, said))
        acknowledged.update(f"run-{words[2]}" for words in said if words[0] == "turn")
    learned = asyncio.run(settle(folder))
    assert set(learned.values()) <= {1}
    assert acknowledged <= learned.keys()
    assert acknowledged
