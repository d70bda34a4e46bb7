"""Promise 6 at a human pace: what learning costs where somebody types."""

from pathlib import Path

import pytest

from ricordo import Settings
from tests.support.opening import Clock, opened, person
from tests.support.talking import turn

TURNS = 40
LOOK = 5


async def calls_per_turn(folder: Path, *, gap: int, settings: Settings) -> float:
    """A turn each `gap` seconds; a worker looks each `LOOK` seconds, and a batch is one call."""
    clock, batches, read = Clock(), 0, 0
    async with opened(folder, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        for second in range(0, TURNS * gap + 3_600, LOOK):
            if second % gap == 0 and second // gap < TURNS:
                await alice.observe(turn("I type", run=str(second), clock=clock))
            batch = await memory.ledger.claim(
                at=clock(), size=settings.batch_size, patience=settings.batch_wait, lease=60
            )
            if batch is not None:
                batches, read = batches + 1, read + len(batch.jobs)
                finished = batch
                await memory.ledger.write(lambda tx, b=finished: tx.finish(b), scope=batch.scope)
            if read == TURNS:
                break
            clock.pass_by(seconds=LOOK)
    assert read == TURNS
    return batches / TURNS


@pytest.mark.parametrize(
    ("gap", "most"), [(5, 0.125), (20, 0.125), (40, 0.2), (100, 0.5), (200, 1.0)]
)
async def test_what_a_turn_costs_by_pace(tmp_path: Path, gap: int, most: float) -> None:
    """With more patience a quarter of a call at most where a turn comes each 40 s: the table of
    docs/benchmarks.md."""
    settings = Settings(batch_wait=180)
    assert await calls_per_turn(tmp_path, gap=gap, settings=settings) == pytest.approx(most)


@pytest.mark.parametrize(("gap", "most"), [(5, 0.15), (20, 0.5), (40, 1.0)])
async def test_less_waiting_costs_more(tmp_path: Path, gap: int, most: float) -> None:
    """By default what was said is known half a minute later, at the price of more calls."""
    assert await calls_per_turn(tmp_path, gap=gap, settings=Settings()) == pytest.approx(most)
