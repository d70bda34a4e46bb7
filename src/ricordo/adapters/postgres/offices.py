"""Who holds an office, and in which term. Each call is one statement."""

from datetime import datetime, timedelta

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.times import micros


async def hold(
    on: Connection, office: str, /, *, holder: str, at: datetime, seconds: float
) -> int | None:
    """Take the office when it is free, ours, or was not kept up; its term."""
    sql = (
        "insert into offices as o (name, holder, term, held_until) values (%s, %s, 1, %s) "
        "on conflict (name) do update set "
        "term = o.term + (o.holder is distinct from excluded.holder)::int, "
        "holder = excluded.holder, held_until = excluded.held_until "
        "where o.holder is null or o.holder = excluded.holder or o.held_until <= %s "
        "returning o.term"
    )
    until = micros(at + timedelta(seconds=seconds))
    found = await perform(Ask(sql, (office, holder, until, micros(at))), on=on)
    return found.rows[0][0] if found.rows else None


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
