"""What became memory of what the platform handed over: told to the run that it came from."""

import asyncio
import logging

from ricordo.errors import RicordoError, Unreadable
from ricordo.events import (
    Event,
    OrganizationMemoryDocumented,
    OrganizationMemoryUpdated,
    UserMemoryStored,
    UserMemoryUpdated,
)
from ricordo.hosts.swiss import telling
from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.identity import ANY, Trust
from ricordo.hosts.swiss.payload import event_id, nanoseconds
from ricordo.hosts.swiss.requests import MARK
from ricordo.hosts.swiss.subject import Sort, Subject
from ricordo.memory.engine import Ricordo
from ricordo.memory.readmitting import readmitted
from ricordo.model import OrganizationScope, Origin, pause_after
from ricordo.ports import Exchange

_log = logging.getLogger(__name__)

OFFICE = "protocol:swiss-ai-agent"
"""The office of whoever tells, and the consumer under which it acknowledges."""

LEASE = 10.0
_AT_ONCE = 200
_WORST = 5.0
_TOLD = (
    UserMemoryStored,
    UserMemoryUpdated,
    OrganizationMemoryDocumented,
    OrganizationMemoryUpdated,
)


class Announcing:
    """Tells the platform, from the outbox and in its order, as the elected one of many processes.

    Args:
        holder: who tells.
        poll: seconds between looks.
    """

    def __init__(
        self,
        memory: Ricordo,
        exchange: Exchange,
        *,
        trust: Trust,
        counts: Counts,
        holder: str,
        poll: float,
    ) -> None:
        self._memory = memory
        self._exchange = exchange
        self._trust = trust
        self._counts = counts
        self._holder = holder
        self._poll = poll
        self._term: int | None = None

    async def begin(self) -> None:
        """The first time ever, begin at the newest: what happened before is no news."""
        ledger = self._memory.ledger
        if await ledger.position(OFFICE) is None:
            await ledger.acknowledge(OFFICE, await ledger.latest())

    async def run(self) -> None:
        """Tell until cancelled; what stands in the way is logged, and tried again."""
        failures, fault = 0, ""
        try:
            while True:
                try:
                    told = await self.turn()
                    failures, wait = 0, 0.0 if told else self._poll
                except RicordoError as error:
                    failures += 1
                    wait = pause_after(failures, first=self._poll, worst=_WORST)
                    if str(error) != fault:
                        fault = str(error)
                        _log.warning("the platform is not told just now: %s", error)
                await asyncio.sleep(wait)
        finally:
            await self._resign()

    async def turn(self) -> int:
        """Tell of the next events, if elected; how many were looked at."""
        ledger = self._memory.ledger
        term = await ledger.hold(
            OFFICE, holder=self._holder, at=self._memory.services.clock(), seconds=LEASE
        )
        fresh, self._term = term != self._term, term
        if term is None:
            return 0
        if fresh:
            await readmitted(ledger, OFFICE)
        position = await ledger.position(OFFICE) or 0
        events = await ledger.announced(after=position, limit=_AT_ONCE)
        try:
            async with asyncio.timeout(LEASE / 2):
                for reached, event in events:
                    await self._tell(event)
                    position = reached
        except TimeoutError:
            _log.info("telling the platform takes long; the rest follows")
        finally:
            if events:
                await ledger.report(OFFICE, position=position, term=term)
        return len(events)

    async def _tell(self, event: Event) -> None:
        if not isinstance(event, _TOLD) or not event.origins:
            return
        subject = self._subject(event, event.origins[-1])
        if subject is None:
            return
        payload = telling.stored(subject, event, at=nanoseconds(event.at))
        if await self._exchange.publish(str(subject), payload, message_id=subject.event_id):
            self._counts.told += 1

    def _subject(self, event: Event, origin: Origin) -> Subject | None:
        """The subject in the run that it comes from; None where that is none of the platform's.

        An origin names its run; whoever may write memories chose those ids. So it counts only where
        it came by the protocol, or where the agent is one that speaks for that very tenant.
        """
        agent_class, _, agent_id = (origin.agent or "").partition("/")
        tenant = self._trust.tenant_of(origin.agent or "")
        ours = any(name.startswith(f"{MARK}.") for name in origin.message_ids)
        if tenant not in (None, ANY, event.scope.tenant) or not (ours or tenant not in (None, ANY)):
            return None
        shared = isinstance(event.scope, OrganizationScope)
        name = telling.STORED[shared]
        try:
            return Subject(
                agent_class=agent_class,
                agent_id=agent_id,
                thread_id=origin.thread_id or "",
                display_id=origin.display_id or "",
                run_id=origin.run_id or "",
                sort=Sort.CONTROL,
                event_name=name,
                event_id=event_id(event.id, name),
            )
        except Unreadable:
            return None

    async def _resign(self) -> None:
        try:
            await self._memory.ledger.vacate(OFFICE, holder=self._holder)
        except RicordoError as error:
            _log.warning("the office ends by itself (%s)", type(error).__name__)
