"""The host: takes the platform's messages, and sees each of them through to its end."""

import asyncio
import logging
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from ricordo.errors import Denied, Invalid, NotFound, RicordoError
from ricordo.hosts.swiss.announcing import Announcing
from ricordo.hosts.swiss.answering import Answering
from ricordo.hosts.swiss.counting import Counts
from ricordo.hosts.swiss.identity import Identity, Trust
from ricordo.hosts.swiss.requests import RECALL, STORAGE_REQUESTED, STORE_REQUESTED
from ricordo.hosts.swiss.storing import Storing
from ricordo.hosts.swiss.subject import control_events
from ricordo.memory.engine import Ricordo
from ricordo.model import pause_after
from ricordo.ports import Count, Delivery, Exchange, Verifier

_log = logging.getLogger(__name__)

ATTEMPTS = 5
"""Tries of a message that fails for a reason that nobody foresaw, before it is refused."""

_WORST = 30.0
"""Longest pause before another try, in seconds."""

Handle = Callable[[Delivery], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How the platform is served.

    Args:
        trust: whose word is taken for whom an event acts.
        writer: class of the agents to which the platform hands requests to keep; None takes them
            only from the run that they are about.
        store, recall: whether memory is on.
        deadline: seconds after which an answer is empty.
        at_once: requests to recall that are worked on together, of one log.
        look: seconds between looks for logs that the platform has added.
        patience: seconds that a look for messages waits for one.
        poll: seconds between looks at what was stored.
        heartbeat: seconds between signs that a message is being worked on.
        drain: seconds that what was begun may take at the end.
    """

    trust: Trust = field(default_factory=lambda: Trust(tenants={}))
    writer: str | None = None
    store: bool = True
    recall: bool = True
    deadline: float = 2.0
    at_once: int = 8
    look: float = 5.0
    patience: float = 5.0
    poll: float = 0.25
    heartbeat: float = 5.0
    drain: float = 10.0


def wanted_for_storing(writer: str | None) -> tuple[str, ...]:
    """Patterns of the subjects of requests to keep."""
    names = (STORAGE_REQUESTED,) if writer is None else (STORAGE_REQUESTED, STORE_REQUESTED)
    return tuple(control_events(name) for name in names)


def wanted_for_recalling() -> tuple[str, ...]:
    """Patterns of the subjects of requests to recall."""
    return (control_events(RECALL),)


class AgentProtocol:
    """Serves a platform that speaks the Swiss AI Agent Protocol.

    Args:
        stores, recalls: requests to keep, in order, and to recall. Closed by whoever opened them.
        verifier: knows tokens; None where there are none.
    """

    def __init__(
        self,
        memory: Ricordo,
        *,
        stores: Exchange,
        recalls: Exchange,
        manner: Manner,
        verifier: Verifier | None,
    ) -> None:
        self.counts = Counts()
        self._services = memory.services
        self._manner = manner
        self._stores = stores
        self._recalls = recalls
        identity = Identity(trust=manner.trust, verifier=verifier)
        self._storing = Storing(
            memory,
            stores,
            identity=identity,
            counts=self.counts,
            writer=manner.writer,
            active=manner.store,
        )
        self._answering = Answering(
            memory,
            recalls,
            identity=identity,
            counts=self.counts,
            deadline=manner.deadline,
            active=manner.recall,
        )
        self._announcing = Announcing(
            memory,
            stores,
            trust=manner.trust,
            counts=self.counts,
            holder=f"protocol-{secrets.token_hex(8)}",
            poll=manner.poll,
        )

    async def open(self) -> None:
        """Reach the platform once, so that what is wrongly set up is told at once.

        Raises: as `ricordo.ports.Exchange.open`.
        """
        await self._stores.open()
        await self._recalls.open()
        await self._announcing.begin()

    async def run(self) -> None:
        """Serve until cancelled; what was begun is finished, within a while."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._services.journal.run())
            group.create_task(self._serve(self._stores, self._storing.handle, at_once=1))
            group.create_task(
                self._serve(self._recalls, self._answering.handle, at_once=self._manner.at_once)
            )
            group.create_task(self._announcing.run())

    async def _serve(self, exchange: Exchange, handle: Handle, *, at_once: int) -> None:
        """Read every log that the platform keeps, those included that it adds."""
        async with asyncio.TaskGroup() as group:
            readers: dict[tuple[str, int], asyncio.Task[None]] = {}
            while True:
                try:
                    sources = await exchange.sources()
                except RicordoError as error:
                    _log.warning("the platform's logs are out of reach: %s", error)
                    sources = ()
                for key in ((source, n) for source in sources for n in range(at_once)):
                    if key not in readers or readers[key].done():
                        readers[key] = group.create_task(self._read(exchange, key[0], handle))
                await asyncio.sleep(self._manner.look)

    async def _read(self, exchange: Exchange, source: str, handle: Handle) -> None:
        """Work through one log, a message at a time, until the log is gone."""
        failures = 0
        while True:
            try:
                delivery = await exchange.take(source, patience=self._manner.patience)
                failures = 0
            except NotFound:
                return
            except RicordoError as error:
                failures += 1
                if failures == 1:
                    _log.warning("the log %s cannot be read just now: %s", source, error)
                await asyncio.sleep(_pause(failures))
                continue
            if delivery is not None:
                await self._finished(self._see_through(exchange, delivery, handle))

    async def _finished(self, work: Coroutine[object, object, None]) -> None:
        """Do it to its end, even when the host is told to end meanwhile; within a while."""
        task = asyncio.create_task(work)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            await asyncio.wait({task}, timeout=self._manner.drain)
            task.cancel()
            raise

    async def _see_through(self, exchange: Exchange, delivery: Delivery, handle: Handle) -> None:
        """Handle one message, and settle it, put it off, or refuse it."""
        try:
            async with self._alive(exchange, delivery):
                fate = await self._fate(delivery, handle)
            if isinstance(fate, RicordoError):
                self._told(delivery, fate)
                await exchange.refuse(delivery, error=fate)
            elif fate:
                self.counts.postponed += 1
                await exchange.postpone(delivery, seconds=fate)
            else:
                await exchange.settle(delivery)
        except RicordoError as error:
            # It comes again by itself, and does no harm then.
            _log.warning(
                "message %d of %s was not settled: %s", delivery.sequence, delivery.source, error
            )

    async def _fate(self, delivery: Delivery, handle: Handle) -> RicordoError | float:
        """What becomes of a message: seconds until it comes again, 0 where it is done with."""
        try:
            await handle(delivery)
            return 0.0
        except (Invalid, Denied) as error:
            return error
        except RicordoError as error:  # what is amiss here is no fault of the message
            _log.warning("message %d of %s waits: %s", delivery.sequence, delivery.source, error)
            return _pause(delivery.attempts)
        except Exception as error:  # noqa: BLE001 - the host's edge: one message harms no other
            name = type(error).__name__
            _log.error("message %d of %s failed (%s)", delivery.sequence, delivery.source, name)
            if delivery.attempts < ATTEMPTS:
                return _pause(delivery.attempts)
            return RicordoError(f"it failed for a reason that nobody foresaw ({name})")

    def _told(self, delivery: Delivery, error: RicordoError) -> None:
        name = type(error).__name__
        self.counts.refused += 1
        self._services.measures.add(Count.UNSOUND, by=name)
        _log.warning(
            "message %d of %s was refused (%s: %s)",
            delivery.sequence,
            delivery.source,
            name,
            error,
        )

    @asynccontextmanager
    async def _alive(self, exchange: Exchange, delivery: Delivery) -> AsyncGenerator[None]:
        """Say now and then that a message is being worked on."""

        async def say() -> None:
            while True:
                await asyncio.sleep(self._manner.heartbeat)
                with suppress(RicordoError):  # without it, the message comes again
                    await exchange.working(delivery)

        task = asyncio.create_task(say())
        try:
            yield
        finally:
            task.cancel()


def _pause(failures: int) -> float:
    return pause_after(failures, first=0.25, worst=_WORST)
