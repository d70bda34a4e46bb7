"""Short-term memory: whose conversation it is, and which agents share it."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from ricordo.model.scope import UserScope


class Shape(StrEnum):
    """How the agents of a team share the conversation."""

    SHARED = "shared"
    """All agents read and write one history."""
    DISTRIBUTED = "distributed"
    """Each agent has a history of its own; the session's id tells which belong together."""
    HYBRID = "hybrid"
    """A cache in front of the durable history, or groups of agents that share, or both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One history: of one person, in one session, in the room of the agents that share it.

    Args:
        scope: the person.
        room: who shares it, as `ricordo.access.room_of` says.
        thread: the session's id.
    """

    scope: UserScope
    room: str
    thread: str

    @property
    def owner(self) -> str:
        """The person, as stores know them: 40 hexadecimal digits."""
        return owner_key(self.scope)

    @property
    def place(self) -> str:
        """Room and thread, as stores know them: 40 hexadecimal digits."""
        return _hashed("place", self.room, self.thread)

    @property
    def key(self) -> str:
        """The name of this history in a store; it begins with the owner and a dot."""
        return f"{self.owner}.{self.place}"


def owner_key(scope: UserScope) -> str:
    """A person's name in stores of conversations.

    A hash: no id is ever read as a pattern, a path or a part of a key, and equal ids of two tenants
    do not meet. It is no secret: whoever knows tenant and user can compute it.
    """
    return _hashed("owner", scope.tenant, scope.user)


def _hashed(*parts: str) -> str:
    # Lengths go in front, so that no two lists of parts give the same bytes.
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    joined = b"".join(len(part).to_bytes(4, "big") + part for part in encoded)
    return sha256(joined).hexdigest()[:40]
