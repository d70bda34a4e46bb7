"""All configured views: fed together, and told at once when something must be gone."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ricordo.errors import NotFound, RicordoError
from ricordo.memory.abreast import abreast
from ricordo.memory.viewing.outside import Outside
from ricordo.memory.viewing.places import place_of
from ricordo.model import Scope
from ricordo.ports import Ledger, ViewBuild

_log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds that a view may take to forget at once; after that it forgets in the background."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What views said after an erasure.

    Args:
        remaining: entries that a scan still found, by view.
        pending: views that could not be reached, or are switched off; they forget before they are
            searched again.
    """

    remaining: dict[str, int] = field(default_factory=dict[str, int])
    pending: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a view is doing.

    Args:
        engine: what it runs on; empty while it could not be reached.
        behind: positions of the outbox that it has not seen; None while unknown.
        configured: False for one that is known to the ledger and switched off, or that lies in an
            engine which the settings name no more.
        place: which engine it was built in; empty where that was not noted yet.
    """

    name: str
    sort: str
    build: int
    behind: int | None = None
    engine: str = ""
    fault: str | None = None
    configured: bool = True
    place: str = ""


class Views:
    """The views of one opened memory."""

    def __init__(self, ledger: Ledger, outsides: Sequence[Outside] = ()) -> None:
        self._ledger = ledger
        self._outsides = {outside.name: outside for outside in outsides}

    def __iter__(self) -> Iterator[Outside]:
        return iter(self._outsides.values())

    def named(self, name: str) -> Outside:
        """The view of that name. Raises `NotFound`."""
        if name not in self._outsides:
            known = ", ".join(self._outsides) or "none; set vector_view or graph_view_url"
            raise NotFound(f"no view {name[:40]!a} is configured; there are: {known}")
        return self._outsides[name]

    async def run(self) -> None:
        """Feed all of them, until cancelled."""
        await abreast({f"ricordo-view-{outside.name}": outside.run for outside in self})

    async def feed(self) -> dict[str, str]:
        """Feed each of them all that there is, once; by name, what is wrong with those that could
        not be. One that another process feeds is left to that."""
        faults: dict[str, str] = {}
        for outside in self:
            try:
                feeder = await outside.feeder()
                await feeder.turn()
            except RicordoError as error:
                faults[outside.name] = f"{type(error).__name__}: {error}"
            else:
                if feeder.fault is not None:
                    faults[outside.name] = feeder.fault
        return faults

    async def forgotten(self, ids: Sequence[str], *, scope: Scope) -> None:
        """Take memories that were removed out of every view at once; one that does not answer
        forgets them when it is fed."""
        for outside in self:
            try:
                async with asyncio.timeout(PATIENCE):
                    feeder = await outside.feeder()
                    await feeder.sync.removed(scope, ids)
            except (RicordoError, TimeoutError) as error:
                kind = type(error).__name__
                _log.warning("view %s will forget later (%s)", outside.name, kind)

    async def erased(self, scope: Scope) -> Cleared:
        """Clear every view of a scope, and scan it."""
        key = await self._ledger.subject(scope=scope)
        remaining: dict[str, int] = {}
        pending: list[str] = []
        for outside in self:
            try:
                async with asyncio.timeout(PATIENCE):
                    feeder = await outside.feeder()
                    await feeder.erase(key)
                    remaining[f"view {outside.name}"] = len(await feeder.sync.view.inventory(key))
            except (RicordoError, TimeoutError) as error:
                kind = type(error).__name__
                _log.warning("view %s will forget later (%s)", outside.name, kind)
                pending.append(outside.name)
        pending += map(self._label, await self._ledger.holding(scope=key))
        return Cleared(remaining=remaining, pending=tuple(sorted(set(pending))))

    async def standing(self) -> list[Standing]:
        """How each view is doing, those that are switched off included."""
        found: list[Standing] = []
        for outside in self:
            await _reached(outside)  # so that it is enrolled
        latest = await self._ledger.latest()
        for build in await self._ledger.builds():
            outside = self._outsides.get(build.view)
            if not build.serving:
                if outside is None or outside.holds(build):
                    continue
                outside = None  # kept where it is, for it cannot be reached from here
            position = await self._ledger.position(build.consumer)
            engine, fault = ("", None) if outside is None else await _reached(outside)
            found.append(
                Standing(
                    name=build.view,
                    sort=build.sort,
                    build=build.build,
                    behind=None if position is None else latest - position,
                    engine=engine,
                    fault=fault,
                    configured=outside is not None,
                    place=place_of(build),
                )
            )
        return found

    async def close(self) -> None:
        """Close all of them."""
        for outside in self:
            await outside.close()

    def _label(self, build: ViewBuild) -> str:
        """A build's name in a receipt; one that is not reached from here is told with its place."""
        outside = self._outsides.get(build.view)
        if outside is not None and not outside.holds(build):
            return f"{build.view} (build {build.build} in {place_of(build)})"
        return build.view if build.serving else f"{build.view} (build {build.build})"


async def _reached(outside: Outside) -> tuple[str, str | None]:
    """The engine of a view, and what is wrong with it."""
    try:
        async with asyncio.timeout(PATIENCE):
            feeder = await outside.feeder()
    except TimeoutError:
        return "", f"it did not answer within {PATIENCE:g} s"
    except RicordoError as error:
        return "", f"{type(error).__name__}: {error}"
    return feeder.sync.view.engine, feeder.fault
