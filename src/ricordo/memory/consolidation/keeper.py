"""Keeps memories in order: whose turn it is, one pass after the other, and the way back."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from ricordo.errors import Conflict, RicordoError
from ricordo.memory.consolidation import undoing
from ricordo.memory.consolidation.doing import Action, Doing
from ricordo.memory.consolidation.planning import plan
from ricordo.memory.consolidation.report import ConsolidationReport, Undone, changes_of
from ricordo.memory.consolidation.rewording import Reworder
from ricordo.memory.services import Services
from ricordo.model import Lease, Pass, PassStep, UserScope, check_limit
from ricordo.ports import Act, Extractor, Reading, Writing

_log = logging.getLogger(__name__)

CHUNK = 25
"""Acts that share a transaction: between two of them everybody else may write."""

WORKER = "worker"
"""Who does what no person asked for, in the audit."""

Advance = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """How the background keeps order.

    Args:
        every: seconds between two passes over one person's memory; 0 never begins one.
        pause: seconds between two passes, over whomever.
        lease: seconds after which another process may take over from one that died.
        poll: seconds between looks when it is nobody's turn.
    """

    every: float = 86_400.0
    pause: float = 1.0
    lease: float = 120.0
    poll: float = 60.0


class _Rehearsed(Exception):
    """Takes a transaction back that was a rehearsal."""

    def __init__(self, steps: list[PassStep]) -> None:
        super().__init__("a rehearsal")
        self.steps = steps


class Keeper:
    """Consolidates memories of persons, one at a time. An organization's are never touched: what a
    curator wrote stands until a curator changes it."""

    def __init__(
        self, services: Services, *, habit: Habit, extractor: Extractor | None = None
    ) -> None:
        self._services = services
        self._habit = habit
        self._reworder = None if extractor is None else Reworder(services, extractor)

    async def run(self) -> None:
        """One pass after the other, until cancelled; what a pass has begun stays whole."""
        while self._habit.every > 0:
            try:
                worked = await self._next()
            except RicordoError as error:
                _log.error("memories cannot be consolidated just now: %s", error)
                worked = False
            await asyncio.sleep(self._habit.pause if worked else self._habit.poll)

    async def _next(self) -> bool:
        lease = await self._services.ledger.tend(
            at=self._services.clock(), every=self._habit.every, seconds=self._habit.lease
        )
        if lease is None:
            return False
        try:
            await self._pass(lease, by=WORKER, recent=2 * self._habit.every)
        except Conflict as error:
            # The lease ran out or the person was erased: whoever holds it now decides.
            _log.info("a pass was not finished: %s", error)
        finally:
            await self._services.ledger.release(lease)
        return True

    async def consolidate(
        self, *, scope: UserScope, by: str, dry_run: bool = False, advance: Advance | None = None
    ) -> ConsolidationReport:
        """One pass now. See `UserMemory.consolidate`."""
        if dry_run:
            return await self._rehearse(scope, by=by, advance=advance)
        lease = await self._lease(scope)
        if lease is None:
            return ConsolidationReport(pass_id=None, dry_run=False, at=self._services.clock())
        try:
            return await self._pass(lease, by=by, recent=None, advance=advance)
        finally:
            await self._services.ledger.release(lease)

    async def passes(self, *, scope: UserScope, limit: int) -> Sequence[Pass]:
        """Passes that changed something, newest first."""
        check_limit(limit)

        async def look(tx: Reading) -> list[Pass]:
            return await tx.passes(scope=scope, limit=limit)

        return await self._services.ledger.read(look, scopes=[scope])

    async def undo(self, pass_id: str, *, scope: UserScope, by: str) -> Undone:
        """Take a pass back. See `UserMemory.undo_consolidation`."""
        await self._services.journal.flush()  # counters that are not written yet would be lost

        async def work(tx: Writing) -> Undone:
            at = self._services.clock()
            done = await undoing.find(tx, pass_id, scope=scope)
            undone = await undoing.Undoing(tx, self._services, scope=scope, at=at).undo(done)
            await tx.audit("undo-consolidation", by=by, scope=scope, subjects=[pass_id])
            return undone

        return await self._services.ledger.write(work, scope=scope)

    async def _lease(self, scope: UserScope) -> Lease | None:
        """The right to consolidate; None where there is nothing. Raises `Conflict` while another
        process does."""
        at = self._services.clock()
        lease = await self._services.ledger.tend(
            at=at, every=0, seconds=self._habit.lease, scope=scope
        )
        if lease is None and (await self._services.ledger.counts(scope=scope))["memories"]:
            raise Conflict("this memory is being consolidated just now; try again later")
        return lease

    async def _pass(
        self, lease: Lease, *, by: str, recent: float | None, advance: Advance | None = None
    ) -> ConsolidationReport:
        with self._services.measures.act(Act.CONSOLIDATE):
            return await self._passed(lease, by=by, recent=recent, advance=advance)

    async def _passed(
        self, lease: Lease, *, by: str, recent: float | None, advance: Advance | None
    ) -> ConsolidationReport:
        doing = self._doing(lease.scope, by=by)
        planned = await plan(
            self._services, scope=lease.scope, at=doing.at, between=self._renewing(lease)
        )
        actions, notes = planned.actions, ()
        steps: list[PassStep] = []
        for some in _chunks(actions):
            steps += await self._apply(some, doing, lease)
            if advance is not None:
                advance(len(some))
        if self._reworder is not None:
            wordings, notes = await self._reworder.propose(
                scope=lease.scope, at=doing.at, recent=recent
            )
            for some in _chunks(wordings):
                steps += await self._apply(some, doing, lease)
        return ConsolidationReport(
            pass_id=doing.pass_id if steps else None,
            dry_run=False,
            at=doing.at,
            examined=planned.examined,
            changes=changes_of(steps),
            undecided=planned.undecided,
            notes=notes,
        )

    def _renewing(self, lease: Lease) -> Callable[[], Awaitable[None]]:
        """Lets others have their turn, and keeps the lease, however long a look takes."""
        renewed = time.monotonic()

        async def between() -> None:
            nonlocal renewed
            await _give_way()
            if time.monotonic() - renewed > lease.seconds / 4:
                await self._services.ledger.write(
                    lambda tx: tx.hold(lease, scope=lease.scope), scope=lease.scope
                )
                renewed = time.monotonic()

        return between

    async def _apply(self, actions: Sequence[Action], doing: Doing, lease: Lease) -> list[PassStep]:
        """Some acts, with the record of them, in one transaction."""

        async def work(tx: Writing) -> list[PassStep]:
            await tx.hold(lease, scope=doing.scope)  # first: a lost lease must change nothing
            steps = await _applied(tx, actions, doing)
            if steps:
                await tx.note(doing.record(steps), scope=doing.scope)
                subjects = [s.memory_id or s.relation_id or s.proposal_id or "" for s in steps]
                await tx.audit(
                    "consolidate",
                    by=doing.by,
                    scope=doing.scope,
                    subjects=list(dict.fromkeys(subjects)),
                )
            return steps

        return await self._services.ledger.write(work, scope=doing.scope)

    async def _rehearse(
        self, scope: UserScope, *, by: str, advance: Advance | None
    ) -> ConsolidationReport:
        """What a pass would do: it is done, and taken back before it counts."""
        doing = self._doing(scope, by=by)
        planned = await plan(self._services, scope=scope, at=doing.at, between=_give_way)
        steps: list[PassStep] = []
        for some in _chunks(planned.actions):
            steps += await self._tried(some, doing)
            if advance is not None:
                advance(len(some))
        left_out = ("no wording is asked for in a dry run",) if self._reworder else ()
        return ConsolidationReport(
            pass_id=None,
            dry_run=True,
            at=doing.at,
            examined=planned.examined,
            changes=changes_of(steps),
            undecided=planned.undecided,
            notes=left_out,
        )

    async def _tried(self, actions: Sequence[Action], doing: Doing) -> list[PassStep]:
        async def work(tx: Writing) -> None:
            raise _Rehearsed(await _applied(tx, actions, doing))

        try:
            await self._services.ledger.write(work, scope=doing.scope)
        except _Rehearsed as rehearsed:
            return rehearsed.steps
        return []

    def _doing(self, scope: UserScope, *, by: str) -> Doing:
        return Doing(
            services=self._services,
            scope=scope,
            pass_id=self._services.new_id("c"),
            at=self._services.clock(),
            by=by,
        )


def _chunks(actions: Sequence[Action]) -> Iterator[Sequence[Action]]:
    for start in range(0, len(actions), CHUNK):
        yield actions[start : start + CHUNK]


async def _give_way() -> None:
    await asyncio.sleep(0)


async def _applied(tx: Writing, actions: Sequence[Action], doing: Doing) -> list[PassStep]:
    return [step for action in actions for step in await action.apply(tx, doing)]
