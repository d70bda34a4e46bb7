"""What became memory of what the platform handed over: told to the run that it came from."""

import asyncio
import logging
from collections.abc import Sequence

from ricordo.errors import Conflict, DeadlineExceeded, Denied, Invalid, RicordoError, Unreadable
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
from ricordo.hosts.swiss.marking import is_marked
from ricordo.hosts.swiss.payload import event_id, nanoseconds
from ricordo.hosts.swiss.subject import Sort, Subject
from ricordo.memory.engine import Ricordo
from ricordo.memory.readmitting import readmitted
from ricordo.model import Memory, OrganizationScope, Origin, UserScope, pause_after
from ricordo.ports import Exchange, Reading

_log = logging.getLogger(__name__)

OFFICE = "protocol:swiss-ai-agent"
"""The office of whoever tells, and the consumer under which it acknowledges."""

LEASE = 10.0
_AT_ONCE = 200
_WORST = 5.0

_ANSWER = LEASE / 4
"""Seconds that the log of a run has to take an event."""

_REFUSALS = 4
"""Tries of an event that its run's log refuses."""

_SILENCES = 60
"""Tries of one to which no answer comes, while the dead letters can be written."""

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
        self._stuck = ("", 0)
        self._refusing: set[str] = set()

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
        origin = event.origins[-1]
        subject = self._subject(event, origin)
        if subject is None or not await self._belongs(event, origin):
            return
        model = await self._model(event)
        payload = telling.stored(subject, event, at=nanoseconds(event.at), model=model)
        try:
            self._counts.told += await self._published(subject, payload)
            self._refusing.discard(subject.agent_class)
        except RicordoError as error:
            if not self._given_up(subject, error):
                raise
            await self._exchange.bury(str(subject), payload, error=error)
            self._refusing.add(subject.agent_class)
            self._counts.untold += 1
            _log.warning("event %s is not told to its run: %s", event.id, error)

    async def _published(self, subject: Subject, payload: bytes) -> bool:
        try:
            async with asyncio.timeout(_ANSWER):
                return await self._exchange.publish(
                    str(subject), payload, message_id=subject.event_id
                )
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"the log of agents of class {subject.agent_class} does not answer"
            ) from error

    def _given_up(self, subject: Subject, error: RicordoError) -> bool:
        """Whether an event was tried often enough, so that no other has to wait for it.

        What its log refuses, such as a full one, is tried a few times; what does not answer for
        minutes. An agent whose event was given up has one try for the next, until one succeeds.
        """
        known, tries = self._stuck
        tries = tries + 1 if known == subject.event_id else 1
        self._stuck = (subject.event_id, tries)
        refused = isinstance(error, Invalid | Conflict | Denied)
        known_to_refuse = subject.agent_class in self._refusing
        return tries >= (1 if known_to_refuse else _REFUSALS if refused else _SILENCES)

    async def _belongs(self, event: Event, origin: Origin) -> bool:
        """Whether an event is news to the run that its origin names.

        Whoever may write memories chose those ids. So they count only where what was said came by
        the protocol, or where the agent is one that speaks for that very tenant.
        """
        tenant = self._trust.tenant_of(origin.agent or "")
        if tenant not in (None, ANY):
            return tenant == event.scope.tenant
        scope = event.scope
        if isinstance(scope, OrganizationScope):
            if origin.author is None:
                return False
            scope = UserScope(tenant=scope.tenant, user=origin.author)
        return await is_marked(origin, scope=scope, ledger=self._memory.ledger)

    async def _model(self, event: Event) -> str:
        """The model that made a memory of what was said; empty where none did."""
        memory_id = getattr(event, "memory_id", "")

        async def look(tx: Reading) -> Sequence[Memory]:
            return await tx.memories([memory_id], scope=event.scope)

        found = await self._memory.ledger.read(look, scopes=[event.scope])
        return (found[0].model or "") if found else ""

    def _subject(self, event: Event, origin: Origin) -> Subject | None:
        """The subject in the run that an origin names; None where it names none."""
        agent_class, _, agent_id = (origin.agent or "").partition("/")
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
