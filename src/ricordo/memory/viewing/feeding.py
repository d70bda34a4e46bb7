"""One feeder per build of a view: follows the outbox, and makes the view equal to the ledger."""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from ricordo.errors import Invalid, Retired, RicordoError
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
from ricordo.memory.viewing.syncing import Sync, signature
from ricordo.model import Scope
from ricordo.ports import Ledger

LEASE = 30.0
"""Seconds for which a feeder is elected; it asks again long before."""

CHECK = timedelta(seconds=10)
"""How often a feeder looks whether its engine still holds what it was fed."""

_log = logging.getLogger(__name__)

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
        whole: whether the engine holds what the ledger noted of it, as far as was looked.
        broken: whether it could not even be looked at; it is to be opened anew.
    """

    def __init__(
        self, ledger: Ledger, sync: Sync, *, clock: Callable[[], datetime], holder: str
    ) -> None:
        self.cleared = self.whole = self.broken = False
        self._swept = False
        self._checked: datetime | None = None
        self._stuck: dict[Scope, str] = {}
        self._ledger = ledger
        self._sync = sync
        self._clock = clock
        self._holder = holder

    @property
    def sync(self) -> Sync:
        """What it feeds with."""
        return self._sync

    @property
    def fault(self) -> str | None:
        """What of the view is not fed though it answers, or None."""
        if not self._stuck:
            return None
        return f"{len(self._stuck)} scopes are not fed: {next(iter(self._stuck.values()))}"

    async def turn(self) -> bool:
        """Feed all that there is, if elected; False when another one feeds."""
        await self.clear()
        due = self._checked is None or self._clock() - self._checked >= CHECK
        if due or not self.whole:
            await self.check()
        if not await self._elected():
            return False
        if not self.whole:
            await self.begin()
        if not self._swept:
            await self.sweep()
            self._swept = True
        elif due:
            await self._feed([*self._stuck])
        while await self.step():
            if not await self._elected():
                return False
        return True

    async def check(self) -> None:
        """Look whether the engine lost what it was fed: its volume, or the whole collection."""
        try:
            self.whole = await self._sync.signed()
        except RicordoError:
            self.broken = True
            raise
        self._checked = self._clock()

    async def begin(self) -> None:
        """Feed from the beginning: what the ledger noted of the build before holds no more."""
        held = await self._held()
        if held:
            _log.warning(
                "view %s lost what it held, or was fed by an earlier version; it is fed anew",
                self._sync.build.view,
            )
        for key in held:
            await self._ledger.unmark(self._sync.build, scope=key)
        await self._sync.sign()
        self.whole, self._swept = True, False

    async def ready(self) -> None:
        """Look whether the engine lost what it was fed, and begin where it did, elected or not."""
        await self.check()
        if not self.whole:
            await self.begin()

    async def sign(self, *, mended: bool) -> None:
        """Sign a build that is not signed: one that holds nothing yet, or that was `mended`."""
        await self.check()
        if not self.whole and (mended or not await self._held()):
            await self._sync.sign()
            self.whole = True

    async def signature(self) -> str:
        """What stands among the view's scopes, and is none."""
        return await signature(self._ledger, self._sync.build)

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
        await self._feed(await self._ledger.scopes())

    async def step(self) -> int:
        """Feed what the next events tell of; how many events that were."""
        events = await self._ledger.announced(after=await self._position(), limit=_AT_ONCE)
        waiting: dict[Scope, None] = {}
        for position, event in events:
            if isinstance(event, UserMemoryErased):
                await self._feed(waiting)
                waiting.clear()
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

    async def _feed(self, scopes: Iterable[Scope]) -> None:
        """Bring the view up to date with these; one that it does not take keeps up no other."""
        for scope in scopes:
            try:
                await self._sync.sync(scope)
            except Invalid as error:
                fault = f"{type(error).__name__}: {error}"
                if self._stuck.get(scope) != fault:
                    _log.warning("a scope of view %s is not fed: %s", self._sync.build.view, fault)
                self._stuck[scope] = fault
            else:
                self._stuck.pop(scope, None)

    async def _held(self) -> list[str]:
        """Keys of the scopes of which the ledger noted that the build holds something."""
        build, held = self._sync.build.build, list[str]()
        for scope in await self._ledger.scopes():
            key = await self._ledger.subject(scope=scope)
            if any(one.build == build for one in await self._ledger.holding(scope=key)):
                held.append(key)
        return held

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
