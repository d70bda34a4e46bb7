"""Keeps telemetry told of what waits in the queue."""

import asyncio
import logging

from ricordo.errors import RicordoError
from ricordo.memory.relaying import Relay
from ricordo.memory.services import Services
from ricordo.ports import Level

_log = logging.getLogger(__name__)


async def watch(services: Services, relay: Relay | None = None, *, every: float = 10.0) -> None:
    """Say how much waits about every `every` seconds, until cancelled."""
    while True:
        try:
            await look(services, relay)
        except RicordoError as error:
            _log.warning("the queue could not be counted just now (%s)", type(error).__name__)
        await asyncio.sleep(every)


async def look(services: Services, relay: Relay | None = None) -> None:
    """Say how much waits now, in the whole file, and since when."""
    backlog = await services.ledger.backlog()
    measures = services.measures
    measures.set(Level.JOBS, backlog.waiting, by="waiting")
    measures.set(Level.JOBS, backlog.leased, by="leased")
    measures.set(Level.JOBS, backlog.parked, by="parked")
    age = 0.0 if backlog.oldest is None else (services.clock() - backlog.oldest).total_seconds()
    measures.set(Level.OLDEST, max(age, 0.0), by="waiting")
    if relay is not None:
        behind, waited = await relay.lag()
        measures.set(Level.EVENTS, behind, by="waiting")
        measures.set(Level.EVENT_AGE, waited, by="waiting")
