"""One feeder per build of a view: follows the outbox, and makes the view equal to the ledger."""

from collections.abc import Callable
from datetime import datetime

from ricordo.errors import Retired
from ricordo.events import (
    Event,
    OrganizationMemoryRecalled,
    TurnParked,
    TurnReplayed,
    UserMemoryErased,
    UserMemoryRecalled,
    UserMemoryRefused,
    UserMergeDecided,
    UserMergeProposed,
)
from ricordo.memory.readmitting import readmitted
from ricordo.memory.viewing.syncing import Sync
from ricordo.model import Scope
from ricordo.ports import Ledger

LEASE = 30.0
"""Seconds for which a feeder is elected; it asks again long before."""

_AT_ONCE = 256
_CHANGES_NOTHING = (
    UserMemoryRecalled,
    UserMemoryRefused,
    UserMergeDecided,
    UserMergeProposed,
    OrganizationMemoryRecalled,
    TurnParked,
    TurnReplayed,
)


class Feeder:
    """Keeps one build of a view equal to the ledger.

    Events only tell where to look: what is sent is what the ledger says now. So an event that comes
    again, or late, does no harm, and many of one scope are one look.

    Args:
        holder: who feeds; of all processes one is elected.

    Attributes:
        cleared: whether every erasure that happened before it began was applied to the view.
    """

    def __init__(
        self, ledger: Ledger, sync: Sync, *, clock: Callable[[], datetime], holder: str
    ) -> None:
        self.cleared = False
        self._swept = False
        self._ledger = ledger
        self._sync = sync
        self._clock = clock
        self._holder = holder

    @property
    def sync(self) -> Sync:
        """What it feeds with."""
        return self._sync

    async def turn(self) -> bool:
        """Feed all that there is, if elected; False when another one feeds."""
        await self.clear()
        if not await self._elected():
            return False
        if not self._swept:
            await self.sweep()
            self._swept = True
        while await self.step():
            if not await self._elected():
                return False
        return True

    async def resign(self) -> None:
        """Let another one feed at once."""
        await self._ledger.resign(self._sync.build, holder=self._holder)

    async def catch_up(self) -> None:
        """Feed everything that was announced so far, elected or not."""
        await self.clear()
        while await self.step():
            pass

    async def clear(self) -> None:
        """Apply the erasures that the view missed, before anything else."""
        if self.cleared:
            return
        await self._come_back()
        after = await self._position()
        while events := await self._ledger.announced(after=after, limit=_AT_ONCE):
            for _, event in events:
                if isinstance(event, UserMemoryErased):
                    await self.erase(event.subject)
            after = events[-1][0]
        self.cleared = True

    async def erase(self, key: str) -> None:
        """Remove everything of a scope; whatever enters it anew is fed again as a whole."""
        await self._sync.view.drop(key)
        await self._ledger.unmark(self._sync.build, scope=key)

    async def sweep(self) -> None:
        """Look at every scope: for what was there before the build was enrolled."""
        for scope in await self._ledger.scopes():
            await self._sync.sync(scope)

    async def step(self) -> int:
        """Feed what the next events tell of; how many events that were."""
        events = await self._ledger.announced(after=await self._position(), limit=_AT_ONCE)
        waiting: dict[Scope, None] = {}
        for position, event in events:
            if isinstance(event, UserMemoryErased):
                await self._feed(waiting)
                await self.erase(event.subject)
                await self._done(position)
            elif _matters(event):
                waiting[event.scope] = None
        await self._feed(waiting)
        if events:
            await self._done(events[-1][0])
        return len(events)

    async def lag(self) -> int:
        """How many positions of the outbox the view is behind."""
        return await self._ledger.latest() - await self._position()

    async def _feed(self, scopes: dict[Scope, None]) -> None:
        for scope in scopes:
            await self._sync.sync(scope)
        scopes.clear()

    async def _position(self) -> int:
        return await self._ledger.position(self._sync.build.consumer) or 0

    async def _done(self, position: int) -> None:
        try:
            await self._ledger.acknowledge(self._sync.build.consumer, position)
        except Retired:
            # While it was paused. The next turn begins as after a start.
            self.cleared = False
            raise

    async def _come_back(self) -> None:
        """Be a reader again if it was retired: what it missed, a look at every scope makes good."""
        if await readmitted(self._ledger, self._sync.build.consumer):
            self._swept = False

    async def _elected(self) -> bool:
        return await self._ledger.elect(
            self._sync.build, holder=self._holder, at=self._clock(), seconds=LEASE
        )


def _matters(event: Event) -> bool:
    return not isinstance(event, _CHANGES_NOTHING)
