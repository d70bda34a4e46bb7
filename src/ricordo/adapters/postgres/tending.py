"""Whose memory is consolidated next: one pass per person at a time, and persons take turns."""

from datetime import datetime, timedelta

from ricordo.adapters.postgres.session import Session
from ricordo.columns.scopes import NOWHERE
from ricordo.columns.times import EARLIEST, micros
from ricordo.errors import Conflict
from ricordo.model import Lease, Scope, UserScope, new_id


class TendingTurns(Session):
    """Leases one person's memory."""

    async def tend(
        self, *, scope: Scope, at: datetime, every: float, seconds: float
    ) -> Lease | None:
        """Lease the scope, and note that its pass begins, if that is due and nobody else has it."""
        number = self._number(scope)
        if number == NOWHERE or not isinstance(scope, UserScope):
            return None
        if not await self._due_to_tend(number, at=at, every=every):
            return None
        lease = Lease(scope=scope, token=new_id("l"), seconds=seconds)
        await self._change(
            "insert into tending (scope_id, began_at, lease, lease_until) values (%s, %s, %s, %s) "
            "on conflict (scope_id) do update set began_at = excluded.began_at, "
            "lease = excluded.lease, lease_until = excluded.lease_until",
            number,
            micros(at),
            lease.token,
            micros(at + timedelta(seconds=seconds)),
        )
        return lease

    async def hold(self, lease: Lease, *, scope: Scope) -> None:
        """See `ricordo.ports.Writing`."""
        now = self._clock()
        held = await self._change(
            "update tending set lease_until = %s "
            "where scope_id = %s and lease = %s and lease_until > %s",
            micros(now + timedelta(seconds=lease.seconds)),
            self._number(scope),
            lease.token,
            micros(now),
        )
        if held == 0:
            raise Conflict(
                f"the lease {lease.token} was lost; another worker consolidates, or will"
            )

    async def release(self, lease: Lease) -> None:
        """Give a lease back."""
        await self._change(
            "update tending set lease = null, lease_until = null "
            "where scope_id = %s and lease = %s",
            self._number(lease.scope),
            lease.token,
        )

    async def _due_to_tend(self, number: int, *, at: datetime, every: float) -> bool:
        began, until, first = await self._row(
            "select (select began_at from tending where scope_id = %s), "
            "(select lease_until from tending where scope_id = %s), "
            "(select min(recorded_at) from memories where scope_id = %s)",
            number,
            number,
            number,
        )
        since = first if began is None else began
        free = (EARLIEST if until is None else until) <= micros(at)
        return free and since is not None and since <= micros(at - timedelta(seconds=every))
