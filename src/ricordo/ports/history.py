"""Copies of conversations in front of the history that is the truth, and places to erase."""

from dataclasses import dataclass
from typing import Protocol

from ricordo.model import Conversation, UserScope


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """What a look into the cache found.

    Args:
        payload: the copy; None without one that is fresh enough.
        age: seconds since the reading of the durable history began that gave the copy.
        lease: the right to put a copy there; None for whoever may not.
        loading: whether somebody else holds that right, so that waiting may pay.
    """

    payload: bytes | None = None
    age: float = 0.0
    lease: str | None = None
    loading: bool = False


class HistoryCache(Protocol):
    """Copies of conversations, each as old as the reading of the truth that it comes from.

    The right to put a copy there is a lease, and every writing takes it away. So a copy that was
    read before a writing never gets in after it.

    1. A copy is found with its age, which counts from when its lease was given.
    2. One lease at a time; it ends by itself when its holder does not come back.
    3. What was filled with a lease that is gone is not kept.
    4. From `hold` to `release` of any writer there is neither a copy nor a lease; a hold whose
       writer does not come back ends by itself.
    5. A copy older than asked for is not found.
    6. Conversations of other persons, rooms and threads do not meet.
    7. After `forget` nothing of the person is left, nor comes from a lease given before.
    8. Each call ends within the cache's own deadline, by an answer or by `Unavailable`.

    Attributes:
        lifetime: seconds after which a copy is gone at the latest.
    """

    lifetime: float

    async def look(self, conversation: Conversation, *, within: float) -> Glance:
        """The copy, if it is at most `within` seconds old; else, if possible, a lease."""
        ...

    async def fill(self, conversation: Conversation, *, payload: bytes, lease: str) -> bool:
        """Put a copy there, if the lease still holds; whether it was kept."""
        ...

    async def hold(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: a writing begins."""
        ...

    async def release(self, conversation: Conversation, *, writer: str) -> None:
        """Drop copy and lease: the writing is over. Without a `hold` before it, it drops alike."""
        ...

    async def forget(self, *, scope: UserScope) -> int:
        """Drop everything of a person; how many copies there were."""
        ...

    async def count(self, *, scope: UserScope) -> int:
        """How many entries of the person there are."""
        ...


class Outside(Protocol):
    """A place outside the ledger that holds something of persons, and is emptied with them.

    1. After `erase` nothing of the person is left there, and nothing of others is touched.
    2. Erasing what is not there is no error.

    Attributes:
        name: for people, for example ``"history cache (redis)"``.
        remedy: how to empty it by hand, for the receipt, when it cannot be done here.
    """

    name: str
    remedy: str

    async def erase(self, *, scope: UserScope) -> int:
        """Remove everything of the person; how many entries there were. Raises `Unavailable`."""
        ...

    async def count(self, *, scope: UserScope) -> int:
        """How many entries of the person are left. Raises `Unavailable`."""
        ...
