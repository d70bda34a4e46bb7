"""Promise 5 where many ask at once: who is first is answered, who waits in vain costs nothing."""

import asyncio
from pathlib import Path
from typing import Any

from ricordo.testing.embedding import HashingEmbedder
from tests.support.opening import opened, person


class Held(HashingEmbedder):
    """Answers questions only when it is let; notes who asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go_on = asyncio.Event()
        self.arrived = asyncio.Event()

    async def question(self, text: str) -> bytes:
        self.asked.append(text)
        self.arrived.set()
        await self.go_on.wait()
        return await super().question(text)


def one_at_a_time(memory: Any) -> None:
    room = memory._recaller._room
    room._size = room._most = 1.0


async def test_recalls_that_must_wait_are_answered_in_order(tmp_path: Path) -> None:
    """Each is complete, however many asked at once."""
    embedder = Held()
    async with opened(tmp_path, embedder=embedder) as memory:
        one_at_a_time(memory)
        alice = memory.user(person(), agent="coder")
        await alice.remember("Likes tea")
        names = [f"tea {number}" for number in range(5)]
        asking = [asyncio.create_task(alice.recall(name, deadline=60)) for name in names]
        await embedder.arrived.wait()
        assert embedder.asked == names[:1]
        embedder.go_on.set()
        found = await asyncio.gather(*asking)
        assert embedder.asked == names
        assert [(each.degraded, len(each.items)) for each in found] == [((), 1)] * 5
        assert "waiting" not in found[0].stages
        assert all("waiting" in each.stages for each in found[1:])


async def test_who_waits_in_vain_is_told_and_costs_nothing(tmp_path: Path) -> None:
    """It comes back without an answer at its own deadline, has asked no model, and those behind it
    are answered."""
    embedder = Held()
    async with opened(tmp_path, embedder=embedder) as memory:
        one_at_a_time(memory)
        alice = memory.user(person(), agent="coder")
        await alice.remember("Likes tea")
        first = asyncio.create_task(alice.recall("tea first", deadline=60))
        await embedder.arrived.wait()
        hasty = await alice.recall("tea hasty", deadline=0.05)
        assert (hasty.items, hasty.degraded, hasty.faults) == ((), ("ledger",), {"ledger": "late"})
        gone = asyncio.create_task(alice.recall("tea gone", deadline=60))
        last = asyncio.create_task(alice.recall("tea last", deadline=60))
        await asyncio.sleep(0)
        gone.cancel()
        embedder.go_on.set()
        for answer in (await first, await last):
            assert (answer.degraded, len(answer.items)) == ((), 1)
        assert embedder.asked == ["tea first", "tea last"]
