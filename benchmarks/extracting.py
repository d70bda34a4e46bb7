"""Lets a labelled chat become memory, on the product's own path."""

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.chats import AGENT, Chat
from benchmarks.matching import Kept, Outcome
from ricordo import Principal, Settings, open_memory
from ricordo.hosts.demo import endpoint
from ricordo.hosts.demo.recordings import Answer
from ricordo.memory.engine import Ricordo
from ricordo.model import Listing, Memory, Relation, Source, Status


class Calendar:
    """The chats' time: what is known is from before a chat, and every chat has a day of its own."""

    def __init__(self) -> None:
        self._at = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._at += timedelta(microseconds=1)
        return self._at

    def pass_by(self, *, hours: int) -> None:
        """Let time pass."""
        self._at += timedelta(hours=hours)


@asynccontextmanager
async def opened(
    answer: Answer, *, model: str, seconds: float, clock: Calendar
) -> AsyncGenerator[Ricordo]:
    """A new memory, whose model is asked over HTTP and answered by `answer`.

    Args:
        seconds: that a completion may take.
    """
    with tempfile.TemporaryDirectory(prefix="ricordo-extraction-") as folder:
        async with endpoint(answer, says="benchmark") as url:
            settings = Settings(
                worker=False,
                model=model,
                model_base_url=url,
                model_timeout=seconds,
                max_attempts=1,
            )
            database = Path(folder) / "memory.db"
            async with open_memory(database, settings=settings, clock=clock) as memory:
                yield memory


async def play(chat: Chat, memory: Ricordo, *, clock: Calendar) -> Outcome:
    """Let one chat become memory, in the hands of a user of its own."""
    mine = memory.user(Principal(tenant="benchmark", user=chat.id), agent=AGENT)
    known = [
        (await mine.remember(each.text, kind=each.kind, relations=each.claims)).memory
        for each in chat.known
    ]
    clock.pass_by(hours=12)
    for turn in chat.as_turns(at=clock()):
        await mine.observe(turn)
    clock.pass_by(hours=12)
    await memory.intake.drain()
    after = {one.id: one for one in (await mine.list(Listing(limit=1_000))).memories}
    kept = [
        _kept(one, relations=await mine.relations(one.id))
        for one in after.values()
        if one.source is Source.INFERRED and one.status in (Status.ACTIVE, Status.PROPOSED)
    ]
    gone = (
        number
        for number, one in enumerate(known, start=1)
        if one.id not in after or after[one.id].status is not Status.ACTIVE
    )
    lost = len(await mine.dead_letters())
    return Outcome(kept=tuple(kept), gone=frozenset(gone), parked=lost)


def _kept(memory: Memory, *, relations: Sequence[Relation]) -> Kept:
    stands = [(edge.type, edge.source_name, edge.target_name) for edge in relations]
    waits = [(claim.relation, claim.source.name, claim.target.name) for claim in memory.pending]
    return Kept(
        kind=memory.kind.value,
        text=memory.text,
        quotes=tuple(origin.quote for origin in memory.origins if origin.quote),
        active=memory.status is Status.ACTIVE,
        edges=tuple((name, frozenset((one, other))) for name, one, other in (*stands, *waits)),
    )
