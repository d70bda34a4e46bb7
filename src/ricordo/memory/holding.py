"""Batches in a worker's hands: short leases, begun anew for as long as the work goes on."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

from ricordo.errors import Conflict, RicordoError
from ricordo.model import Batch
from ricordo.ports import Ledger

_log = logging.getLogger(__name__)

PARTS = 3
"""A lease is begun anew after this part of its time, so that one late beat costs nothing."""


class Holding:
    """Keeps leases from ending while their batches are worked on.

    So a lease can be short: the batch of a worker that died is soon another's, however slow models
    are. A worker that stands still loses its lease like a dead one, and cannot commit any more.

    Args:
        clock: by which leases end.
        lease: seconds of one.
        longest: seconds after which a batch is let go although the work has not ended; whatever is
            awaited then will not come.
        pause: waits so many seconds.
    """

    def __init__(
        self,
        ledger: Ledger,
        *,
        clock: Callable[[], datetime],
        lease: float,
        longest: float,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._ledger = ledger
        self._clock = clock
        self._lease = lease
        self._longest = timedelta(seconds=longest)
        self._pause = pause
        self._held: dict[str, tuple[Batch, datetime]] = {}

    @asynccontextmanager
    async def kept(self, batch: Batch) -> AsyncGenerator[None]:
        """Keep a batch for the time of the ``async with``; part of one that is kept is so already.

        What happened to the lease meanwhile, the commit will tell.
        """
        if batch.lease in self._held:
            yield
            return
        self._held[batch.lease] = batch, self._clock()
        task = asyncio.create_task(self._beat(batch.lease), name="ricordo-lease")
        try:
            yield
        finally:
            del self._held[batch.lease]
            task.cancel()
            await asyncio.wait([task])

    async def renew(self, batch: Batch) -> None:
        """Begin the time of what is left of a batch anew. Raises `Conflict` if it was lost."""
        now = self._clock()
        if batch.lease in self._held:
            self._held[batch.lease] = batch, now
        await self._ledger.renew(batch, at=now, lease=self._lease)

    async def _beat(self, lease: str) -> None:
        while True:
            await self._pause(self._lease / PARTS)
            batch, since = self._held[lease]
            now = self._clock()
            if now - since > self._longest:
                _log.warning("a batch of %d jobs is let go: it took too long", len(batch.jobs))
                return
            try:
                await self._ledger.renew(batch, at=now, lease=self._lease)
            except Conflict:
                continue  # it was lost, or some of it was committed just now
            except RicordoError as error:
                _log.info("a lease was not begun anew (%s)", type(error).__name__)
