"""A process that forks, for each line read, a child that writes to a ledger until it is killed.

Run as ``python -m tests.service.writers_nursery``; each line names a folder with a ledger (see
`tests.support.ledgers`) and a tag for what is written. What was acknowledged is printed at once,
one line each. Forking spares each child the imports, so that a round is short.
"""

import asyncio
import os
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from ricordo.errors import Conflict
from ricordo.events import UserMemoryStored
from ricordo.model import Batch, Memory, Turn, UserScope, new_id
from ricordo.ports import Ledger, Writing
from ricordo.testing.ledger.making import (
    SPACE,
    entity,
    indexed,
    memory,
    origin,
    relation,
    turn,
)
from tests.support.ledgers import ledger

SAY = os.write
LEASE = 0.05


def now() -> datetime:
    return datetime.now(UTC)


def user(lane: int) -> UserScope:
    return UserScope(tenant="acme", user=f"user-{lane}")


async def put(tx: Writing, each: Memory) -> None:
    """A memory with everything that belongs to it."""
    ends = [entity(f"{each.text} {end}", scope=each.scope) for end in ("a", "b")]
    await tx.put(each, indexed=indexed(1), space=SPACE)
    for end in ends:
        await tx.put_entity(end)
    await tx.put_relation(relation(*ends, each, origins=each.origins))
    await tx.emit(
        UserMemoryStored(id=new_id("e"), at=now(), scope=each.scope, memory_id=each.id, kind="fact")
    )


async def remember(ledger: Ledger, tag: str, lane: int) -> None:
    for number in range(100_000):
        each = memory(f"{tag} {lane} {number}", scope=user(lane), at=now())
        await ledger.write(lambda tx, each=each: put(tx, each), scope=each.scope)
        SAY(1, f"memory {lane} {each.id}\n".encode())


async def observe(ledger: Ledger, tag: str, lane: int) -> None:
    for number in range(100_000):
        run = f"{tag}-{lane}-{number}"
        await ledger.accept(turn(run, at=now()), scope=user(lane))
        SAY(1, f"turn {lane} {run}\n".encode())
        await asyncio.sleep(0.002)


async def learn(ledger: Ledger, batch: Batch) -> None:
    """Make one memory of each turn, in the transaction that finishes the batch."""

    async def work(tx: Writing) -> None:
        await tx.finish(batch)
        for job in batch.jobs:
            assert isinstance(job.work, Turn)
            source = origin(at=job.work.at, run_id=job.work.run_id)
            text = f"learned {job.work.run_id}"
            await put(tx, memory(text, scope=batch.scope, at=now(), origins=(source,)))

    await ledger.write(work, scope=batch.scope)


async def extract(ledger: Ledger) -> None:
    while True:
        batch = await ledger.claim(at=now(), size=4, patience=0.01, lease=LEASE)
        if batch is None:
            await asyncio.sleep(0.003)
            continue
        with suppress(Conflict):  # on a busy machine the short lease may run out
            await learn(ledger, batch)
            SAY(1, b"batch\n")


async def live(folder: Path, tag: str) -> None:
    async with ledger(folder, clock=now) as opened, asyncio.TaskGroup() as group:
        for lane in range(2):
            group.create_task(remember(opened, tag, lane))
            group.create_task(observe(opened, tag, lane))
        group.create_task(extract(opened))
        group.create_task(scrub(opened))


async def scrub(ledger: Ledger) -> None:
    """Move the log now and then, so that some die in the middle of that."""
    while True:
        await asyncio.sleep(0.02)
        await ledger.scrub()


def main() -> None:
    for line in sys.stdin:
        folder, tag = line.split()
        child = os.fork()
        if child == 0:
            SAY(1, f"pid {os.getpid()}\n".encode())
            asyncio.run(live(Path(folder), tag))
            os._exit(0)
        os.waitpid(child, 0)
        SAY(1, b"dead\n")


if __name__ == "__main__":
    main()
