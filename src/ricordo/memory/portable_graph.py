"""Entities and their merges as plain records; an export tells them first."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ricordo.memory.portable import Record, scope_record, time_record
from ricordo.model import Entity, Merge, Relation, Scope, name_key
from ricordo.ports import Reading

_AT_ONCE = 500


def entity_record(entity: Entity, *, names: Sequence[str]) -> Record:
    """An entity that stands, with the names that are its own: those of a merge come with that."""
    return {
        "record": "entity",
        "id": entity.id,
        "name": names[0],
        "type": entity.type,
        "aliases": list(names[1:]),
        "scope": scope_record(entity.scope),
        "recorded_at": time_record(entity.recorded_at),
    }


async def graph_records(tx: Reading, *, scope: Scope) -> list[Record]:
    """Every entity that stands, then every merge, in the order in which they were made."""
    merges = await tx.merges(scope=scope)
    standing = (await tx.graph_changes(scope=scope, since=None)).entities
    ids = dict.fromkeys((*standing, *(merge.source for merge in merges)))
    graph = _Graph(
        entities=await _entities(tx, list(ids), scope=scope),
        merges=merges,
        relations=await _relations(tx, merges, scope=scope),
    )
    return [
        *(graph.entity(entity_id) for entity_id in graph.by_name(standing)),
        *(graph.merge(merge) for merge in merges),
    ]


async def _entities(tx: Reading, ids: Sequence[str], *, scope: Scope) -> dict[str, Entity]:
    found: dict[str, Entity] = {}
    for first in range(0, len(ids), _AT_ONCE):
        found |= await tx.entities_by_id(ids[first : first + _AT_ONCE], scope=scope)
    return found


async def _relations(tx: Reading, merges: Iterable[Merge], *, scope: Scope) -> dict[str, Relation]:
    """Those that a merge moved, and that still hold."""
    moved = list({each for merge in merges for each in (*merge.outgoing, *merge.incoming)})
    found: dict[str, Relation] = {}
    for first in range(0, len(moved), _AT_ONCE):
        some = await tx.relations(moved[first : first + _AT_ONCE], scope=scope)
        found |= {each.id: each for each in some if each.closed_at is None}
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Graph:
    entities: Mapping[str, Entity]
    merges: Sequence[Merge]
    relations: Mapping[str, Relation]

    def by_name(self, ids: Iterable[str]) -> list[str]:
        return sorted(ids, key=lambda entity_id: self.entities[entity_id].key)

    def entity(self, entity_id: str) -> Record:
        return entity_record(self.entities[entity_id], names=self._own(entity_id))

    def merge(self, merge: Merge) -> Record:
        moved: dict[str, list[str]] = defaultdict(list)
        for end, ids in (("source", merge.outgoing), ("target", merge.incoming)):
            for relation_id in ids:
                if relation_id in self.relations:
                    moved[relation_id].append(end)
        return {
            "record": "merge",
            "id": merge.id,
            "at": time_record(merge.at),
            "scope": scope_record(merge.scope),
            "source": self._end(merge.source),
            "target": self._end(merge.target),
            "into": self._survivor(merge.target).name,
            "relations": [
                _moved_record(self.relations[relation_id], ends)
                for relation_id, ends in moved.items()
            ],
        }

    def _end(self, entity_id: str) -> Record:
        name, *aliases = self._own(entity_id)
        return {"name": name, "type": self.entities[entity_id].type, "aliases": aliases}

    def _survivor(self, entity_id: str) -> Entity:
        entity = self.entities[entity_id]
        while entity.merged_into is not None:
            entity = self.entities[entity.merged_into]
        return entity

    def _own(self, entity_id: str) -> list[str]:
        """Names that no merge brought, the entity's own first."""
        entity = self.entities[entity_id]
        held = (entity.name, *entity.aliases)
        brought: set[str] = set()
        for merge in self.merges:
            if merge.source == entity_id:
                held = (entity.name, *merge.names)
            if merge.target == entity_id:
                brought |= {name_key(name) for name in merge.names}
        names = {name_key(name): name for name in reversed(held)}
        return [
            entity.name,
            *(
                name
                for key, name in reversed(names.items())
                if key != entity.key and key not in brought
            ),
        ]


def _moved_record(relation: Relation, ends: Sequence[str]) -> Record:
    """A relation that goes back when the merge is undone, by the names of its ends today."""
    return {
        "source": relation.source_name,
        "relation": relation.type,
        "target": relation.target_name,
        "ends": list(ends),
    }
