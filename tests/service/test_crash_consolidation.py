"""A pass that dies on its way: what it did is whole, recorded, and can be taken back.

RICORDO_CRASH_PASSES sets how many times in a file (15 unless set), and a third of that on a server.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ricordo import Status
from ricordo.access import user_scope
from ricordo.errors import Conflict
from tests.support.consolidating import claim, state
from tests.support.ledgers import quiet
from tests.support.opening import Clock, opened, person
from tests.support.places import Places

ROUNDS = int(os.environ.get("RICORDO_CRASH_PASSES", "15"))
ON_SERVER = max(3, ROUNDS // 3)
PAIRS = 60
ALICE = user_scope(person())


async def fill(folder: Path) -> dict[str, Any]:
    """A memory full of pairs that say the same; its state."""
    clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
    async with opened(folder, clock=clock) as memory:
        coder = memory.user(person(), agent="coder")
        for number in range(PAIRS):
            clock.pass_by(seconds=1)
            relation = claim("user", "knows", f"Person {number}")
            await coder.remember(f"Knows Person {number}", relations=[relation])
            await coder.remember(f"I know person {number}.", relations=[relation])
        return await state(memory, ALICE)


@pytest.mark.timeout(300)
def test_a_pass_that_dies_leaves_a_whole_state(places: Places) -> None:
    """Ledger 2 and promise 4: sound, nothing lost; undoing what is recorded restores everything."""
    source = places.new("source")
    first = asyncio.run(fill(source))
    chance = random.Random(os.environ.get("RICORDO_CRASH_SEED"))
    found = Counter[int]()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.service.keeper_nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for number in range(ROUNDS if places.engine == "sqlite" else ON_SERVER):
            folder = places.copy(source, str(number))
            # The first two die between two transactions of a pass, the others anywhere.
            last = number + 1 if number < 2 else 0
            nursery.stdin.write(f"{folder} {last}\n")
            child = int(nursery.stdout.readline().split()[1])
            for _ in range(last or chance.randint(1, 4)):
                assert nursery.stdout.readline() == "some\n"
            time.sleep(0 if last else chance.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
            while nursery.stdout.readline() != "dead\n":
                pass  # what it said before it died
            quiet(folder)
            found[asyncio.run(inspect(folder, first))] += 1
        nursery.stdin.close()
    assert len(found) > 1, "some died in the middle of a pass"
    print(f"merged memories when it died: {dict(found)}")


async def inspect(folder: Path, first: dict[str, Any]) -> int:
    """How many memories were merged when the child died; everything must be restorable."""
    async with opened(folder) as memory:
        assert [each for each in await memory.ledger.check() if each.problem] == []
        now = await state(memory, ALICE)
        merged = [one for one in now["memories"].values() if one.merged_into is not None]
        for one in merged:
            keep = now["memories"][one.merged_into]
            assert keep.status is Status.ACTIVE
            assert set(one.origins) <= set(keep.origins)
        me = memory.user(person())
        for done in await me.consolidations():
            if done.undone_at is None:
                assert (await me.undo_consolidation(done.id)).kept == 0
        assert await state(memory, ALICE) == first
    return len(merged)


@pytest.mark.usefixtures("engine")
async def test_two_processes_do_not_consolidate_one_person_at_once(tmp_path: Path) -> None:
    """Tending 1, between two memories on one file: each pair is merged once, by one of them."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as one, opened(tmp_path, clock=clock) as other:
        coder = one.user(person(), agent="coder")
        for number in range(30):
            await coder.remember(f"Knows Person {number}")
            await coder.remember(f"I know person {number}.")
        reports = await asyncio.gather(
            *(memory.user(person()).consolidate() for memory in (one, other, one)),
            return_exceptions=True,
        )
        done = [report for report in reports if not isinstance(report, BaseException)]
        assert all(isinstance(r, Conflict) for r in reports if isinstance(r, BaseException))
        assert sum(report.counts.get("merged", 0) for report in done) == 30
        assert len(await one.user(person()).consolidations()) == 1
