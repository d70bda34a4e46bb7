"""Every place that can hold something of a scope: what an erasure clears and its scan counts."""

import sqlite3
from collections.abc import Mapping, Sequence

from ricordo.adapters.sqlite.session import as_list

PLACES = (
    "pass_steps",
    "merge_proposals",
    "passes",
    "tending",
    "evidence",
    "relation_origins",
    "merge_relations",
    "merge_names",
    "merges",
    "relations",
    "names",
    "entities",
    "removed_rows",
    "memory_index",
    "origins",
    "revisions",
    "memories",
    "refusals",
    "queue",
    "outbox",
    "graph_changes",
    "audit",
    "partitions",
    "scopes",
)
"""Tables in the order in which they can be cleared: what refers to others goes first."""

SCOPELESS = frozenset(
    {"meta", "spaces", "consumers", "offices", "erasures", "view_builds", "view_marks"}
)
"""Tables that hold nothing of any scope, or only its keyed hash."""


def _column(place: str) -> str:
    return "id" if place == "scopes" else "scope_id"


def clear(connection: sqlite3.Connection, number: int) -> dict[str, int]:
    """Remove every row of a scope. Returns rows removed by place."""
    removed = {
        place: connection.execute(
            f"delete from {place} where {_column(place)} = ?", (number,)
        ).rowcount
        for place in PLACES
    }
    return {place: count for place, count in removed.items() if count}


def count_all(connection: sqlite3.Connection) -> Mapping[str, int]:
    """Rows by place, of all scopes."""
    return {
        place: connection.execute(f"select count(*) from {place}").fetchone()[0]
        for place in sorted(PLACES)
    }


def count_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> Mapping[str, int]:
    """Rows by place, of the scopes that have or had these numbers."""
    listed = as_list(numbers)
    return {
        place: connection.execute(
            f"select count(*) from {place} "
            f"where {_column(place)} in (select value from json_each(?))",
            (listed,),
        ).fetchone()[0]
        for place in sorted(PLACES)
    }
