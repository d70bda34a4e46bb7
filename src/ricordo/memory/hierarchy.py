"""Rule (g): a hierarchical relation never leads back to where it began."""

from datetime import datetime

from ricordo.errors import Refused
from ricordo.memory.neighbours import all_edges
from ricordo.model import Rule, Scope
from ricordo.ports import Reading

LEVELS = 64
"""Levels of a hierarchy that are walked; a deeper one is refused, for it cannot be checked."""

ENTITIES = 10_000
"""Entities that are looked at on the way."""


async def check_acyclic(
    tx: Reading, *, source: str, target: str, relation: str, scope: Scope, at: datetime | None
) -> None:
    """Walk up from the target, one query per level, to see that the source is not above it.

    Args:
        source, target: ids of the ends of the edge to come.
        at: the instant that the edge belongs to; None is the present.

    Raises:
        Refused: the edge would close a cycle, or the hierarchy is too large to tell.
    """
    seen = {target}
    frontier = [target]
    for _ in range(LEVELS):
        edges = await all_edges(tx, frontier, scope=scope, at=at)
        below = set(frontier)
        above = {e.target for e in edges if e.type == relation and e.source in below} - seen
        if source in above:
            raise Refused(
                f"the hierarchical relation {relation} would lead back to where it began",
                rule=Rule.HIERARCHY,
            )
        if not above:
            return
        seen |= above
        frontier = sorted(above)
        if len(seen) > ENTITIES:
            break
    raise Refused(
        f"the hierarchy {relation} is too large to check ({LEVELS} levels, {ENTITIES:,} entities)",
        rule=Rule.HIERARCHY,
    )
