"""Events on their way out. Written with what they announce, numbered once that is committed."""

from datetime import datetime

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask, Session
from ricordo.columns.announced import event_from
from ricordo.columns.codec import dumps
from ricordo.columns.times import micros
from ricordo.events import Event


class Announcing(Session):
    """Adds events to the outbox."""

    async def _announce(self, event: Event, *, erased: bool = False) -> None:
        """Add an event.

        Args:
            erased: its scope is no scope of this ledger any more; so it belongs to none, and stays.
        """
        await self._change(
            "insert into outbox (scope_id, kind, payload) values (%s, %s, %s)",
            None if erased else await self._owned(event.scope),
            type(event).__name__,
            dumps(event) if erased else dumps(event, without="scope"),
        )


async def announced(on: Connection, /, *, after: int, limit: int) -> list[tuple[int, Event]]:
    """Events above a position, in order."""
    await perform(Ask("select number_events()", ()), on=on)
    found = await perform(Ask("select * from announced_events(%s, %s)", (after, limit)), on=on)
    return [(row[0], event_from(*row)) for row in found.rows]


async def latest(on: Connection, /) -> int:
    """Position of the newest event, even if it was erased since; 0 without any."""
    await perform(Ask("select number_events()", ()), on=on)
    return (await perform(Ask("select latest_event()", ()), on=on)).rows[0][0]


async def position(on: Connection, consumer: str, /) -> int | None:
    """How far a consumer has acknowledged."""
    found = await perform(Ask("select position from consumers where name = %s", (consumer,)), on=on)
    return found.rows[0][0] if found.rows else None


async def acknowledge(on: Connection, consumer: str, reached: int, /) -> None:
    """Remember how far a consumer is; a late, lower acknowledgement changes nothing."""
    sql = (
        "insert into consumers as c (name, position) values (%s, %s) on conflict (name) "
        "do update set position = greatest(c.position, excluded.position)"
    )
    await perform(Ask(sql, (consumer, reached)), on=on)


async def prune(on: Connection, /, *, before: datetime, limit: int) -> int:
    """Remove old events that nobody waits for."""
    found = await perform(Ask("select prune_events(%s, %s)", (micros(before), limit)), on=on)
    return found.rows[0][0]
