"""`Reading` and `Writing` on SQLite, put together from their parts."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from ricordo.adapters.sqlite import outbox, queue
from ricordo.adapters.sqlite.erasures import remember_erasure
from ricordo.adapters.sqlite.memory_reading import MemoryReading
from ricordo.adapters.sqlite.memory_writing import MemoryWriting
from ricordo.adapters.sqlite.merging import Merging
from ricordo.adapters.sqlite.passes import PassKeeping, PassRecords
from ricordo.adapters.sqlite.places import clear
from ricordo.adapters.sqlite.session import Session
from ricordo.adapters.sqlite.view_reading import ViewReading
from ricordo.adapters.sqlite.walking import WalkReading
from ricordo.adapters.sqlite.withdrawing import Withdrawing
from ricordo.columns.codec import dumps
from ricordo.columns.scopes import NOWHERE, subject_of
from ricordo.columns.times import micros
from ricordo.errors import Invalid
from ricordo.events import Event, UserMemoryErased
from ricordo.model import Batch, Relate, Scope, UserScope, new_id

T = TypeVar("T")
S = TypeVar("S", bound=Session)


class SqliteReading(MemoryReading, ViewReading, WalkReading, PassRecords):
    """See `ricordo.ports.Reading`."""

    still = True


class SqliteWriting(MemoryWriting, Merging, ViewReading, WalkReading, PassKeeping, Withdrawing):
    """See `ricordo.ports.Writing`."""

    async def emit(self, event: Event) -> None:
        """See `ricordo.ports.Writing`."""
        self._owned(event.scope)
        outbox.announce(self._connection, event)

    async def audit(self, act: str, *, by: str, scope: Scope, subjects: Sequence[str]) -> None:
        """See `ricordo.ports.Writing`."""
        self._change(
            "insert into audit (scope_id, at, act, done_by, subjects) values (?, ?, ?, ?, ?)",
            self._owned(scope),
            micros(self._clock()),
            act,
            by,
            dumps(tuple(subjects)),
        )

    async def enqueue(self, work: Relate, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        queue.enqueue(self._connection, work, number=self._number(scope), now=self._clock())

    async def finish(self, batch: Batch) -> None:
        """See `ricordo.ports.Writing`."""
        queue.finish(self._connection, batch, number=self._number(batch.scope), now=self._clock())

    async def erase(self, *, scope: Scope, at: datetime) -> Mapping[str, int]:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        self._numbers.pop(scope, None)
        removed = {} if number == NOWHERE else clear(self._connection, number)
        subject = subject_of(scope, self._secret)
        remember_erasure(self._connection, subject, number=number, at=at)
        if isinstance(scope, UserScope):
            self._announce_erased(UserScope(tenant=scope.tenant, user=subject), subject, at)
        return removed

    def _announce_erased(self, scope: UserScope, subject: str, at: datetime) -> None:
        event = UserMemoryErased(id=new_id("e"), at=at, scope=scope, subject=subject)
        outbox.announce(self._connection, event, erased=True)


def run(work: Callable[[S], Awaitable[T]], session: S) -> T:
    """Carry out a piece of work at once, on this thread.

    Raises:
        Invalid: it awaited something other than its transaction, and so could not go on.
    """
    steps = work(session).__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    finally:
        session.end()
    close = getattr(steps, "close", None)
    if close is not None:
        close()
    raise Invalid(
        "work inside a transaction may await nothing but the transaction; "
        "fetch what it needs beforehand"
    )
