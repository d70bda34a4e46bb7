"""Who holds an office, and in which term. Each call is one statement."""

from datetime import datetime, timedelta

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.offices import Seen
from ricordo.columns.times import micros


async def hold(
    on: Connection, office: str, /, *, holder: str, at: datetime, seconds: float, seen: Seen
) -> int | None:
    """Take the office when it is free, ours, or was not kept up; its term."""
    # What it returns besides is of before: of somebody else's lease, where that was kept.
    sql = (
        "with tried as (insert into offices as o (name, holder, term, held_until) "
        "values (%s, %s, 1, %s) on conflict (name) do update set "
        "term = o.term + (o.holder is distinct from excluded.holder)::int, "
        "holder = excluded.holder, held_until = excluded.held_until "
        "where o.holder is null or o.holder = excluded.holder or o.held_until <= %s "
        "or o.held_until = %s returning term) select (select term from tried), "
        "(select held_until from offices where name = %s)"
    )
    now, until = micros(at), micros(at + timedelta(seconds=seconds))
    stale = seen.stale(office, now=now, lasts=until - now)
    found = await perform(Ask(sql, (office, holder, until, now, stale, office)), on=on)
    term, theirs = found.rows[0]
    seen.note(office, until=theirs if term is None else None, now=now)
    return term


async def vacate(on: Connection, office: str, /, *, holder: str) -> None:
    """Leave the office, if it is ours."""
    sql = "update offices set holder = null where name = %s and holder = %s"
    await perform(Ask(sql, (office, holder)), on=on)


async def report(
    on: Connection, office: str, /, *, position: int, term: int, now: datetime
) -> bool:
    """Remember how far the office's consumer is, in its newest term."""
    # Locked, so that no term can begin between the look and the change.
    sql = (
        "with mine as (select name from offices "
        "where name = %s and term = %s and holder is not null for share) "
        "insert into consumers as c (name, position, seen) select name, %s, %s from mine "
        "on conflict (name) do update set position = greatest(c.position, excluded.position), "
        "seen = excluded.seen where c.retired_at is null"
    )
    return (await perform(Ask(sql, (office, term, position, micros(now))), on=on)).changed == 1
