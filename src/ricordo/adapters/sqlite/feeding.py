"""Builds of views outside: who feeds them, and how far they are."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from ricordo.adapters.sqlite.outbox import acknowledge, latest
from ricordo.columns.times import micros
from ricordo.errors import NotFound
from ricordo.ports import Mark, ViewBuild

_BUILD = "select view, number, sort, made_of, serving from view_builds"


def builds(connection: sqlite3.Connection) -> list[ViewBuild]:
    """Every build, by view and number."""
    return [_build(row) for row in connection.execute(f"{_BUILD} order by view, number")]


def enroll(
    connection: sqlite3.Connection, view: str, *, sort: str, made_of: str, now: datetime
) -> ViewBuild:
    """A new build, at the end of the outbox; the first of a view serves."""
    connection.execute(
        "insert into view_builds (view, sort, made_of, serving) values "
        "(?1, ?2, ?3, not exists (select 1 from view_builds where view = ?1 and serving = 1))",
        (view, sort, made_of),
    )
    build = _build(connection.execute(f"{_BUILD} order by number desc limit 1").fetchone())
    acknowledge(connection, build.consumer, latest(connection), now=now)
    return build


def serve(connection: sqlite3.Connection, build: ViewBuild) -> None:
    """Let it serve instead of the other one."""
    connection.execute("update view_builds set serving = 0 where view = ?", (build.view,))
    changed = connection.execute(
        "update view_builds set serving = 1 where view = ? and number = ?",
        (build.view, build.build),
    )
    if not changed.rowcount:
        raise NotFound(f"build {build.build} of view {build.view!a} was dismissed")


def dismiss(connection: sqlite3.Connection, build: ViewBuild) -> None:
    """Forget all about it."""
    connection.execute("delete from view_marks where build = ?", (build.build,))
    connection.execute("delete from view_builds where number = ?", (build.build,))
    connection.execute("delete from consumers where name = ?", (build.consumer,))


def elect(
    connection: sqlite3.Connection, build: ViewBuild, *, holder: str, at: datetime, seconds: float
) -> bool:
    """Take the office when it is free, ours, or was not kept up."""
    until = micros(at + timedelta(seconds=seconds))
    changed = connection.execute(
        "update view_builds set holder = ?, held_until = ? "
        "where number = ? and (holder is null or holder = ? or held_until <= ?)",
        (holder, until, build.build, holder, micros(at)),
    )
    return changed.rowcount == 1


def resign(connection: sqlite3.Connection, build: ViewBuild, *, holder: str) -> None:
    """Leave the office, if it is ours."""
    connection.execute(
        "update view_builds set holder = null, held_until = null where number = ? and holder = ?",
        (build.build, holder),
    )


def marks_of(
    connection: sqlite3.Connection, build: ViewBuild, marks: Sequence[Mark]
) -> Mapping[Mark, int]:
    """How far it is with these."""
    found = connection.execute(
        "select m.scope_key, m.part, m.mark from json_each(?) f cross join view_marks m "
        "on m.scope_key = json_extract(f.value, '$[0]') and m.build = ? "
        "and m.part = json_extract(f.value, '$[1]')",
        (json.dumps(marks), build.build),
    )
    return {(scope, part): mark for scope, part, mark in found}


def mark(connection: sqlite3.Connection, build: ViewBuild, marks: Mapping[Mark, int]) -> None:
    """Note how far it is; a build that was dismissed meanwhile is none any more."""
    connection.executemany(
        "insert into view_marks (build, scope_key, part, mark) "
        "select number, ?, ?, ? from view_builds where number = ? "
        "on conflict (scope_key, build, part) do update set mark = max(mark, excluded.mark)",
        [(scope, part, value, build.build) for (scope, part), value in marks.items()],
    )


def unmark(connection: sqlite3.Connection, build: ViewBuild, *, scope: str) -> None:
    """Note that it holds nothing of a scope."""
    connection.execute(
        "delete from view_marks where scope_key = ? and build = ?", (scope, build.build)
    )


def holding(connection: sqlite3.Connection, *, scope: str) -> list[ViewBuild]:
    """The builds that have marks of a scope."""
    found = connection.execute(
        f"{_BUILD} where number in (select build from view_marks where scope_key = ?) "
        "order by view, number",
        (scope,),
    )
    return [_build(row) for row in found]


def _build(row: tuple[str, int, str, str, int]) -> ViewBuild:
    view, number, sort, made_of, serving = row
    return ViewBuild(view=view, build=number, sort=sort, made_of=made_of, serving=bool(serving))
