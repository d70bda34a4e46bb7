"""Erasing a person: everything, everywhere, with a receipt from a scan."""

from dataclasses import dataclass, field

from ricordo.errors import RicordoError
from ricordo.memory.services import Services
from ricordo.model import Receipt, UserScope
from ricordo.ports import Act, Fact, Writing


@dataclass(slots=True)
class _Emptied:
    """What became of the places outside the ledger."""

    removed: dict[str, int] = field(default_factory=dict[str, int])
    remaining: dict[str, int] = field(default_factory=dict[str, int])
    failed: dict[str, str] = field(default_factory=dict[str, str])


async def erase(services: Services, *, scope: UserScope) -> Receipt:
    """Remove everything of the scope and scan every place for what is left.

    What remains on purpose is the keyed hash of the scope, so that a turn said before the erasure
    but delivered after it is refused, and the announcement that carries only that hash.

    A place outside that cannot be emptied stops nothing: the receipt names it with the way out.
    """
    with services.measures.act(Act.ERASE) as doing:
        receipt = await _erase(services, scope=scope)
        doing.tell(Fact.REMOVED, sum(receipt.removed.values()))
        doing.tell(Fact.CLEAN, receipt.clean)
    return receipt


async def _erase(services: Services, *, scope: UserScope) -> Receipt:
    services.journal.drop(scope)
    at = services.clock()

    async def work(tx: Writing) -> dict[str, int]:
        return dict(await tx.erase(scope=scope, at=at))

    removed = await services.ledger.write(work, scope=scope)
    services.index.drop(scope=scope)
    outside = await _outside(services, scope=scope)
    views = await services.views.erased(scope)
    cleared = await services.ledger.scrub()
    remaining = dict(await services.ledger.counts(scope=scope)) | views.remaining
    return Receipt(
        subject=await services.ledger.subject(scope=scope),
        erased_at=at,
        removed=removed | outside.removed,
        remaining=remaining | outside.remaining,
        outside=outside.failed,
        log_cleared=cleared,
        pending=views.pending,
    )


async def _outside(services: Services, *, scope: UserScope) -> _Emptied:
    """Empty each place outside, in order: histories come before the copies made of them."""
    emptied = _Emptied()
    for place in services.outside:
        try:
            emptied.removed[place.name] = await place.erase(scope=scope)
            emptied.remaining[place.name] = await place.count(scope=scope)
        except RicordoError as error:
            emptied.failed[place.name] = f"{error}; to empty it: {place.remedy}"
    return emptied
