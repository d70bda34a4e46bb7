"""How far a move came, as it is noted in the ledger that is being filled."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ricordo.errors import Corrupt
from ricordo.ports.moving import Head, Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """How far a move came.

    Attributes:
        source: what tells the ledger that is moved apart from others.
        pulse: what it held when the move began.
        step: the step that is under way.
        after: the key of the last row that was moved in it; None before the first.
        moved: rows that were moved in all.
    """

    source: str
    pulse: str
    step: int = 0
    after: Row | None = None
    moved: int = 0

    def text(self) -> str:
        """As it is kept."""
        return json.dumps(asdict(self))


def read_note(text: str, *, name: str) -> Note:
    """A note from its text. Raises `Corrupt` for one that this version did not write."""
    try:
        kept: dict[str, Any] = json.loads(text)
        after = kept.pop("after")
        return Note(**kept, after=None if after is None else tuple(after))
    except (ValueError, TypeError, KeyError) as error:
        raise Corrupt(
            f"the ledger {name} is being filled by another version of Ricordo; go on with that "
            "one, or begin again with --restart"
        ) from error


def fingerprint(secret: bytes) -> str:
    """What tells a ledger, and every copy of it, apart from all others."""
    return hashlib.blake2b(secret, person=b"ricordo.moving", digest_size=8).hexdigest()


def pulse(head: Head, counts: Mapping[str, int]) -> str:
    """What changes with nearly everything that is written into a ledger, and is quick to tell."""
    told = json.dumps([dict(counts), dict(head.counters)], sort_keys=True)
    return hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
