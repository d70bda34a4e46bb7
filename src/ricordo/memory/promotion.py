"""Promotion: what a session said becomes memory before its history is put away."""

import asyncio
from dataclasses import dataclass

from ricordo.memory.intake import Intake
from ricordo.memory.services import Services
from ricordo.model import UserScope

LOOK = 10_000
"""Waiting turns of one person that are looked through for those of a thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """How far a session's turns are on their way to becoming memory.

    Args:
        thread_id: the session.
        waiting: turns that are not extracted yet: a worker has them, a fault put them off, or there
            is no model.
        parked: turns that were given up on, and lie in the dead letters with their reason.
    """

    thread_id: str
    waiting: int
    parked: int

    @property
    def done(self) -> bool:
        """Whether nothing of the session waits any more."""
        return self.waiting == 0


async def promote(
    services: Services,
    intake: Intake,
    *,
    scope: UserScope,
    thread_id: str,
    patience: float,
    pause: float = 0.05,
) -> Promotion:
    """Extract a session's turns now, for `patience` seconds at most.

    Doing it again is no error, and a crash in between loses nothing: the turns lie in the queue
    until a transaction has made them memory. Without a model they are left waiting.
    """
    found = await _standing(services, scope=scope, thread_id=thread_id)
    end = asyncio.get_running_loop().time() + patience
    while found.waiting and intake.ready:
        try:
            async with asyncio.timeout_at(end):
                await intake.drain(scope=scope)
        except TimeoutError:
            return await _standing(services, scope=scope, thread_id=thread_id)
        found = await _standing(services, scope=scope, thread_id=thread_id)
        if not found.waiting or asyncio.get_running_loop().time() + pause >= end:
            break
        await asyncio.sleep(pause)  # a worker has them, or a fault put them off
    return found


async def _standing(services: Services, *, scope: UserScope, thread_id: str) -> Promotion:
    waiting = await services.ledger.waiting(scope=scope, limit=LOOK)
    letters = await services.ledger.dead_letters(scope=scope, limit=LOOK)
    return Promotion(
        thread_id=thread_id,
        waiting=sum(turn.thread_id == thread_id for turn in waiting),
        parked=sum(getattr(one.job.work, "thread_id", None) == thread_id for one in letters),
    )
