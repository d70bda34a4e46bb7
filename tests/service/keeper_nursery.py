"""A process that has imported everything and forks a consolidating child on request: short rounds.

Run as ``python -m tests.service.keeper_nursery``. For each folder and number read it forks a child
that puts Alice's memory in order and takes that back, again and again, until it is killed. It says
so after each transaction of a pass, and stands still after that many of them (0: it never does).
"""

import asyncio
import itertools
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

import ricordo.adapters.local
import ricordo.adapters.postgres
import ricordo.adapters.sqlite
import ricordo.wiring.opening  # noqa: F401
from tests.support.opening import opened, person

SAY = os.write


def now() -> datetime:
    return datetime.now(UTC)


async def live(folder: Path, last: int) -> None:
    done = itertools.count(1)

    def advance(_: object) -> None:
        SAY(1, b"some\n")
        if next(done) == last:
            os.kill(os.getpid(), signal.SIGSTOP)

    async with opened(folder, clock=now) as memory:
        me = memory.user(person())
        while True:
            report = await me.consolidate(advance=advance)
            if report.pass_id is not None:
                await me.undo_consolidation(report.pass_id)


def main() -> None:
    for line in sys.stdin:
        folder, last = line.split()
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            SAY(1, f"pid {os.getpid()}\n".encode())
            asyncio.run(live(Path(folder), int(last)))
            os._exit(0)
        os.waitpid(child, 0)
        SAY(1, b"dead\n")


if __name__ == "__main__":
    main()
