"""A process that moves a ledger a few rows at a time, so that it can be killed anywhere.

Run as ``python -m tests.service.moving_nursery FROM TO``. After each step it tells, and waits for
a line before it goes on.
"""

import asyncio
import os
import sys

from ricordo.memory.moving import Migration, comparing, migration
from ricordo.memory.moving.planning import plan
from ricordo.wiring.command import movable


def tell(what: str) -> None:
    os.write(1, f"{what}\n".encode())
    if not os.read(0, 1):
        raise SystemExit


async def move(from_: str, to: str) -> None:
    async with movable(from_) as source, movable(to, fill=True) as target:
        found = await plan(source, target, restart=False)
        tell(f"from {found.note.moved} of {found.rows}")
        moving = Migration(source, target, plan=found)
        await moving.begin()
        async for more in moving.move():
            tell(f"moved {more}")
        async for more in moving.verify():
            tell(f"compared {more}")
        assert (await moving.finish()).sound
        tell("done")


if __name__ == "__main__":
    migration.PAGE = comparing.PAGE = 3
    asyncio.run(move(sys.argv[1], sys.argv[2]))
