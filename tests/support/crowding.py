"""Fills a memory quickly: memories of one user with ready vectors, a few thousand a transaction."""

import random
from datetime import UTC, datetime, timedelta

from ricordo import Kind, Memory, Origin, Ricordo
from ricordo.model import UserScope
from ricordo.ports import Writing

AT = datetime(2025, 1, 1, tzinfo=UTC)
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("lar", "min", "tok", "vesk")]
_AT_ONCE = 2_000


async def crowd(memory: Ricordo, scope: UserScope, *, count: int) -> list[str]:
    """Facts of `count` different texts, forty to a thread. Returns the texts."""
    chance = random.Random(count)
    services = memory.services
    space = await services.space()
    texts = [f"Note {n}: {' '.join(chance.choices(WORDS, k=10))}" for n in range(count)]
    for first in range(0, count, _AT_ONCE):
        some = texts[first : first + _AT_ONCE]
        rows = await services.indexed(some)
        made = [_memory(scope, n, text) for n, text in enumerate(some, start=first)]

        async def work(tx: Writing, made=made, rows=rows) -> None:
            for each, row in zip(made, rows, strict=True):
                await tx.put(each, indexed=row, space=space)

        await services.ledger.write(work, scope=scope)
    return texts


def _memory(scope: UserScope, number: int, text: str) -> Memory:
    at = AT + timedelta(minutes=number)
    origin = Origin(at=at, agent="coder", thread_id=f"t{number // 40}")
    return Memory(
        id=f"m_{number:07}",
        scope=scope,
        kind=Kind.FACT,
        text=text,
        agent="coder",
        recorded_at=at,
        updated_at=at,
        origins=(origin,),
    )
