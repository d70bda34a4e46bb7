"""How many recalls are worked on together: as many as end in time."""

import asyncio
from collections import deque

LEAST = 2
"""So many always are: one that waits for a model or a ledger leaves the processor to another."""

_SHRINKS = 0.7
"""What is left of the room when one was late."""


class Room:
    """Lets recalls in, in the order in which they came.

    Where a machine is so busy that all would be late together, fewer are let in, until those that
    are end in time; and more again as they do.

    Args:
        most: so many while all end in time.
    """

    def __init__(self, most: int) -> None:
        self._most = max(most, LEAST)
        self._size = float(self._most)
        self._inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def full(self) -> bool:
        """Whether the next one has to wait."""
        return bool(self._waiting) or self._inside >= int(self._size)

    async def enter(self) -> bool:
        """Wait for a place; True."""
        if not self.full:
            self._inside += 1
            return True
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self._inside -= 1  # it was given one just now
                self._admit()
            elif place in self._waiting:
                self._waiting.remove(place)
            raise
        return True

    def leave(self, *, late: bool) -> None:
        """Give the place back, and say whether the time was too short for it."""
        self._inside -= 1
        if late:
            self._size = max(float(LEAST), self._size * _SHRINKS)
        else:
            self._size = min(float(self._most), self._size + 1 / self._size)
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self._inside < int(self._size):
            place = self._waiting.popleft()
            if not place.done():
                self._inside += 1
                place.set_result(None)
