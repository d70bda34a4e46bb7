"""The whole state of a person's memory, for comparing before and after a pass and its undoing."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from ricordo import EntityClaim, Listing, RelationClaim, Ricordo
from ricordo.model import Scope
from ricordo.ports import Reading

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def claim(source: str, relation: str, target: str, **more: Any) -> RelationClaim:
    """A relation between two named things."""
    return RelationClaim(
        source=EntityClaim(name=source),
        relation=relation,
        target=EntityClaim(name=target),
        **more,
    )


async def state(memory: Ricordo, scope: Scope, *, used: bool = True) -> dict[str, Any]:
    """Everything of a scope but how often and when it changed: memories with origins and history,
    relations with evidence, what the index holds, what waits for a decision.

    Args:
        used: False leaves out how often and when memories were recalled.
    """
    fixed: dict[str, Any] = {"version": 1, "updated_at": LONG_AGO}
    if not used:
        fixed |= {"recalls": 0, "last_recalled_at": None}

    async def look(tx: Reading) -> dict[str, Any]:
        found = (await tx.page(Listing(limit=1_000), scope=scope)).memories
        ids = [one.id for one in found]
        partitions = await tx.partitions(scope=scope)
        rows = [await tx.rows(partition=each.partition, since=None) for each in partitions]
        return {
            "memories": {m.id: replace(m, **fixed) for m in found},
            "history": {one: await tx.history(one, scope=scope) for one in ids},
            "relations": {
                r.id: replace(r, evidence=tuple(sorted(r.evidence)))
                for r in await tx.relations_of(ids, scope=scope)
            },
            "indexed": [sorted(each.ids) for each in rows],
            "sizes": [each.size for each in partitions],
            "proposals": await tx.merge_proposals(scope=scope),
        }

    return await memory.ledger.read(look, scopes=[scope])
