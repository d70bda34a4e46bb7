"""The tables that make up a ledger, in the order in which they can be filled anew."""

from collections.abc import Sequence

from ricordo.ports.moving import Table

_ORIGIN = (
    "position",
    "at",
    "agent",
    "thread_id",
    "display_id",
    "run_id",
    "author",
    "message_ids",
    "quote",
)


def _table(
    name: str,
    columns: str,
    *more: str,
    key: str = "row",
    scope: str | None = "scope_id",
    shown: str | None = None,
    late: str = "",
) -> Table:
    return Table(
        name=name,
        columns=(*columns.split(), *more),
        key=tuple(key.split()),
        scope=scope,
        shown=tuple((shown or key).split()),
        late=tuple(late.split()),
    )


MOVED: tuple[Table, ...] = (
    _table("scopes", "id kind tenant owner served", key="id", scope="id"),
    _table("spaces", "id model dimension transform words", key="id", scope=None),
    _table(
        "partitions",
        "id scope_id kind agent space_id generation listed_since next_place size",
        key="id",
    ),
    _table(
        "memories",
        "row id scope_id partition_id kind agent text digest status source recorded_at updated_at "
        "valid_from valid_until expires_at confidence importance sensitivity pinned recalls "
        "last_recalled_at version pending reasons replaces prompt model demoted_at merged_into",
        shown="id",
    ),
    _table("revisions", "row scope_id memory_row version text replaced_at changed_by"),
    _table("origins", "row scope_id memory_row", *_ORIGIN),
    _table(
        "memory_index",
        "place memory_row memory_id scope_id partition_id space_id generation visible valid_from "
        "valid_until length vector terms counts thread said_at recorded_at",
        key="place",
        shown="memory_id",
    ),
    _table(
        "removed_rows",
        "scope_id partition_id generation memory_id",
        key="scope_id partition_id generation memory_id",
    ),
    _table(
        "entities",
        "row id scope_id name type recorded_at merged_into",
        shown="id",
        late="merged_into",
    ),
    _table(
        "names",
        "scope_id key entity_row name position",
        key="scope_id key",
        shown="entity_row position",
    ),
    _table(
        "relations",
        "row id scope_id source_row target_row type recorded_at valid_from valid_until closed_at "
        "confidence supported_by",
        shown="id",
    ),
    _table(
        "evidence",
        "relation_row memory_row scope_id memory_id",
        key="relation_row memory_row",
    ),
    _table("relation_origins", "row scope_id relation_row", *_ORIGIN),
    _table("merges", "row id scope_id source_row target_row at", shown="id"),
    _table(
        "merge_names",
        "merge_row key scope_id name position",
        key="merge_row key",
        shown="merge_row position",
    ),
    _table(
        "merge_relations",
        "merge_row relation_row scope_id at_source at_target valid_until closed_at",
        key="merge_row relation_row",
    ),
    _table(
        "refusals",
        "row id scope_id at rule reason claim text origin origin_at agent thread_id run_id",
        shown="id",
    ),
    _table(
        "queue",
        "id scope_id sort state thread_id run_id memory_id at queued_at not_before attempts lease "
        "lease_until payload reason parked_at",
        key="id",
    ),
    _table("outbox", "position scope_id kind payload", key="position"),
    _table("consumers", "name position seen retired_at missed", key="name", scope=None),
    _table("audit", "row scope_id at act done_by subjects"),
    _table(
        "erasures",
        "subject scope_id erased_at",
        key="subject scope_id",
        scope=None,
    ),
    _table("passes", "row id scope_id at done_by undone_at", shown="id"),
    _table(
        "pass_steps",
        "row scope_id pass_row act memory_row other_row relation_row rival_row proposal_id changes",
    ),
    _table(
        "merge_proposals",
        "row id scope_id source_row target_row reason at pass_row rejected",
        shown="id",
    ),
    _table("tending", "scope_id began_at lease lease_until", key="scope_id"),
    # Last, for while there is a graph view, rows of the graph are noted in `graph_changes`.
    _table(
        "view_builds",
        "number view sort made_of serving holder held_until",
        key="number",
        scope=None,
    ),
    _table(
        "view_marks",
        "build scope_key part mark",
        key="scope_key build part",
        scope=None,
        shown="build mark",
    ),
    _table("graph_changes", "position scope_id sort id", key="position"),
)
"""Every table that holds what a ledger was told, with all columns that both engines have."""

COUNTED = ("scopes", "partitions", "queue", "outbox", "view_builds", "graph_changes")
"""Tables whose numbers are never given again, not even when their row is gone."""

MOVING = "moving"
"""The name in `meta` under which a move into a ledger notes how far it is."""


def under_way(name: str) -> str:
    """Why a ledger that is being filled cannot be opened."""
    return (
        f"the ledger {name} is being filled by `ricordo migrate` and is not complete. Run the same "
        "command again to go on, or with --restart to begin again"
    )


def another_move(name: str) -> str:
    """Why a move cannot go on."""
    return f"the ledger {name} is being filled by another `ricordo migrate`; let that one end"


def no_move(name: str) -> str:
    """Why there is nothing to begin again."""
    return f"no move into the ledger {name} is under way, so there is nothing to begin again"


def named(columns: Sequence[str]) -> str:
    """Columns as a list in SQL; quoted, for some are words of the language."""
    return ", ".join(f'"{each}"' for each in columns)
