"""Events as rows of the outbox, and back; and those who read them."""

from ricordo.columns.codec import loads
from ricordo.columns.scopes import scope_from
from ricordo.columns.times import moment_or_none
from ricordo.errors import Corrupt, Retired
from ricordo.events import ALL, Event
from ricordo.ports import Reader

_KINDS = {kind.__name__: kind for kind in ALL}


def event_from(
    place: int, kind: str, payload: str, sort: str | None, tenant: str, owner: str
) -> Event:
    """An event from its row and its scope's; without a scope, its payload has one."""
    if kind not in _KINDS:
        raise Corrupt(f"the event at position {place} is of the unknown kind {kind[:60]!a}")
    if sort is None:
        return loads(_KINDS[kind], payload)
    return loads(_KINDS[kind], payload, scope=scope_from(sort, tenant, owner))


def reader_from(
    name: str,
    position: int,
    behind: int,
    oldest: int | None,
    seen: int | None,
    retired_at: int | None,
    missed: int,
    held_until: int | None,
) -> Reader:
    """A consumer from its row, and what was counted of it."""
    return Reader(
        name=name,
        position=position,
        behind=behind,
        waiting_since=moment_or_none(oldest),
        seen=moment_or_none(seen),
        held_until=moment_or_none(held_until),
        retired_at=moment_or_none(retired_at),
        missed=missed,
    )


def retired(consumer: str) -> Retired:
    """Why a consumer cannot go on."""
    return Retired(
        f"{consumer!a} was retired: events are not kept for it, and some may be gone that it never "
        "had. It may come back to what is there"
    )
