"""`LocalHistoryCache`: copies of conversations in this process, for one process."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from ricordo.model import Conversation, UserScope, new_id, owner_key
from ricordo.ports import Glance

MOST = 100_000
"""Conversations that are known at once."""


@dataclass(slots=True)
class _Entry:
    payload: bytes | None = None
    at: float = 0.0
    lease: tuple[str, float] | None = None
    writers: dict[str, float] = field(default_factory=dict[str, float])


class LocalHistoryCache:
    """Copies of conversations, as `ricordo.ports.HistoryCache` promises them, within one process.

    Another process's writings are seen only when a copy has grown older than its reader allows.

    Args:
        lifetime: seconds after which a copy is dropped.
        lease: seconds that a loader has to come back.
        patience: seconds that a writer has to come back.
        largest: bytes of all copies; beyond, the one used longest ago is dropped.
        clock: seconds that only grow.
    """

    name = "history cache (in process)"
    remedy = "restart the process"

    def __init__(
        self,
        *,
        lifetime: float = 3_600.0,
        lease: float = 5.0,
        patience: float = 30.0,
        largest: int = 64_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lifetime = lifetime
        self._lease = lease
        self._patience = patience
        self._largest = largest
        self._clock = clock
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()

    async def look(self, conversation: Conversation, *, within: float) -> Glance:
        """The copy, if it is at most `within` seconds old; else, if possible, a lease."""
        entry, now = self._entry(conversation), self._clock()
        age = now - entry.at
        if entry.payload is not None and age <= min(within, self.lifetime):
            return Glance(payload=entry.payload, age=age)
        if any(end > now for end in entry.writers.values()):
            return Glance()
        if entry.lease is not None and entry.lease[1] + self._lease > now:
            return Glance(loading=True)
        entry.lease = (new_id("l"), now)
        return Glance(lease=entry.lease[0])

    async def fill(self, conversation: Conversation, *, payload: bytes, lease: str) -> bool:
        """Put a copy there, if the lease still holds; whether it was kept."""
        entry = self._entries.get((conversation.owner, conversation.place), _Entry())
        held = entry.lease
        if held is None or held[0] != lease or held[1] + self._lease <= self._clock():
            return False
        self._bytes += len(payload) - len(entry.payload or b"")
        entry.payload, entry.at, entry.lease = payload, held[1], None
        self._trim()
        return True

    async def hold(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: a writing begins."""
        entry, now = self._emptied(conversation), self._clock()
        entry.writers = {name: end for name, end in entry.writers.items() if end > now}
        entry.writers[writer] = now + self._patience

    async def release(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: the writing is over."""
        if (conversation.owner, conversation.place) in self._entries:
            self._emptied(conversation).writers.pop(writer, None)

    async def forget(self, *, scope: UserScope) -> int:
        """Drop everything of a person; how many copies there were."""
        owner = owner_key(scope)
        theirs = [key for key in self._entries if key[0] == owner]
        gone = [self._entries.pop(key).payload for key in theirs]
        self._bytes -= sum(len(payload or b"") for payload in gone)
        return sum(payload is not None for payload in gone)

    async def count(self, *, scope: UserScope) -> int:
        """How many entries of the person there are."""
        owner = owner_key(scope)
        return sum(key[0] == owner for key in self._entries)

    async def erase(self, *, scope: UserScope) -> int:
        """As `forget`, for an erasure."""
        return await self.forget(scope=scope)

    def _entry(self, conversation: Conversation) -> _Entry:
        key = (conversation.owner, conversation.place)
        entry = self._entries.setdefault(key, _Entry())
        self._entries.move_to_end(key)
        self._trim()
        return entry

    def _emptied(self, conversation: Conversation) -> _Entry:
        entry = self._entry(conversation)
        self._bytes -= len(entry.payload or b"")
        entry.payload = entry.lease = None
        return entry

    def _trim(self) -> None:
        """Drop what was used longest ago; a lease or hold that goes with it only costs a copy."""
        while len(self._entries) > 1 and (self._bytes > self._largest or len(self._entries) > MOST):
            _, entry = self._entries.popitem(last=False)
            self._bytes -= len(entry.payload or b"")
