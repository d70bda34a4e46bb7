"""Building a view anew while the old build serves."""

import asyncio
from collections.abc import AsyncIterator

from ricordo.errors import NotFound
from ricordo.memory.viewing.outside import Outside
from ricordo.memory.viewing.places import content_of, made_in
from ricordo.ports import Ledger, ViewBuild

GRACE = 2.0
"""Seconds after the switch until the old build goes, so that no search is cut short."""


async def rebuild(
    ledger: Ledger, outside: Outside, *, grace: float = GRACE
) -> AsyncIterator[tuple[int, int]]:
    """Feed a new build, let it serve, and remove the old ones.

    An old one that lies in another engine than the settings name is kept: `kept` tells of it.
    What an interrupted run fed stays fed, and the next run goes on from there. Yields how many
    scopes are done, and how many there are.

    Raises:
        RicordoError: as `View.open`; the old build serves on.
    """
    build = await _begun(ledger, outside)
    feeder = await outside.open(build, create=True)
    view = feeder.sync.view
    try:
        await feeder.clear()
        await feeder.ready()
        scopes = await ledger.scopes()
        for done, scope in enumerate(scopes):
            yield done, len(scopes)
            await feeder.sync.sync(scope)
        await feeder.catch_up()
        former = [b for b in await ledger.builds() if b.view == outside.name and b != build]
        await ledger.serve(build)
        yield len(scopes), len(scopes)
    finally:
        await view.close()
    if former:
        await asyncio.sleep(grace)
        await outside.refresh()
        for one in former:
            await remove(ledger, outside, one)


async def remove(ledger: Ledger, outside: Outside, build: ViewBuild) -> bool:
    """Remove a build from its engine, then from the ledger.

    One that lies in another engine is not reached from here, so nothing is said of it: it stays in
    the ledger, and receipts go on to name it. Returns whether it was removed.
    """
    if not outside.holds(build):
        return False
    # Nothing is made or tried out: what is there may be of vectors of another length.
    try:
        view = (await outside.open(build, create=False)).sync.view
    except NotFound:
        view = None
    if view is not None:
        try:
            await view.destroy()
        finally:
            await view.close()
    await ledger.dismiss(build)
    return True


async def kept(ledger: Ledger, outside: Outside) -> list[ViewBuild]:
    """Builds of this view that lie in other engines than the settings name."""
    builds = await ledger.builds()
    return [b for b in builds if b.view == outside.name and not outside.holds(b)]


async def _begun(ledger: Ledger, outside: Outside) -> ViewBuild:
    """A build that was begun and never served, or a new one."""
    plan = outside.plan
    mine = [b for b in await ledger.builds() if b.view == plan.name and not b.serving]
    made_of = await plan.made_of()
    there = [b for b in mine if b.sort == plan.sort and outside.holds(b)]
    fits = [b for b in there if content_of(b) == made_of]
    for build in mine:
        if build not in fits[:1]:
            await remove(ledger, outside, build)
    if fits:
        return fits[0]
    placed = made_in(made_of, place=plan.place)
    return await ledger.enroll(plan.name, sort=plan.sort, made_of=placed)
