"""Old events leave the outbox, once nobody waits for them."""

import asyncio
import logging
from datetime import timedelta

from ricordo.errors import RicordoError
from ricordo.memory.services import Services

_log = logging.getLogger(__name__)

_AT_ONCE = 1_000


async def prune(services: Services, *, keep: float, every: float = 3_600.0) -> None:
    """Remove what is older than `keep` seconds, about every `every` seconds, until cancelled."""
    while True:
        try:
            await prune_now(services, keep=keep)
        except RicordoError as error:
            _log.warning("old events could not be removed just now (%s)", type(error).__name__)
        await asyncio.sleep(every)


async def prune_now(services: Services, *, keep: float) -> int:
    """Remove what is older than `keep` seconds and acknowledged by all; how many events."""
    before = services.clock() - timedelta(seconds=keep)
    total = 0
    while removed := await services.ledger.prune(before=before, limit=_AT_ONCE):
        total += removed
    return total
