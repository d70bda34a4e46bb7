"""Looking for damage: the engine's own checks, and what must hold between rows."""

import sqlite3
from collections.abc import Iterable

from ricordo.ports import Finding

_LARGEST = 5
"""Most rows that a problem names."""

_RULES: tuple[tuple[str, str], ...] = (
    (
        "memories have an origin",
        "select id from memories m where not exists "
        "(select 1 from origins o where o.memory_row = m.row)",
    ),
    (
        "memories belong to a partition of their scope",
        "select m.id from memories m left join partitions p on p.id = m.partition_id "
        "where p.scope_id is not m.scope_id or p.kind is not m.kind "
        "or p.agent is not case m.kind when 'preference' then m.agent else '' end",
    ),
    (
        "index rows belong to their memory and partition",
        "select i.memory_id from memory_index i left join memories m on m.row = i.memory_row "
        "where m.id is not i.memory_id or m.scope_id is not i.scope_id "
        "or m.partition_id is not i.partition_id or i.place >> 32 <> i.partition_id",
    ),
    (
        "index rows show what their memory shows",
        "select i.memory_id from memory_index i join memories m on m.row = i.memory_row "
        "where i.visible <> (m.status in ('active', 'superseded') and m.merged_into is null)",
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
        "where length(i.vector) is not 4 * s.dimension or length(i.terms) <> 4 * length(i.counts)",
    ),
    (
        "partitions count their rows",
        "select p.id from partitions p where p.size <> (select count(*) from memory_index i "
        "where i.scope_id = p.scope_id and i.partition_id = p.id and i.visible = 1 "
        "and i.space_id is p.space_id)",
    ),
    (
        "generations cover their rows",
        "select p.id from partitions p where exists (select 1 from memory_index i where "
        "i.scope_id = p.scope_id and i.partition_id = p.id and i.generation > p.generation)",
    ),
    (
        "relations have evidence",
        "select id from relations r where not exists "
        "(select 1 from evidence v where v.relation_row = r.row)",
    ),
    (
        "relations name their evidence",
        "select id from relations r where r.supported_by is not (select group_concat(memory_id, "
        "char(0)) from (select memory_id from evidence where relation_row = r.row "
        "order by memory_row))",
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
        "where e.merged_into is not g.target_row",
    ),
    (
        "jobs have what their state needs",
        "select id from queue where (state = 'leased') <> (lease is not null) "
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


def check(connection: sqlite3.Connection) -> list[Finding]:
    """Every check with its result."""
    damage = _first(connection.execute(f"pragma integrity_check({_LARGEST})"))
    found = [Finding(check="the file is sound", problem=None if damage == "ok" else damage)]
    dangling = [row[0] for row in connection.execute("pragma foreign_key_check")]
    found.append(
        Finding(
            check="references lead somewhere",
            problem=f"{len(dangling)} rows of {_first_few(sorted(set(dangling)))}"
            if dangling
            else None,
        )
    )
    for rule, sql in _RULES:
        broken = [row[0] for row in connection.execute(sql)]
        problem = f"{len(broken)} do not: {_first_few(broken)}" if broken else None
        found.append(Finding(check=rule, problem=problem))
    return [*found, _size(connection)]


def _size(connection: sqlite3.Connection) -> Finding:
    memories, scopes, events, waiting = connection.execute(
        "select (select count(*) from memories), (select count(*) from scopes), "
        "(select count(*) from outbox), (select count(*) from queue where state = 'waiting')"
    ).fetchone()
    return Finding(
        check="size",
        detail=f"{memories:,} memories in {scopes:,} scopes, {events:,} events, "
        f"{waiting:,} jobs waiting",
    )


def _first(rows: Iterable[tuple[str]]) -> str:
    return "; ".join(row[0] for row in rows)


def _first_few(values: list[int] | list[str]) -> str:
    more = ", ..." if len(values) > _LARGEST else ""
    return ", ".join(str(value) for value in values[:_LARGEST]) + more
