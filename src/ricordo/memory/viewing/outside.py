"""One configured view: the build that serves, opened when needed and fed in the background."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from ricordo.errors import Invalid, NotFound, RicordoError, SpaceMismatch, Unavailable
from ricordo.memory.viewing.feeding import LEASE, Feeder
from ricordo.memory.viewing.places import content_of, lies_in, made_in, place_of
from ricordo.memory.viewing.syncing import Sync
from ricordo.ports import Ledger, View, ViewBuild

_log = logging.getLogger(__name__)

POLL = 0.2
"""Seconds between looks at the outbox, and at which build serves."""

LONGEST_REST = 30.0
"""Seconds between attempts at a view that does not answer, at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A view as the settings describe it.

    Args:
        sort: ``"vectors"`` or ``"graph"``.
        place: which engine that is, for people, without a secret; a build that lies in another
            does not serve, and is never taken for removed.
        made_of: tells what its entries are made with; a build of anything else does not serve.
        make: gives a build of it, not opened yet, ready to be fed.

    Both raise `Unavailable` while the space is unknown.
    """

    name: str
    sort: str
    place: str
    made_of: Callable[[], Awaitable[str]]
    make: Callable[[ViewBuild], Awaitable[Sync]]


class Outside:
    """A configured view.

    Attributes:
        fault: why it cannot be used just now, or None.
    """

    def __init__(
        self, ledger: Ledger, plan: Plan, *, clock: Callable[[], datetime], holder: str
    ) -> None:
        self.plan = plan
        self.fault: str | None = None
        self._ledger = ledger
        self._clock = clock
        self._holder = holder
        self._feeder: Feeder | None = None
        self._opening = asyncio.Lock()
        self._looked = float("-inf")

    @property
    def name(self) -> str:
        """The view's name."""
        return self.plan.name

    def holds(self, build: ViewBuild) -> bool:
        """Whether a build lies in the engine that the settings name now."""
        return lies_in(build, place=self.plan.place)

    async def feeder(self) -> Feeder:
        """The serving build, open; enrolled now where there is none.

        Raises:
            SpaceMismatch: it was built with another model; rebuild it.
            RicordoError: as `View.open`.
        """
        async with self._opening:
            if self._feeder is None or time.monotonic() - self._looked > POLL:
                await self._look()
            if self._feeder is None:
                raise Unavailable(f"view {self.name} is not open")
            return self._feeder

    def serving(self) -> tuple[View, ViewBuild]:
        """The serving build, for a search; it is never opened here.

        Raises:
            Unavailable: it is not open, missed an erasure, or lost what it held.
        """
        feeder = self._feeder
        if feeder is None or not (feeder.cleared and feeder.whole):
            raise Unavailable(f"view {self.name} is not ready: {self.fault or 'not open yet'}")
        return feeder.sync.view, feeder.sync.build

    async def open(self, build: ViewBuild, *, create: bool) -> Feeder:
        """A feeder for any build of this view; whoever asked closes its view.

        Raises:
            Invalid: a package is missing; the message names it.
            RicordoError: as `View.open`.
        """
        try:
            sync = await self.plan.make(build)
            try:
                await sync.view.open(create=create)
            except (RicordoError, ImportError, asyncio.CancelledError):
                await sync.view.close()
                raise
        except ImportError as error:
            raise Invalid(f"view {self.name} cannot be used: {error}") from error
        return Feeder(self._ledger, sync, clock=self._clock, holder=self._holder)

    async def run(self) -> None:
        """Feed it, until cancelled."""
        rest = POLL
        try:
            while True:
                try:
                    elected = await (await self.feeder()).turn()
                    rest, self.fault = POLL if elected else LEASE / 10, None
                except RicordoError as error:
                    rest = min(max(2 * rest, 1.0), LONGEST_REST)
                    self._note(error)
                await asyncio.sleep(rest)
        finally:
            await self.close()

    async def refresh(self) -> None:
        """Turn at once to the build that serves now. Raises as `feeder`."""
        async with self._opening:
            await self._look()

    async def close(self) -> None:
        """Close what is open, and let another feed; closing twice is not an error."""
        feeder, self._feeder = self._feeder, None
        if feeder is not None:
            try:
                await feeder.resign()
            finally:
                await feeder.sync.view.close()

    async def _look(self) -> None:
        """Open the build that serves now, instead of one that did."""
        builds = [b for b in await self._ledger.builds() if b.view == self.name and b.serving]
        self._looked = time.monotonic()
        if self._feeder is not None:
            same = bool(builds) and builds[0].build == self._feeder.sync.build.build
            if same and not self._feeder.broken:
                if not self._feeder.whole:
                    await self._feeder.check()
                return
            await self.close()
        build = builds[0] if builds else await self._enrolled()
        await self._check(build)
        feeder = await self.open(build, create=True)
        try:
            await feeder.clear()
            await feeder.check()
        except (RicordoError, asyncio.CancelledError):
            await feeder.sync.view.close()
            raise
        self._feeder, self.fault = feeder, None

    async def _enrolled(self) -> ViewBuild:
        plan = self.plan
        made_of = made_in(await plan.made_of(), place=plan.place)
        return await self._ledger.enroll(plan.name, sort=plan.sort, made_of=made_of)

    async def _check(self, build: ViewBuild) -> None:
        if build.sort != self.plan.sort:
            raise NotFound(f"view {self.name} is one of {build.sort}, not of {self.plan.sort}")
        if not self.holds(build):
            raise SpaceMismatch(
                f"view {self.name} was built in {place_of(build)}, but {self.plan.place} is set; "
                f"set that again, or run `ricordo rebuild {self.name}`"
            )
        content, made_of = content_of(build), await self.plan.made_of()
        if content != made_of:
            raise SpaceMismatch(
                f"view {self.name} was built with {content}, but {made_of} is set; "
                f"run `ricordo rebuild {self.name}`"
            )

    def _note(self, error: RicordoError) -> None:
        fault = f"{type(error).__name__}: {error}"
        if fault != self.fault:
            _log.warning("view %s is not fed: %s", self.name, fault)
        self.fault = fault
