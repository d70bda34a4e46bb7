"""Promise 4 for a move: `kill -9` at any instant, run again, and everything is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from ricordo.adapters.postgres.moving import moving
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.moving import filling, reading
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import sound
from tests.service.test_moving_engines import moved
from tests.support.postgres import Server
from tests.unit.test_moving import content, filled

LINES = (1, 40, 30)
"""Lines that are heard from a process before it is killed; it is never at its end by then."""


def lives(from_: str, to: str, *, lines: int | None) -> list[str]:
    """Run a move, and kill it once it told so many lines; without a number it may end.

    It goes on from line to line only when it is told to, so that it is killed somewhere between
    that line and the next one, in the midst of a transaction or not.
    """
    command = [sys.executable, "-m", "tests.service.moving_nursery", from_, to]
    heard: list[str] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stdout:
                heard.append(line.strip())
                process.stdin.write("\n")
                process.stdin.flush()
                if len(heard) == lines:
                    break
        finally:
            if lines is not None:
                process.kill()
    return heard


def reached(heard: list[str]) -> int:
    return int(heard[0].split()[1])


@pytest.mark.parametrize("back", [False, True])
async def test_a_killed_move_is_gone_on_with(
    first_postgres: Server, tmp_path: Path, back: bool
) -> None:
    """Between file and server, both ways: nothing is lost, nothing is there twice."""
    source = tmp_path / "source.db"
    async with SqliteLedger.open(source, clock=HandClock()) as ledger:
        await filled(ledger)
    name = first_postgres.ledger()
    from_, to = str(source), first_postgres.admin(name)
    if back:
        assert (await moved(reading(source), moving(to))).sound
        from_, to = to, str(tmp_path / "target.db")
    begun = [reached(lives(from_, to, lines=lines)) for lines in LINES]
    assert begun == sorted(begun)
    assert begun[-1] > begun[0] == 0
    heard = lives(from_, to, lines=None)
    assert heard[-1] == "done"
    target = tmp_path / "target.db"
    if not back:
        assert (await moved(moving(to), filling(target))).sound
    assert content(target) == content(source)
    async with SqliteLedger.open(target, clock=HandClock()) as ledger:
        await sound(ledger)
    first_postgres.give_back(name)
