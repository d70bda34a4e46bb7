"""Every place that can hold something of a scope: what an erasure clears and its scan counts."""

from collections.abc import Mapping

from ricordo.adapters.postgres.session import Session

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
    "search_rows",
    "search_totals",
    "search_partitions",
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
    {
        "meta",
        "spaces",
        "consumers",
        "offices",
        "erasures",
        "outbox_end",
        "alembic_version",
        "view_builds",
        "view_marks",
    }
)
"""Tables that hold nothing of any scope, or only its keyed hash."""


def _column(place: str) -> str:
    return "id" if place == "scopes" else "scope_id"


_COUNTS = " union all ".join(
    f"select '{place}', count(*) from {place} where {_column(place)} = any(seen())"
    for place in sorted(PLACES)
)


class Clearing(Session):
    """Clears a scope, and counts what is left of one."""

    async def _clear(self, number: int) -> dict[str, int]:
        """Remove every row of a scope. Returns rows removed by place."""
        removed = {
            place: await self._change(f"delete from {place} where {_column(place)} = %s", number)
            for place in PLACES
        }
        return {place: count for place, count in removed.items() if count}

    async def count_former(self, subject: str) -> Mapping[str, int]:
        """Rows by place, of the scopes that this transaction entered and of those that an erased
        scope, by its hash, was before."""
        await self._rows(
            "select set_config('ricordo.scope', concat_ws(',', nullif("
            "current_setting('ricordo.scope', true), ''), (select string_agg(former_id::text, ',') "
            "from erasures where subject = %s)), true)",
            subject,
        )
        return dict(await self._rows_named(_COUNTS, {}))
