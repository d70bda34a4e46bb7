"""A process that has imported everything and forks a consolidating child on request: short rounds.

Run as ``python -m tests.service.keeper_nursery``. For each folder read it forks a child that puts
Alice's memory in order and takes that back, again and again, until it is killed. It says so after
each transaction of a pass.
"""

import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import ricordo.adapters.local
import ricordo.adapters.sqlite
import ricordo.wiring.opening  # noqa: F401
from tests.support.opening import opened, person

SAY = os.write


def now() -> datetime:
    return datetime.now(UTC)


async def live(folder: Path) -> None:
    async with opened(folder, clock=now) as memory:
        me = memory.user(person())
        while True:
            report = await me.consolidate(advance=lambda _: SAY(1, b"some\n"))
            if report.pass_id is not None:
                await me.undo_consolidation(report.pass_id)


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            SAY(1, f"pid {os.getpid()}\n".encode())
            asyncio.run(live(Path(line.strip())))
            os._exit(0)
        os.waitpid(child, 0)
        SAY(1, b"dead\n")


if __name__ == "__main__":
    main()
