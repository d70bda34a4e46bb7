"""What is over leaves after a while: old events, ids of turns that were read, the audit."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from ricordo.errors import RicordoError
from ricordo.memory.services import Services

_log = logging.getLogger(__name__)

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """How long traces are kept, in seconds.

    Args:
        events: in the outbox, once everybody has them.
        turns: the ids of a turn that was read, so that it is not read again.
        audit: who did what.
    """

    events: float = 2_592_000.0
    turns: float = 7_776_000.0
    audit: float = 63_072_000.0


async def prune(services: Services, *, keep: Retention, every: float = 3_600.0) -> None:
    """Remove what is older, about every `every` seconds, until cancelled."""
    while True:
        try:
            await prune_now(services, keep=keep)
        except RicordoError as error:
            _log.warning("old traces could not be removed just now (%s)", type(error).__name__)
        await asyncio.sleep(every)


async def prune_now(services: Services, *, keep: Retention) -> int:
    """Remove what is older, events only when they are acknowledged by all; how many in all."""
    now, ledger, total = services.clock(), services.ledger, 0
    before = now - timedelta(seconds=keep.events)
    while removed := await ledger.prune(before=before, limit=_AT_ONCE):
        total += removed
    turns, audit = now - timedelta(seconds=keep.turns), now - timedelta(seconds=keep.audit)
    while removed := await ledger.expire(turns_before=turns, audit_before=audit, limit=_AT_ONCE):
        total += removed
    return total
