"""Building a view anew while the old build serves."""

import asyncio
from collections.abc import AsyncIterator

from ricordo.memory.viewing.outside import Outside
from ricordo.ports import Ledger, ViewBuild

GRACE = 2.0
"""Seconds after the switch until the old build goes, so that no search is cut short."""


async def rebuild(
    ledger: Ledger, outside: Outside, *, grace: float = GRACE
) -> AsyncIterator[tuple[int, int]]:
    """Feed a new build, let it serve, and remove the old ones.

    What an interrupted run fed stays fed, and the next run goes on from there. Yields how many
    scopes are done, and how many there are.

    Raises:
        RicordoError: as `View.open`; the old build serves on.
    """
    build = await _begun(ledger, outside)
    feeder = await outside.make(build)
    view = feeder.sync.view
    try:
        await view.open(create=True)
        await feeder.clear()
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


async def remove(ledger: Ledger, outside: Outside, build: ViewBuild) -> None:
    """Remove a build from its engine, then from the ledger."""
    view = (await outside.make(build)).sync.view
    try:
        await view.open(create=True)
        await view.destroy()
    finally:
        await view.close()
    await ledger.dismiss(build)


async def _begun(ledger: Ledger, outside: Outside) -> ViewBuild:
    """A build that was begun and never served, or a new one."""
    plan = outside.plan
    mine = [b for b in await ledger.builds() if b.view == plan.name and not b.serving]
    made_of = await plan.made_of()
    fits = [b for b in mine if (b.sort, b.made_of) == (plan.sort, made_of)]
    for build in mine:
        if build not in fits[:1]:
            await remove(ledger, outside, build)
    if fits:
        return fits[0]
    return await ledger.enroll(plan.name, sort=plan.sort, made_of=made_of)
