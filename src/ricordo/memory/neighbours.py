"""What stands around an entity, read once per transaction and kept up to date with its writes."""

from collections.abc import Sequence
from datetime import datetime

from ricordo.model import Relation, Scope
from ricordo.ports import Reading, Writing

_FIRST = 1_024
_MOST = 1_048_576


async def all_edges(
    tx: Reading, entities: Sequence[str], *, scope: Scope, at: datetime | None = None
) -> list[Relation]:
    """Every relation that touches one of these entities, however many there are.

    A rule that looked only at the first thousand would let through what the next one forbids.
    """
    limit = _FIRST
    while True:
        edges = await tx.edges(entities, scope=scope, at=at, limit=limit)
        if len(edges) < limit or limit >= _MOST:
            return edges
        limit *= 32


class Neighbours:
    """Current relations by entity; what this transaction changes is seen at once."""

    def __init__(self, tx: Writing, *, scope: Scope) -> None:
        self._tx = tx
        self._scope = scope
        self._known: dict[str, dict[str, Relation]] = {}

    async def of(self, entity: str) -> list[Relation]:
        """Current relations that start or end at the entity, oldest id first."""
        if entity not in self._known:
            edges = await all_edges(self._tx, [entity], scope=self._scope)
            self._known[entity] = {edge.id: edge for edge in edges if edge.closed_at is None}
        return list(self._known[entity].values())

    async def put(self, relation: Relation) -> None:
        """Store the relation, new or changed."""
        await self._tx.put_relation(relation)
        for end in (relation.source, relation.target):
            if end in self._known:
                if relation.closed_at is None:
                    self._known[end][relation.id] = relation
                else:
                    self._known[end].pop(relation.id, None)

    async def whole(self, relation: Relation) -> Relation:
        """The relation with its origins, which a walk leaves out."""
        found = await self._tx.relations_of(relation.evidence[:1], scope=self._scope)
        return next((one for one in found if one.id == relation.id), relation)
