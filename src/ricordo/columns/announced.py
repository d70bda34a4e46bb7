"""Events as rows of the outbox, and back."""

from ricordo.columns.codec import loads
from ricordo.columns.scopes import scope_from
from ricordo.errors import Corrupt
from ricordo.events import ALL, Event

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
