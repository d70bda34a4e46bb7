"""An export is everything kept about a person: it has no end of its own that nobody is told of."""

from pathlib import Path

from ricordo.access import user_scope
from ricordo.model import Refusal
from ricordo.ports import Writing
from tests.support.opening import Clock, opened, person

MANY = 10_050


async def test_an_export_is_complete_however_much_was_refused(tmp_path: Path) -> None:
    """What a person may ask for is everything, and not the first ten thousand of it."""
    scope, clock = user_scope(person()), Clock()
    refusals = [
        Refusal(id=f"r_{n}", scope=scope, at=clock(), reason="it is a question")
        for n in range(MANY)
    ]

    async def work(tx: Writing) -> None:
        for each in refusals:
            await tx.refuse(each)

    async with opened(tmp_path, clock=clock) as memory:
        await memory.ledger.write(work, scope=scope)
        told = [record["id"] async for record in memory.user(person()).export()]
    assert told == [each.id for each in reversed(refusals)]
