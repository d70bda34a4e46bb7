"""`Reading` and `Writing` on PostgreSQL, put together from their parts."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from ricordo.adapters.postgres.census import Counting
from ricordo.adapters.postgres.memory_reading import MemoryReading
from ricordo.adapters.postgres.memory_writing import MemoryWriting
from ricordo.adapters.postgres.merging import Merging
from ricordo.adapters.postgres.passes import PassKeeping, PassRecords
from ricordo.adapters.postgres.places import Clearing
from ricordo.adapters.postgres.queue import QueueReading
from ricordo.adapters.postgres.tending import TendingTurns
from ricordo.adapters.postgres.view_reading import ViewReading
from ricordo.adapters.postgres.walking import WalkReading
from ricordo.adapters.postgres.withdrawing import Withdrawing
from ricordo.columns.codec import dumps
from ricordo.columns.scopes import NOWHERE, subject_of
from ricordo.columns.times import micros
from ricordo.events import Event, UserMemoryErased
from ricordo.model import Scope, UserScope, new_id


class PostgresReading(MemoryReading, ViewReading, WalkReading, PassRecords):
    """See `ricordo.ports.Reading`."""


class Looking(QueueReading, Clearing, Counting):
    """What an operator or an owner asks of one scope beside its memories."""


class PostgresWriting(
    MemoryWriting,
    Merging,
    ViewReading,
    WalkReading,
    PassKeeping,
    TendingTurns,
    Withdrawing,
    Clearing,
):
    """See `ricordo.ports.Writing`."""

    async def emit(self, event: Event) -> None:
        """See `ricordo.ports.Writing`."""
        await self._announce(event)

    async def audit(self, act: str, *, by: str, scope: Scope, subjects: Sequence[str]) -> None:
        """See `ricordo.ports.Writing`."""
        await self._change(
            "insert into audit (scope_id, at, act, done_by, subjects) values (%s, %s, %s, %s, %s)",
            await self._owned(scope),
            micros(self._clock()),
            act,
            by,
            dumps(tuple(subjects)),
        )

    async def erase(self, *, scope: Scope, at: datetime) -> Mapping[str, int]:
        """See `ricordo.ports.Writing`."""
        number = self._number(scope)
        self._numbers.pop(scope, None)
        removed = {} if number == NOWHERE else await self._clear(number)
        subject = subject_of(scope, self._secret)
        await self._remember_erasure(subject, number=number, at=at)
        if isinstance(scope, UserScope):
            known_as = UserScope(tenant=scope.tenant, user=subject)
            event = UserMemoryErased(id=new_id("e"), at=at, scope=known_as, subject=subject)
            await self._announce(event, erased=True)
        return removed
