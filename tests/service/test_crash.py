"""Promise 4, for the ledger itself: `kill -9` at random instants loses nothing acknowledged.

RICORDO_CRASH_ROUNDS sets how many times (200 unless set). After each kill the file must open and be
sound, everything acknowledged must be there, and nothing may be half-written: a memory always has
its origins, its index row, its relation and its event. At the end every acknowledged turn has
become exactly one memory.
"""

import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.testing.ledger.making import sound, stored, turn
from tests.service.writers_nursery import learn, now, user

ROUNDS = int(os.environ.get("RICORDO_CRASH_ROUNDS", "200"))
PER_FILE = 20

HALF_WRITTEN = """
select count(*) from memories m where
  not exists (select 1 from origins o where o.memory_row = m.row)
  or not exists (select 1 from memory_index i where i.memory_row = m.row)
  or not exists (select 1 from evidence v join relations r on r.row = v.relation_row
                 join relation_origins o on o.relation_row = r.row where v.memory_row = m.row)
  or m.id not in (select json_extract(payload, '$.memory_id') from outbox)
"""
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

    def begin(self, path: Path, tag: str) -> None:
        """Let a child live."""
        self.process.stdin.write(f"{path} {tag}\n")
        self.child = int(self.process.stdout.readline().split()[1])

    def first_word(self) -> list[list[str]]:
        """Wait until it has acknowledged something."""
        return [self.process.stdout.readline().split()]

    def kill(self) -> list[list[str]]:
        """Let it die at once; what it acknowledged since its first word."""
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


async def inspect(path: Path, said: list[list[str]]) -> None:
    """Open what is left; look for everything that was acknowledged."""
    async with SqliteLedger.open(path, clock=now) as ledger:
        await sound(ledger)
        for lane in ("0", "1"):
            ids = [words[2] for words in said if words[:2] == ["memory", lane]]
            found = await stored(ledger, *ids, scope=user(int(lane)))
            assert [each.id for each in found] == ids
            for words in said:
                if words[:2] == ["turn", lane]:
                    again = await ledger.accept(turn(words[2], at=now()), scope=user(int(lane)))
                    assert again is False, words
    connection = sqlite3.connect(path)
    assert connection.execute(HALF_WRITTEN).fetchone() == (0,)
    connection.close()


async def settle(path: Path) -> dict[str, int]:
    """Finish the queue; for every turn, how many memories it became."""
    async with SqliteLedger.open(path, clock=now) as ledger:
        while (await ledger.backlog()).waiting + (await ledger.backlog()).leased:
            batch = await ledger.claim(at=now(), size=50, patience=0, lease=5)
            if batch is None:  # the lease of a dead worker has still to run out
                await asyncio.sleep(0.01)
                continue
            await learn(ledger, batch)
    connection = sqlite3.connect(path)
    learned = dict(connection.execute(LEARNED).fetchall())
    connection.close()
    return learned


@pytest.mark.timeout(900)
def test_nothing_acknowledged_is_lost(nurseries: list[Nursery], tmp_path: Path) -> None:
    """Ledger 1 and 2, Queue 1 and 3, over many deaths."""
    chance = random.Random(os.environ.get("RICORDO_CRASH_SEED"))
    done = Counter[str]()
    turns: dict[Path, set[str]] = {}
    nursery = nurseries[0]
    for number in range(ROUNDS):
        path = tmp_path / f"{number // PER_FILE}.db"
        nursery.begin(path, str(number))
        said = nursery.first_word()
        time.sleep(chance.uniform(0, 0.12))
        said += nursery.kill()
        asyncio.run(inspect(path, said))
        done.update(words[0] for words in said)
        turns.setdefault(path, set()).update(f"run-{w[2]}" for w in said if w[0] == "turn")
    for path, acknowledged in turns.items():
        learned = asyncio.run(settle(path))
        assert set(learned.values()) <= {1}
        assert acknowledged <= learned.keys()
    print(f"{ROUNDS} deaths after {dict(done)}")
    assert done["memory"] >= ROUNDS // 4
    assert done["turn"] >= ROUNDS // 4


def test_processes_that_share_a_ledger_lose_nothing(
    nurseries: list[Nursery], tmp_path: Path
) -> None:
    """Ledger 3: writers, workers and moving logs side by side, one dying while the others go on."""
    path = tmp_path / "shared.db"
    acknowledged: set[str] = set()
    for number in range(6):
        said: list[list[str]] = []
        for name, nursery in enumerate(nurseries):
            nursery.begin(path, f"{number}p{name}")
        for nursery in nurseries:
            said += nursery.first_word()
        for nursery in nurseries:
            time.sleep(0.1)
            said += nursery.kill()
        asyncio.run(inspect(path, said))
        acknowledged.update(f"run-{words[2]}" for words in said if words[0] == "turn")
    learned = asyncio.run(settle(path))
    assert set(learned.values()) <= {1}
    assert acknowledged <= learned.keys()
    assert acknowledged
