"""Intake: turns are queued at once, and become memory later, a batch per model call."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import PurePath
from traceback import walk_tb

from ricordo.errors import Conflict, Malformed, RicordoError, SpaceMismatch, Unavailable
from ricordo.memory.credentials import without_secrets
from ricordo.memory.heeding import Heeding
from ricordo.memory.holding import Holding
from ricordo.memory.learning import Learner, Lesson
from ricordo.memory.measuring import Doing
from ricordo.memory.services import Services
from ricordo.model import Batch, Job, Relate, Said, Scope, Turn, UserScope, clean_text, pause_after
from ricordo.ports import Act, Count, Extractor, Fact, Sign, Signs

_log = logging.getLogger(__name__)

_RETURNS = 10
"""Times that giving a batch back is tried again before it waits for its lease to end."""

_LONGEST = 3_600.0
"""Seconds after which a batch that failed is tried again at the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the worker goes about its queue.

    Args:
        batch: turns of one user per model call.
        patience: seconds that a turn waits for others before it is extracted anyway.
        lease: seconds after which a batch of a worker that died is given to another; it is begun
            anew while one works on it.
        longest: seconds after which a batch is given to another although its worker lives: a call
            that takes as long will not end.
        attempts: tries before a batch goes to the dead letters.
        backoff: seconds before the second try; doubled for each further one, at most an hour.
        at_once: model calls in flight.
        poll: seconds between looks at the queue when nothing was announced.
        look: the same while signs are heard, which may get lost.
        tokens: tokens of conversation per model call.
        longest_turn: characters of one message that are kept; the middle of a longer one is left
            out, with a note.
    """

    batch: int = 8
    patience: float = 30.0
    lease: float = 30.0
    longest: float = 300.0
    attempts: int = 5
    backoff: float = 2.0
    at_once: int = 4
    poll: float = 1.0
    look: float = 5.0
    tokens: int = 6_000
    longest_turn: int = 200_000


class Intake:
    """Takes turns in, and turns them into memory when a model is at hand.

    Args:
        signs: by which the workers of other processes hear of turns, and this one of theirs.
    """

    def __init__(
        self,
        services: Services,
        *,
        pace: Pace,
        extractor: Extractor | None,
        signs: Signs | None = None,
    ) -> None:
        self._services = services
        self._pace = pace
        self._learner = Learner(services, tokens=pace.tokens)
        self._holding = Holding(
            services.ledger, clock=services.clock, lease=pace.lease, longest=pace.longest
        )
        self._extractor = extractor
        self._news = asyncio.Event()
        self._running: set[asyncio.Task[None]] = set()
        self._ending = False
        self._ended = asyncio.Event()
        self._ended.set()
        self._signs = signs
        self._heeding: Heeding | None = None

    @property
    def ready(self) -> bool:
        """Whether a model is at hand; without one, turns wait."""
        return self._extractor is not None

    def use(self, extractor: Extractor) -> None:
        """Extract with this model from now on."""
        self._extractor = extractor
        self.nudge()

    def nudge(self) -> None:
        """Tell the worker that the queue has changed."""
        self._news.set()

    async def observe(self, turn: Turn, *, scope: UserScope) -> bool:
        """Queue a turn durably; False if it was observed before."""
        with self._services.measures.act(Act.OBSERVE) as doing:
            fresh = await self._services.ledger.accept(self._bounded(turn), scope=scope)
            doing.tell(Fact.MESSAGES, len(turn.said))
            doing.tell(Fact.FRESH, fresh)
        if fresh and self._signs is not None:
            due = self._services.clock() + timedelta(seconds=self._pace.patience)
            self._signs.tell(turn, scope=scope, due=due)
        self.nudge()
        return fresh

    async def run(self) -> None:
        """Work through the queue until cancelled; batches in flight are finished or given back.

        A ledger that cannot be written just now, because the disk is full or another process holds
        it, ends nothing: what waits still waits, and is tried again.
        """
        self._ended.clear()
        hearing = self._hear()
        try:
            while not self._ending or self._running:
                self._news.clear()
                try:
                    await self._start()
                except RicordoError as error:
                    _log.error("the queue cannot be worked through just now: %s", error)
                    await asyncio.sleep(self._pace.poll)
                await self._wait()
                for task in [task for task in self._running if task.done()]:
                    self._running.discard(task)
                    _ended(task)
                if self._heeding is not None:
                    self._heeding.settled()
        finally:
            await self._stop(hearing)

    async def wind_down(self, *, within: float) -> bool:
        """Begin with nothing more; whether all that was begun is finished `within` seconds.

        What is not is given back when `run` is cancelled.
        """
        self._ending = True
        self.nudge()
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._ended.wait()
        return self._ended.is_set()

    def _hear(self) -> asyncio.Task[None] | None:
        if self._signs is None:
            return None
        self._heeding = Heeding(
            self._signs,
            clock=self._services.clock,
            ring=self.nudge,
            room=self._room,
            measures=self._services.measures,
        )
        return asyncio.create_task(self._heeding.run(), name="ricordo-signs")

    def _room(self) -> int:
        """How many batches more may be begun with."""
        if self._extractor is None or self._ending:
            return 0
        return self._pace.at_once - len(self._running)

    async def _stop(self, hearing: asyncio.Task[None] | None) -> None:
        """Give back what is in flight, and the signs at hand."""
        tasks = [*self._running, *([] if hearing is None else [hearing])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._running.clear()
        if self._heeding is not None:
            await self._heeding.give_back()
            self._heeding = None
        self._ended.set()

    async def _start(self) -> None:
        """Begin with as many batches as may be in flight."""
        while self._extractor is not None and self._room() > 0:
            batch = await self._claim(patience=self._pace.patience, scope=None)
            if batch is None:
                if self._heeding is not None:
                    await self._heeding.nothing_waits()
                return
            sign = None if self._heeding is None else self._heeding.next()
            task = asyncio.create_task(self._work(batch, self._extractor, sign))
            task.add_done_callback(lambda _: self.nudge())
            self._running.add(task)

    async def _work(self, batch: Batch, extractor: Extractor, sign: Sign | None) -> None:
        """Process one batch, and settle the sign that led to it."""
        if sign is None or self._heeding is None:
            await self._process(batch, extractor)
            return
        after = 0.0  # where it is given back because this worker ends
        try:
            async with self._heeding.kept(sign):
                ended = await self._process(batch, extractor)
            after = self._delay(batch) if ended == "given_back" else None
        finally:
            if after is None:
                await sign.done()
            else:
                self._services.measures.add(Count.SIGNS, by="returned")
                await sign.later(seconds=after)

    async def drain(self, *, scope: Scope | None = None) -> int:
        """Work through everything that waits now, without patience. Returns batches processed.

        Raises:
            Unavailable: no model is configured.
        """
        if self._extractor is None:
            raise Unavailable("no model to extract with; set model_base_url and model")
        done = 0
        while (batch := await self._claim(patience=0.0, scope=scope)) is not None:
            await self._process(batch, self._extractor)
            done += 1
        return done

    async def _claim(self, *, patience: float, scope: Scope | None) -> Batch | None:
        pace, claim = self._pace, self._services.ledger.claim
        while (
            batch := await claim(
                at=self._services.clock(),
                size=pace.batch,
                patience=patience,
                lease=pace.lease,
                scope=scope,
            )
        ) is not None:
            spared = await self._spared(batch)
            if spared is not None:
                return spared
        return None

    async def _spared(self, batch: Batch) -> Batch | None:
        """What of a batch may be tried: what was tried often enough is parked, for it may be what
        its workers died of; and before that it is tried alone, so that it costs no neighbour."""
        spent = tuple(job for job in batch.jobs if job.attempts >= self._pace.attempts)
        last = any(0 < job.attempts >= self._pace.attempts - 1 for job in batch.jobs)
        if not last:
            return batch
        rest = tuple(job for job in batch.jobs[0 if spent else 1 :] if job not in spent)
        try:
            if rest:
                await self._hand_back(_only(batch, *rest))
            if not spent:
                return _only(batch, batch.jobs[0])
            await self._give_up(
                _only(batch, *spent),
                by="WorkerEnded",
                reason=f"given up after {spent[0].attempts} tries: no worker that had it said why",
            )
        except Conflict as error:
            _log.info("batch of %d jobs was lost: %s", len(batch.jobs), error)
        return None

    async def _wait(self) -> None:
        heard = self._heeding is not None and self._heeding.heard
        try:
            async with asyncio.timeout(self._pace.look if heard else self._pace.poll):
                await self._news.wait()
        except TimeoutError:
            return

    async def _process(self, batch: Batch, extractor: Extractor) -> str:
        """Extract and commit one batch; what fails is given back or parked, never lost. Returns
        how it ended."""
        with self._services.measures.act(Act.EXTRACT) as doing:
            doing.tell(Fact.JOBS, len(batch.jobs))
            doing.tell(Fact.ATTEMPT, batch.jobs[0].attempts + 1)
            async with self._holding.kept(batch):
                outcome = await self._processed(batch, extractor, doing)
            doing.tell(Fact.OUTCOME, outcome)
            return outcome

    async def _processed(self, batch: Batch, extractor: Extractor, doing: Doing) -> str:
        """The same; returns how it ended."""
        try:
            return await self._tried(batch, extractor, doing)
        except Conflict as error:
            # The lease ran out, or some of it was forgotten or the person erased: whoever holds
            # the jobs now decides.
            _log.info("batch of %d jobs was not committed: %s", len(batch.jobs), error)
            return "lost"

    async def _tried(self, batch: Batch, extractor: Extractor, doing: Doing) -> str:
        try:
            lesson = await self._lesson(batch, extractor)
            committed = await self._learner.commit(lesson)
            doing.tell(Fact.STORED, committed.stored)
            doing.tell(Fact.REFUSED, committed.refused)
            return "stored"
        except (Unavailable, SpaceMismatch) as error:  # the latter until someone reindexes
            return await self._give_back(batch, error)
        except Malformed as error:
            return await self._alone(batch, extractor, error)
        except Conflict:
            raise
        except RicordoError as error:
            return await self._park(batch, error)
        except asyncio.CancelledError:
            await asyncio.shield(self._hand_back(batch))
            raise
        except Exception as error:  # noqa: BLE001 - whatever a model's client or an engine raises,
            # the turn is parked where a person sees it, and the worker goes on with the others.
            return await self._alone(batch, extractor, error)

    async def _lesson(self, batch: Batch, extractor: Extractor) -> Lesson:
        if isinstance(batch.jobs[0].work, Relate):
            return await self._learner.relations(batch, extractor)
        return await self._learner.memories(batch, extractor)

    async def _alone(self, batch: Batch, extractor: Extractor, error: Exception) -> str:
        """One unreadable answer must not cost a turn's neighbours: try each job by itself."""
        if len(batch.jobs) == 1:
            return await self._park(batch, error)
        for at, job in enumerate(batch.jobs):
            # Each may take a call and its repair; those that still wait must not be given away.
            await self._holding.renew(_only(batch, *batch.jobs[at:]))
            try:
                await self._process(_only(batch, job), extractor)
            except asyncio.CancelledError:
                if rest := batch.jobs[at + 1 :]:
                    await asyncio.shield(self._hand_back(_only(batch, *rest)))
                raise
        return "alone"

    async def _give_back(self, batch: Batch, error: RicordoError) -> str:
        attempts = batch.jobs[0].attempts + 1
        if attempts >= self._pace.attempts:
            return await self._park(batch, error)
        delay = self._delay(batch)
        _log.warning("extraction failed (try %d), again in %.0f s: %s", attempts, delay, error)
        at = self._services.clock() + timedelta(seconds=delay)
        await self._returned(batch, at=at)
        return "given_back"

    async def _returned(self, batch: Batch, *, at: datetime) -> None:
        """Give a batch back, trying for as long as it would be missed: what the model was away for
        may be what the ledger is away for."""
        for left in range(_RETURNS, -1, -1):
            try:
                await self._services.ledger.retry(batch, at=at)
                return
            except Unavailable:
                if not left:
                    raise
            await asyncio.sleep(self._pace.poll)

    def _delay(self, batch: Batch) -> float:
        """Seconds until a batch that failed is tried again."""
        return pause_after(batch.jobs[0].attempts, first=self._pace.backoff, worst=_LONGEST)

    async def _hand_back(self, batch: Batch) -> None:
        """Let others have what this worker may not finish; that is no failed attempt."""
        try:
            await self._services.ledger.retry(batch, at=self._services.clock(), failed=False)
        except RicordoError as error:
            # Committed just now, or free again when its lease ends.
            _log.info("batch of %d jobs was not given back: %s", len(batch.jobs), error)

    async def _park(self, batch: Batch, error: Exception) -> str:
        name = type(error).__name__
        known = isinstance(error, RicordoError)
        await self._give_up(batch, by=name, reason=f"{name}: {error if known else _place(error)}")
        return "parked"

    async def _give_up(self, batch: Batch, *, by: str, reason: str) -> None:
        _log.error("%d jobs went to the dead letters: %s", len(batch.jobs), reason)
        kept = await asyncio.to_thread(_without_secrets, batch)
        await self._services.ledger.park(kept, reason=reason, at=self._services.clock())
        self._services.measures.add(Count.PARKED, len(batch.jobs), by=by)

    def _bounded(self, turn: Turn) -> Turn:
        """The turn as it is kept: nothing was said later than now, whatever a sender's clock says,
        lest it count as said after an erasure that is yet to come."""
        return Turn(
            thread_id=turn.thread_id,
            run_id=turn.run_id,
            agent=turn.agent,
            at=min(turn.at, self._services.clock()),
            display_id=turn.display_id,
            said=tuple(_bounded(said, self._pace.longest_turn) for said in turn.said),
        )


def _ended(task: asyncio.Task[None]) -> None:
    """Read a batch's end; one that could not even be given back is free when its lease ends."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        told = error if isinstance(error, RicordoError) else type(error).__name__
        _log.error("a batch could not be given back, and waits for its lease to end: %s", told)


def _place(error: Exception) -> str:
    """Where an unexpected error came from; its message may quote anything."""
    places = [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    file, line = places[-1]
    return f"unexpected, in {PurePath(file).name} line {line}"


def _only(batch: Batch, *jobs: Job) -> Batch:
    return Batch(scope=batch.scope, jobs=jobs, lease=batch.lease)


def _without_secrets(batch: Batch) -> Batch:
    """The batch as it may lie among the dead letters: for long, and for others to look at."""
    return replace(batch, jobs=tuple(_silenced(job) for job in batch.jobs))


def _silenced(job: Job) -> Job:
    if isinstance(job.work, Relate):
        return job
    said = tuple(replace(each, text=without_secrets(each.text)) for each in job.work.said)
    return replace(job, work=replace(job.work, said=said))


def _bounded(said: Said, longest: int) -> Said:
    """The message without what cannot be stored, and without the middle of an oversized one."""
    text = clean_text(said.text)
    if len(text) > longest:
        half = longest // 2
        left_out = len(text) - 2 * half
        text = f"{text[:half]} [… {left_out:,} characters left out …] {text[-half:]}"
    return Said(speaker=said.speaker, text=text, id=said.id, trusted=said.trusted)
