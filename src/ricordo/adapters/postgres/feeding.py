"""Builds of views outside: who feeds them, and how far they are. Each call is one statement."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask
from ricordo.columns.times import micros
from ricordo.errors import NotFound
from ricordo.ports import Mark, ViewBuild

_BUILD = "select view, number, sort, made_of, serving from view_builds"


async def builds(on: Connection, /) -> list[ViewBuild]:
    """Every build, by view and number."""
    return [_build(row) for row in await _rows(on, f"{_BUILD} order by view, number")]


async def enroll(on: Connection, view: str, /, *, sort: str, made_of: str) -> ViewBuild:
    """A new build, at the end of the outbox; the first of a view serves."""
    [row] = await _rows(on, "select * from enroll_build(%s, %s, %s)", view, sort, made_of)
    return _build(row)


async def serve(on: Connection, build: ViewBuild, /) -> None:
    """Let it serve instead of the other one."""
    [(served,)] = await _rows(on, "select serve_build(%s, %s)", build.view, build.build)
    if not served:
        raise NotFound(f"build {build.build} of view {build.view!a} was dismissed")


async def dismiss(on: Connection, build: ViewBuild, /) -> None:
    """Forget all about it."""
    await _rows(on, "select dismiss_build(%s, %s)", build.view, build.build)


async def elect(
    on: Connection, build: ViewBuild, /, *, holder: str, at: datetime, seconds: float
) -> bool:
    """Take the office when it is free, ours, or was not kept up."""
    sql = (
        "update view_builds set holder = %s, held_until = %s "
        "where number = %s and (holder is null or holder = %s or held_until <= %s)"
    )
    until = micros(at + timedelta(seconds=seconds))
    values = (holder, until, build.build, holder, micros(at))
    return (await perform(Ask(sql, values), on=on)).changed == 1


async def resign(on: Connection, build: ViewBuild, /, *, holder: str) -> None:
    """Leave the office, if it is ours."""
    sql = (
        "update view_builds set holder = null, held_until = null where number = %s and holder = %s"
    )
    await perform(Ask(sql, (build.build, holder)), on=on)


async def marks_of(
    on: Connection, build: ViewBuild, marks: Sequence[Mark], /
) -> Mapping[Mark, int]:
    """How far it is with these."""
    found = await _rows(
        on,
        "select m.scope_key, m.part, m.mark from unnest(%s::text[], %s::text[]) f (scope, part) "
        "join view_marks m on m.scope_key = f.scope and m.build = %s and m.part = f.part",
        [scope for scope, _ in marks],
        [part for _, part in marks],
        build.build,
    )
    return {(scope, part): mark for scope, part, mark in found}


async def mark(on: Connection, build: ViewBuild, marks: Mapping[Mark, int], /) -> None:
    """Note how far it is; a build that was dismissed meanwhile is none any more."""
    sql = (
        "insert into view_marks as m (build, scope_key, part, mark) "
        "select b.number, f.* from unnest(%s::text[], %s::text[], %s::bigint[]) f "
        "join view_builds b on b.number = %s on conflict (scope_key, build, part) "
        "do update set mark = greatest(m.mark, excluded.mark)"
    )
    keys = list(marks)
    columns = ([scope for scope, _ in keys], [part for _, part in keys], list(marks.values()))
    await perform(Ask(sql, (*columns, build.build)), on=on)


async def unmark(on: Connection, build: ViewBuild, /, *, scope: str) -> None:
    """Note that it holds nothing of a scope."""
    sql = "delete from view_marks where scope_key = %s and build = %s"
    await perform(Ask(sql, (scope, build.build)), on=on)


async def holding(on: Connection, /, *, scope: str) -> list[ViewBuild]:
    """The builds that have marks of a scope."""
    found = await _rows(
        on,
        f"{_BUILD} where number in (select build from view_marks where scope_key = %s) "
        "order by view, number",
        scope,
    )
    return [_build(row) for row in found]


async def _rows(on: Connection, sql: str, /, *values: Any) -> list[Any]:
    return (await perform(Ask(sql, values), on=on)).rows


def _build(row: tuple[str, int, str, str, bool]) -> ViewBuild:
    view, number, sort, made_of, serving = row
    return ViewBuild(view=view, build=number, sort=sort, made_of=made_of, serving=serving)
