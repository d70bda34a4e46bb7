"""Erasing a person: everything, everywhere, with a receipt from a scan."""

from ricordo.memory.services import Services
from ricordo.model import Receipt, UserScope
from ricordo.ports import Act, Fact, Writing


async def erase(services: Services, *, scope: UserScope) -> Receipt:
    """Remove everything of the scope and scan every place for what is left.

    What remains on purpose is the keyed hash of the scope, so that a turn said before the erasure
    but delivered after it is refused, and the announcement that carries only that hash.
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
    cleared = await services.ledger.scrub()
    remaining = dict(await services.ledger.counts(scope=scope))
    return Receipt(
        subject=await services.ledger.subject(scope=scope),
        erased_at=at,
        removed=removed,
        remaining=remaining,
        log_cleared=cleared,
    )
