"""Looking for damage: what must hold between rows, after the guards before them."""

from collections.abc import Sequence
from typing import Any

from ricordo.adapters.postgres.driving import Connection, perform
from ricordo.adapters.postgres.guards import check_guards
from ricordo.adapters.postgres.session import Ask
from ricordo.ports import Finding

_LARGEST = 5
"""Most rows that a problem names."""

_AT_ONCE = 1_000
"""Scopes looked at together."""

_INVALID = (
    "select c.relname from pg_index i join pg_class c on c.oid = i.indexrelid "
    "join pg_namespace n on n.oid = c.relnamespace "
    "where n.nspname = 'ricordo' and not (i.indisvalid and i.indisready)"
)

_RULES: tuple[tuple[str, str], ...] = (
    (
        "memories have an origin",
        "select id from memories m where not exists "
        "(select 1 from origins o where o.memory_row = m.row)",
    ),
    (
        "memories belong to a partition of their scope",
        "select m.id from memories m left join partitions p on p.id = m.partition_id "
        "where p.scope_id is distinct from m.scope_id or p.kind is distinct from m.kind "
        "or p.agent is distinct from case m.kind when 'preference' then m.agent else '' end",
    ),
    (
        "index rows belong to their memory and partition",
        "select i.memory_id from memory_index i left join memories m on m.row = i.memory_row "
        "where m.id is distinct from i.memory_id or m.scope_id is distinct from i.scope_id "
        "or m.partition_id is distinct from i.partition_id or i.place >> 32 <> i.partition_id",
    ),
    (
        "index rows show what their memory shows",
        "select i.memory_id from memory_index i join memories m on m.row = i.memory_row "
        "where (i.visible = 1) <> (m.status in ('active', 'superseded') "
        "and m.merged_into is null)",
    ),
    (
        "merged memories have one that stands for them",
        "select m.id from memories m where m.merged_into is not null and (m.status <> 'superseded' "
        "or not exists (select 1 from memories o "
        "where o.scope_id = m.scope_id and o.id = m.merged_into))",
    ),
    (
        "index rows have the size of their space",
        "select i.memory_id from memory_index i left join spaces s on s.id = i.space_id "
        "where length(i.vector) is distinct from 4 * s.dimension "
        "or length(i.terms) <> 4 * length(i.counts)",
    ),
    (
        "partitions count their rows",
        "select p.id from partitions p where p.size <> (select count(*) from memory_index i "
        "where i.scope_id = p.scope_id and i.partition_id = p.id and i.visible = 1 "
        "and i.space_id is not distinct from p.space_id)",
    ),
    (
        "generations cover their rows",
        "select p.id from partitions p where exists (select 1 from memory_index i where "
        "i.scope_id = p.scope_id and i.partition_id = p.id and i.generation > p.generation)",
    ),
    (
        "copies for searching are what was copied",
        "select s.memory_id from search_rows s left join memory_index i on i.place = s.place "
        "where (i.memory_id, i.scope_id, i.partition_id, i.space_id, i.visible, i.valid_from, "
        "i.valid_until, i.thread, i.said_at, i.recorded_at, i.length) is distinct from "
        "(s.memory_id, s.scope_id, s.partition_id, s.space_id, s.visible, s.valid_from, "
        "s.valid_until, s.thread, s.said_at, s.recorded_at, s.length)",
    ),
    (
        "partitions that are searched here are copied",
        "select i.memory_id from search_partitions f join memory_index i "
        "on i.place > f.partition_id << 32 and i.place <= "
        "case when f.filled then (f.partition_id + 1) << 32 else f.reached end "
        "where not exists (select 1 from search_rows s where s.place = i.place)",
    ),
    (
        "copies for searching are counted",
        "select t.partition_id from search_totals t where (t.shown, t.words) is distinct from "
        "(select (count(*), coalesce(sum(s.length), 0)::bigint) from search_rows s "
        "where s.partition_id = t.partition_id and s.space_id = t.space_id and s.visible = 1)",
    ),
    (
        "relations have evidence",
        "select id from relations r where not exists "
        "(select 1 from evidence v where v.relation_row = r.row)",
    ),
    (
        "relations name their evidence",
        "select id from relations r where r.supported_by is distinct from "
        "array(select memory_id from evidence where relation_row = r.row order by memory_row)",
    ),
    (
        "relations stay inside their scope",
        "select r.id from relations r join entities s on s.row = r.source_row "
        "join entities t on t.row = r.target_row "
        "where s.scope_id <> r.scope_id or t.scope_id <> r.scope_id "
        "union select r.id from relations r join evidence v on v.relation_row = r.row "
        "join memories m on m.row = v.memory_row where m.scope_id <> r.scope_id",
    ),
    (
        "relations end at entities that stand",
        "select r.id from relations r join entities e "
        "on e.row in (r.source_row, r.target_row) where e.merged_into is not null",
    ),
    (
        "entities have a name of their own",
        "select e.id from entities e where e.merged_into is null and not exists "
        "(select 1 from names n where n.entity_row = e.row and n.position = 0)",
    ),
    (
        "merged entities have their merge",
        "select e.id from entities e left join merges g on g.source_row = e.row "
        "where e.merged_into is distinct from g.target_row",
    ),
    (
        "jobs have what their state needs",
        "select id::text from queue where (state = 'leased') <> (lease is not null) "
        "or (state = 'parked') <> (parked_at is not null) "
        "or (sort = 'turn' and (state = 'done') <> (payload is null))",
    ),
    (
        "no scope has two leases",
        "select scope_id from queue where state = 'leased' group by scope_id "
        "having count(distinct lease) > 1",
    ),
)
"""What must hold, and the rows for which it does not."""


async def check(on: Connection, /) -> list[Finding]:
    """Every check with its result. Rows are looked at scope by scope, as any program sees them."""
    found = [
        *await check_guards(on),
        _finding("indexes are sound", await _values(on, _INVALID)),
    ]
    numbers = [row[0] for row in await _values(on, "select id from all_scopes()")]
    broken: dict[str, list[object]] = {rule: [] for rule, _ in _RULES}
    for first in range(0, len(numbers), _AT_ONCE):
        some = ",".join(map(str, numbers[first : first + _AT_ONCE]))
        await _values(on, "select set_config('ricordo.scope', %s, true)", some)
        for rule, sql in _RULES:
            broken[rule] += [row[0] for row in await _values(on, sql)]
    found += [_finding(rule, [(each,) for each in rows]) for rule, rows in broken.items()]
    return [*found, await _size(on, len(numbers))]


async def _size(on: Connection, scopes: int) -> Finding:
    counts = dict(await _values(on, "select place, count from count_rows()"))
    jobs = dict(await _values(on, "select state, count from count_jobs()"))
    return Finding(
        check="size",
        detail=f"{counts['memories']:,} memories in {scopes:,} scopes, "
        f"{counts['outbox']:,} events, {jobs.get('waiting', 0):,} jobs waiting",
    )


async def _values(on: Connection, sql: str, *values: object) -> Sequence[tuple[Any, ...]]:
    return (await perform(Ask(sql, values), on=on)).rows


def _finding(rule: str, broken: Sequence[tuple[object, ...]]) -> Finding:
    if not broken:
        return Finding(check=rule)
    more = ", ..." if len(broken) > _LARGEST else ""
    named = ", ".join(str(row[0]) for row in broken[:_LARGEST])
    return Finding(check=rule, problem=f"{len(broken)} do not: {named}{more}")
