"""Events on their way out. Written with what they announce, numbered once that is committed."""

from datetime import datetime, timedelta

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask, Session
from ricordo.columns.announced import event_from, reader_from, retired
from ricordo.columns.codec import dumps
from ricordo.columns.times import micros
from ricordo.errors import Conflict, NotFound
from ricordo.events import Event
from ricordo.ports import QUIET, Reader


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


async def acknowledge(on: Connection, consumer: str, reached: int, /, *, now: datetime) -> None:
    """Remember how far a consumer is; a late, lower acknowledgement changes nothing."""
    sql = (
        "insert into consumers as c (name, position, seen) values (%s, %s, %s) on conflict (name) "
        "do update set position = greatest(c.position, excluded.position), seen = excluded.seen "
        "where c.retired_at is null"
    )
    if not (await perform(Ask(sql, (consumer, reached, micros(now))), on=on)).changed:
        raise retired(consumer)


async def readers(on: Connection, /) -> list[Reader]:
    """Every consumer, by name."""
    await perform(Ask("select number_events()", ()), on=on)
    sql = (
        "select r.*, (select max(h.held_until) from ("
        "select held_until from offices o where o.name = r.name and o.holder is not null union all "
        "select held_until from view_builds v where 'view:' || v.view || '#' || v.number = r.name "
        "and v.holder is not null) h) from list_readers() r"
    )
    return [reader_from(*row) for row in (await perform(Ask(sql, ()), on=on)).rows]


async def retire(on: Connection, consumer: str, /, *, at: datetime) -> None:
    """Wait for it no more, unless it is at work."""
    values = consumer, micros(at), micros(at - timedelta(seconds=QUIET))
    found = await perform(Ask("select retire_reader(%s, %s, %s)", values), on=on)
    done = found.rows[0][0]
    if done is None:
        raise NotFound(f"nobody reads events as {consumer[:80]!a}")
    if not done:
        raise Conflict(f"{consumer!a} is at work; end it first, and wait a minute")


async def readmit(on: Connection, consumer: str, /, *, now: datetime) -> int | None:
    """Wait for it again; how many events it never had."""
    sql = (
        "with was as (select name, missed from consumers "
        "where name = %s and retired_at is not null for update) "
        "update consumers c set retired_at = null, missed = 0, seen = %s from was "
        "where c.name = was.name returning was.missed"
    )
    found = await perform(Ask(sql, (consumer, micros(now))), on=on)
    return found.rows[0][0] if found.rows else None


async def prune(on: Connection, /, *, before: datetime, limit: int) -> int:
    """Remove old events that nobody waits for."""
    found = await perform(Ask("select prune_events(%s, %s)", (micros(before), limit)), on=on)
    return found.rows[0][0]
