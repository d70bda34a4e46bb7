"""How the workers of all processes hear that something waits in the ledger's queue."""

from datetime import datetime
from typing import Protocol

from ricordo.model import Turn, UserScope


class Sign(Protocol):
    """One sign, in the hands of one worker. Nothing here raises: a sign that cannot be settled
    comes again by itself."""

    @property
    def due(self) -> datetime:
        """When its turn is extracted at the latest, if no others join it."""
        ...

    async def working(self) -> None:
        """It is still being worked on; let nobody else have it yet."""
        ...

    async def done(self) -> None:
        """Nothing waits for it any more."""
        ...

    async def later(self, *, seconds: float) -> None:
        """Let it come again, to whoever is free then."""
        ...


class Signs(Protocol):
    """Signs that turns wait, from whoever observes them to whoever is free.

    A sign is no work: it says that a look at the queue is worth while, and the ledger says what is
    to be done next. So no sign can bring turns out of order, or be unfair.

    1. Telling neither waits nor raises. A sign may get lost: nobody may rely on one.
    2. A turn that is told twice, within the window of what carries it, has one sign.
    3. A sign goes to one worker at a time, and to another one if that one dies or gives it back.
    4. What is no sound sign is never taken: it is put away, with the reason.
    """

    @property
    def heard(self) -> bool:
        """Whether signs can be heard at present."""
        ...

    def tell(self, turn: Turn, *, scope: UserScope, due: datetime) -> None:
        """Say that a turn was accepted."""
        ...

    async def take(self) -> Sign:
        """The next sign, however long that takes.

        Raises:
            NotFound, Conflict: what carries the signs is not there, or another ledger's.
            Denied: it refuses the credentials. Unavailable: it does not answer.
        """
        ...

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        ...
