"""What guards rows in the server, and whether it is as it was made."""

import re
from functools import cache
from importlib.resources import files

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.session import Ask
from ricordo.ports import Finding

_INIT = "`ricordo init --postgres` puts back what it made"

_CREATED = re.compile(r"^create (?:or replace )?function (\w+)\(", re.MULTILINE)

_UNGUARDED = (
    "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
    "where n.nspname = 'ricordo' and c.relkind = 'r' and (c.relname = 'scopes' or exists "
    "(select 1 from pg_attribute a where a.attrelid = c.oid and a.attname = 'scope_id' "
    "and not a.attisdropped)) and (not (c.relrowsecurity and c.relforcerowsecurity) "
    "or not exists (select 1 from pg_policies p where p.schemaname = 'ricordo' "
    "and p.tablename = c.relname and p.policyname = 'entered')) order by 1"
)
_LOOSE = (
    "select p.tablename || '.' || p.policyname from pg_policies p where p.schemaname = 'ricordo' "
    "and exists (select 1 from unnest(p.roles) r where r = 'public' "
    "or (r in (select rolname from pg_roles) and pg_has_role(r, 'member'))) "
    "and not (p.policyname = 'entered' and p.permissive = 'PERMISSIVE' and p.with_check is null "
    "and p.qual like '(' || case p.tablename when 'scopes' then 'id' else 'scope_id' end "
    "|| ' = ANY (%%seen()%%)') "
    "and not (p.tablename = 'outbox' and p.policyname = 'erased' and p.cmd = 'INSERT' "
    "and p.with_check = '(scope_id IS NULL)') order by 1"
)
_LACKING = (
    "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
    "join pg_attribute a on a.attrelid = c.oid and a.attname = 'scope_id' and not a.attisdropped "
    "where n.nspname = 'ricordo' and c.relkind = 'r' and not (has_table_privilege(c.oid, 'select') "
    "and has_table_privilege(c.oid, 'insert') and has_table_privilege(c.oid, 'update') "
    "and has_table_privilege(c.oid, 'delete')) order by 1"
)
_FUNCTIONS = (
    "select p.proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace "
    "where n.nspname = 'ricordo'"
)


@cache
def functions() -> frozenset[str]:
    """Names of all functions that the schema's steps make."""
    folder = files("ricordo.adapters.postgres").joinpath("migrations")
    steps = (file.read_text("utf-8") for file in folder.iterdir() if file.name.endswith(".sql"))
    return frozenset(name for step in steps for name in _CREATED.findall(step))


async def check_guards(on: Connection, /) -> list[Finding]:
    """Whether every row is guarded, nothing loosens that, and nothing was taken from a program."""
    there = {row[0] for row in await _rows(on, _FUNCTIONS)}
    missing = [(name,) for name in sorted(functions() - there)]
    return [
        _finding("rows are guarded by scope", await _rows(on, _UNGUARDED), f"not guarded; {_INIT}"),
        _finding("no other rule shows rows", await _rows(on, _LOOSE), f"drop it; {_INIT}"),
        _finding("the program may use its tables", await _rows(on, _LACKING), f"lost; {_INIT}"),
        _finding("the schema has its functions", missing, "missing; restore it from a backup"),
    ]


async def _rows(on: Connection, sql: str) -> list[tuple[str, ...]]:
    return list((await perform(Ask(sql, ()), on=on)).rows)


def _finding(rule: str, found: list[tuple[str, ...]], remedy: str) -> Finding:
    named = ", ".join(row[0] for row in found)
    return Finding(check=rule, problem=f"{named}: {remedy}" if found else None)
