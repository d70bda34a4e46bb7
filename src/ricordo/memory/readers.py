"""Who reads the outbox: who holds up its pruning, and who is not waited for any more."""

from collections.abc import Sequence
from datetime import timedelta

from ricordo.errors import Conflict
from ricordo.memory.services import Services
from ricordo.ports import Reader


async def retire(services: Services, name: str) -> Reader:
    """Keep events for a reader no more; it as it is then.

    Raises:
        NotFound: nobody ever read under that name.
        Conflict: somebody reads under it just now, or it is of a view that is configured here.
    """
    builds = {build.consumer: build for build in await services.ledger.builds()}
    for view in services.views:
        away = name in builds and not view.holds(builds[name])
        if name.startswith(f"view:{view.name}#") and not away:
            raise Conflict(
                f"{name!a} feeds the view {view.name}, which the settings name, so it would come "
                "back; take the view out of them first"
            )
    await services.ledger.retire(name, at=services.clock())
    [found] = [each for each in await services.ledger.readers() if each.name == name]
    return found


def holding_up(services: Services, readers: Sequence[Reader], *, keep: float) -> list[Reader]:
    """Those for whose sake events are there that are older than `keep` seconds."""
    old = services.clock() - timedelta(seconds=keep)
    return [
        each
        for each in readers
        if each.retired_at is None and each.waiting_since is not None and each.waiting_since < old
    ]
