"""Removing memories with everything that was derived from them, set by set."""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ricordo.adapters.sqlite.session import as_numbers
from ricordo.columns.origins import COLUMNS as ORIGIN_COLUMNS

_IN = "(select value from json_each(?))"


def remove_memories(
    connection: sqlite3.Connection,
    rows: Sequence[int],
    *,
    scope: int,
    survivors: Sequence[int] = (),
) -> dict[str, int]:
    """Remove these rows of `memories` (all of one scope; their index rows are gone already).

    Args:
        survivors: rows that stand for some of them; their relations lose the origins of what goes.

    Returns rows removed by place.
    """
    listed = as_numbers(rows)
    removed: dict[str, int] = defaultdict(int)

    def delete(table: str, where: str, *values: Any) -> None:
        removed[table] += connection.execute(f"delete from {table} where {where}", values).rowcount

    refusals = _refusals(connection, listed, scope)
    affected = _column(
        connection,
        "select distinct v.relation_row from json_each(?) f "
        "cross join evidence v on v.memory_row = f.value",
        listed,
    )
    delete("pass_steps", f"memory_row in {_IN}", listed)
    delete("pass_steps", f"other_row in {_IN}", listed)
    delete("evidence", f"memory_row in {_IN}", listed)
    unsupported = _column(
        connection,
        "select f.value from json_each(?) f "
        "where not exists (select 1 from evidence v where v.relation_row = f.value)",
        as_numbers(affected),
    )
    kept = sorted(set(affected) - set(unsupported))
    connection.execute(
        "update relations set supported_by = (select group_concat(memory_id, char(0)) from ("
        "select memory_id from evidence where relation_row = relations.row order by memory_row)) "
        f"where row in {_IN}",
        (as_numbers(kept),),
    )
    inherited = _column(
        connection,
        f"select distinct relation_row from evidence where memory_row in {_IN}",
        as_numbers(survivors),
    )
    dropped = _drop_origins(connection, listed, sorted({*kept, *inherited}))
    removed["relation_origins"] += dropped
    for place, count in remove_relations(connection, unsupported).items():
        removed[place] += count
    delete("refusals", f"row in {_IN}", as_numbers(refusals))
    delete("origins", f"memory_row in {_IN}", listed)
    delete("revisions", f"memory_row in {_IN}", listed)
    delete(
        "queue",
        "scope_id = ? and sort = 'relate' and exists (select 1 from memories m "
        f"where m.scope_id = queue.scope_id and m.id = queue.memory_id and m.row in {_IN})",
        scope,
        listed,
    )
    delete("memories", f"row in {_IN}", listed)
    return dict(removed)


def remove_relations(connection: sqlite3.Connection, rows: Sequence[int]) -> dict[str, int]:
    """Remove relations, and the entities that lose their last one with them."""
    listed = as_numbers(rows)
    removed: dict[str, int] = {}
    ends = _column(
        connection,
        f"select source_row from relations where row in {_IN} "
        f"union select target_row from relations where row in {_IN}",
        listed,
        listed,
    )
    removed["pass_steps"] = _delete(connection, "pass_steps", "relation_row", listed)
    removed["pass_steps"] += _delete(connection, "pass_steps", "rival_row", listed)
    for table in ("merge_relations", "relation_origins", "evidence"):
        removed[table] = _delete(connection, table, "relation_row", listed)
    removed["relations"] = _delete(connection, "relations", "row", listed)
    return removed | _remove_lonely(connection, ends)


def _remove_lonely(connection: sqlite3.Connection, ends: Sequence[int]) -> dict[str, int]:
    """Remove those entities that have no relation, and what was merged into them."""
    lonely = _column(
        connection,
        "select f.value from json_each(?) f "
        "where not exists (select 1 from relations r where r.source_row = f.value) "
        "and not exists (select 1 from relations r where r.target_row = f.value)",
        as_numbers(ends),
    )
    # What stands for merged entities takes them along, however long the chain of merges is.
    with_merged = as_numbers(
        _column(
            connection,
            "with recursive gone (row) as (select value from json_each(?) union "
            "select e.row from gone join entities e on e.merged_into = gone.row) "
            "select row from gone order by row",
            as_numbers(lonely),
        )
    )
    merges = as_numbers(
        _column(
            connection,
            f"select row from merges where source_row in {_IN} union "
            f"select row from merges where target_row in {_IN}",
            with_merged,
            with_merged,
        )
    )
    proposals = sum(
        _delete(connection, "merge_proposals", end, with_merged)
        for end in ("source_row", "target_row")
    )
    removed = {
        "merge_proposals": proposals,
        "merge_names": _delete(connection, "merge_names", "merge_row", merges),
        "merge_relations": _delete(connection, "merge_relations", "merge_row", merges),
        "merges": _delete(connection, "merges", "row", merges),
        "names": _delete(connection, "names", "entity_row", with_merged),
    }
    connection.execute(f"update entities set merged_into = null where row in {_IN}", (with_merged,))
    removed["entities"] = _delete(connection, "entities", "row", with_merged)
    return removed


def _refusals(connection: sqlite3.Connection, listed: str, scope: int) -> list[int]:
    """Refusals that came from the same turn, or the same statement, as one of these memories."""
    return _column(
        connection,
        "select distinct r.row from json_each(?) f cross join origins o on o.memory_row = f.value "
        "cross join refusals r on r.scope_id = ? and r.thread_id is o.thread_id "
        "and r.run_id is o.run_id and (r.run_id is not null "
        "or (r.origin_at = o.at and r.agent is o.agent))",
        listed,
        scope,
    )


def _drop_origins(connection: sqlite3.Connection, listed: str, kept: Sequence[int]) -> int:
    """From relations that stay, drop the origins that only the removed memories had."""
    if not kept:
        return 0
    going = _origins(
        connection,
        f"select null, {ORIGIN_COLUMNS} from json_each(?) f "
        "cross join origins o on o.memory_row = f.value",
        listed,
    )
    staying = _origins(
        connection,
        f"select v.relation_row, {ORIGIN_COLUMNS} from json_each(?) f "
        "cross join evidence v on v.relation_row = f.value "
        "cross join origins o on o.memory_row = v.memory_row",
        as_numbers(kept),
    )
    lost: list[int] = []
    for row, relation, *origin in connection.execute(
        f"select o.row, o.relation_row, {ORIGIN_COLUMNS} from json_each(?) f "
        "cross join relation_origins o on o.relation_row = f.value",
        (as_numbers(kept),),
    ):
        if tuple(origin) in going[None] and tuple(origin) not in staying[relation]:
            lost.append(row)
    return _delete(connection, "relation_origins", "row", as_numbers(lost))


def _origins(
    connection: sqlite3.Connection, sql: str, listed: str
) -> dict[int | None, set[tuple[Any, ...]]]:
    found: dict[int | None, set[tuple[Any, ...]]] = defaultdict(set)
    for key, *origin in connection.execute(sql, (listed,)):
        found[key].add(tuple(origin))
    return found


def _column(connection: sqlite3.Connection, sql: str, *values: Any) -> list[int]:
    return [row[0] for row in connection.execute(sql, values)]


def _delete(connection: sqlite3.Connection, table: str, column: str, listed: str) -> int:
    return connection.execute(f"delete from {table} where {column} in {_IN}", (listed,)).rowcount
