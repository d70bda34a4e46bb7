"""What became of the platform's messages, in numbers."""

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class Counts:
    """Since the process began.

    Args:
        stored: requests to keep that were queued; `repeated` were queued before.
        dropped: requests to keep of somebody who was erased meanwhile, or while keeping is off.
        answered: requests to recall; `empty` of these with nothing.
        failed: recalls that failed, or were too late.
        refused: messages that went to the dead letters.
        postponed: attempts that failed for now.
        told: events about what was stored; `untold` were not taken, and went to the dead letters.
    """

    stored: int = 0
    repeated: int = 0
    dropped: int = 0
    answered: int = 0
    empty: int = 0
    failed: int = 0
    refused: int = 0
    postponed: int = 0
    told: int = 0
    untold: int = 0
