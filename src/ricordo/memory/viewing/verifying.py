"""Comparing views with the ledger, and mending what differs."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ricordo.errors import Invalid
from ricordo.memory.viewing.feeding import Feeder
from ricordo.memory.viewing.outside import Outside
from ricordo.memory.viewing.syncing import cut
from ricordo.model import Scope
from ricordo.ports import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """How a view differs from the ledger in one scope; numbers of entries.

    Args:
        scope: whose; None for entries of a scope that the ledger does not know (any more).
        missing: in the ledger and not in the view.
        extra: in the view and not in the ledger.
        stale: in both, and not the same.
        mended: whether it was put right.
        fault: why it could not be compared; None where it was.
    """

    view: str
    scope: Scope | None
    missing: int = 0
    extra: int = 0
    stale: int = 0
    mended: bool = False
    fault: str | None = None


async def verify(
    ledger: Ledger, outside: Outside, *, repair: bool
) -> AsyncIterator[Difference | None]:
    """Feed the view what was announced, then compare it scope by scope.

    Yields one item per scope: a difference, or None.

    Raises:
        RicordoError: as `View.open`.
    """
    feeder = await outside.feeder()
    await feeder.sign(mended=False)
    await feeder.catch_up()
    strays: set[str] = set()
    try:
        strays = await feeder.sync.view.scopes()
    except Invalid as error:
        # Scopes that the ledger knows are compared all the same.
        yield Difference(view=outside.name, scope=None, fault=str(error))
    strays.discard(await feeder.signature())
    for scope in await ledger.scopes():
        key = await ledger.subject(scope=scope)
        strays.discard(key)
        try:
            yield await _compared(feeder, scope, key, repair=repair)
        except Invalid as error:
            yield Difference(view=outside.name, scope=scope, fault=str(error))
    for key in sorted(strays):
        extra = len(await feeder.sync.view.inventory(key))
        if repair:
            await feeder.erase(key)
        if extra:
            yield Difference(view=outside.name, scope=None, extra=extra, mended=repair)
    if repair:
        await feeder.sign(mended=True)


async def _compared(feeder: Feeder, scope: Scope, key: str, *, repair: bool) -> Difference | None:
    await feeder.sync.sync(scope)
    there = await feeder.sync.view.inventory(key)
    expected = await feeder.sync.expected(scope)
    missing = sorted(expected.keys() - there.keys())
    extra = sorted(there.keys() - expected.keys())
    stale = sorted(one for one in expected.keys() & there.keys() if expected[one] != there[one])
    if not (missing or extra or stale):
        return None
    if repair:
        for some in cut([*extra, *stale, *missing]):
            await feeder.sync.mend(scope, some)
    return Difference(
        view=feeder.sync.build.view,
        scope=scope,
        missing=len(missing),
        extra=len(extra),
        stale=len(stale),
        mended=repair,
    )
