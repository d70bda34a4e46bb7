"""Reads entities and merges back from records of an export, and stores them.

They are stored after the memories: only what a memory's relations brought into the graph is named
and merged, so that nothing stands there without a memory behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ricordo.errors import Conflict, Invalid, Refused
from ricordo.memory import announcing
from ricordo.memory.fields import a_list, a_text, a_time, an_object, needed
from ricordo.memory.names import cleaned, fault_of, means_self, named_in
from ricordo.memory.neighbours import all_edges
from ricordo.memory.services import Services
from ricordo.memory.vocabulary import THING
from ricordo.model import (
    MAX_NAME,
    SELF,
    Entity,
    RelationClaim,
    Rule,
    Scope,
    check_text,
    name_key,
)
from ricordo.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEntity:
    """What a record tells of an entity."""

    name: str
    type: str | None
    aliases: tuple[str, ...]

    @property
    def key(self) -> str:
        """The normalised name."""
        return name_key(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRelation:
    """A relation that goes back when a merge is undone, by the names of its ends."""

    source: str
    relation: str
    target: str
    ends: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldMerge:
    """What a record tells of a merge.

    Attributes:
        into: the entity that stands for both in the end.
    """

    source: NamedEntity
    target: NamedEntity
    into: str
    at: datetime | None
    relations: tuple[MovedRelation, ...]


class ToldNames:
    """Which names mean the same, as an export tells before its memories.

    A memory that said "k8s" may be behind a relation of Kubernetes since the two were merged.
    """

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def add(self, name: str, *others: NamedEntity) -> None:
        """Let all names of these entities be other names of `name`."""
        held = self._names.setdefault(name_key(name), set())
        for other in others:
            held.update((other.name, *other.aliases))

    def meant_in(self, texts: Sequence[str], claims: Sequence[RelationClaim]) -> tuple[str, ...]:
        """The ends of claims that a text names by another name."""
        ends = {end.name for claim in claims for end in (claim.source, claim.target)}
        return tuple(
            end
            for end in sorted(ends)
            if any(
                named_in(name, text)
                for name in self._names.get(name_key(end), ())
                for text in texts
            )
        )


def read_entity(record: Mapping[str, Any]) -> NamedEntity:
    """The entity in a record. Raises `Invalid` for what is no name."""
    aliases = tuple(str(alias) for alias in a_list(record, "aliases"))
    name = needed(record, "name")
    for each in (name, *aliases):
        check_text(each, what="name", longest=MAX_NAME)
    return NamedEntity(name=name, type=a_text(record, "type"), aliases=aliases)


def read_merge(record: Mapping[str, Any]) -> ToldMerge:
    """The merge in a record. Raises `Invalid` for a field of the wrong type."""
    return ToldMerge(
        source=read_entity(an_object(record.get("source"), "source")),
        target=read_entity(an_object(record.get("target"), "target")),
        into=needed(record, "into"),
        at=a_time(record, "at"),
        relations=tuple(_moved(item) for item in a_list(record, "relations")),
    )


def _moved(value: object) -> MovedRelation:
    item = an_object(value, "a relation")
    return MovedRelation(
        source=needed(item, "source"),
        relation=needed(item, "relation"),
        target=needed(item, "target"),
        ends=tuple(str(end) for end in a_list(item, "ends")),
    )


async def restore_entity(services: Services, told: NamedEntity, *, scope: Scope, by: str) -> bool:
    """Give an entity that is here the type and the aliases of a record; False if it has them, or
    is not here.

    Raises:
        Refused: an alias is no name, or belongs to another entity here.
    """

    async def work(tx: Writing) -> bool:
        known = (await tx.entities([told.key], scope=scope)).get(told.key)
        if known is None:
            return False
        restored = replace(
            known,
            aliases=(*known.aliases, *_new_aliases(known, told)),
            type=await _type(tx, known, told, services=services),
        )
        if restored == known:
            return False
        await _put(tx, restored)
        await tx.audit("import", by=by, scope=scope, subjects=[known.id])
        if restored.aliases != known.aliases:
            await tx.emit(announcing.aliased(known.id, by=by, scope=scope, services=services))
        return True

    return await services.ledger.write(work, scope=scope)


async def restore_merge(services: Services, told: ToldMerge, *, scope: Scope, by: str) -> bool:
    """Make a merge again, so that it can be undone as before; False if the two are one already, or
    what stands for them is not here.

    Raises:
        Refused: a name is none, or belongs to another entity here.
        Invalid: nothing can stand for the user.
    """
    if told.source.key == SELF:
        raise Invalid("nothing can stand for the user")

    async def work(tx: Writing) -> bool:
        keys = [name_key(told.into), told.source.key, told.target.key]
        found = await tx.entities(keys, scope=scope)
        stands = found.get(keys[0])
        gone, stays = found.get(keys[1]), found.get(keys[2])
        if stands is None or (gone is not None and gone == stays):
            return False
        source = gone or await _made(tx, told.source, scope=scope, services=services)
        target = stays or await _made(tx, told.target, scope=scope, services=services)
        await _move_back(tx, told.relations, stands=stands, source=source)
        at = told.at or services.clock()
        ends = [source.id, target.id]
        merge_id = await tx.merge_entities(*ends, at=at, scope=scope)
        await tx.audit("merge", by=by, scope=scope, subjects=ends)
        await tx.emit(announcing.merged(merge_id, ends, by=by, scope=scope, services=services))
        return True

    return await services.ledger.write(work, scope=scope)


async def _made(tx: Writing, told: NamedEntity, *, scope: Scope, services: Services) -> Entity:
    _check_name(told.name)
    entity = Entity(
        id=services.new_id("n"),
        scope=scope,
        name=told.name,
        type=services.vocabulary.type(told.type) or THING,
        recorded_at=services.clock(),
    )
    entity = replace(entity, aliases=_new_aliases(entity, told))
    await _put(tx, entity)
    return entity


async def _move_back(
    tx: Writing, relations: Sequence[MovedRelation], *, stands: Entity, source: Entity
) -> None:
    """Let the relations that the merge moved begin, or end, where they did before it."""
    if not relations or stands.id == source.id:
        return
    wanted = {(each.source, each.relation, each.target): each.ends for each in relations}
    for edge in await all_edges(tx, [stands.id], scope=stands.scope):
        ends = wanted.get((edge.source_name, edge.type, edge.target_name), ())
        if not ends:
            continue
        whole = next(
            one
            for one in await tx.relations_of(edge.evidence[:1], scope=stands.scope)
            if one.id == edge.id
        )
        if "source" in ends and whole.source == stands.id:
            whole = replace(whole, source=source.id)
        if "target" in ends and whole.target == stands.id:
            whole = replace(whole, target=source.id)
        await tx.put_relation(whole)


async def _type(tx: Writing, known: Entity, told: NamedEntity, *, services: Services) -> str:
    """The more precise type, unless the entity's relations rule it out."""
    vocabulary = services.vocabulary
    kind = vocabulary.type(told.type) or known.type
    if kind == known.type or not vocabulary.is_a(kind, known.type):
        return known.type
    for edge in await all_edges(tx, [known.id], scope=known.scope):
        listed = vocabulary.relations.get(edge.type)
        if listed is None:
            continue
        allowed = listed.domain if edge.source == known.id else listed.range
        if vocabulary.narrowed(kind, allowed) is None:
            return known.type
    return kind


def _new_aliases(known: Entity, told: NamedEntity) -> tuple[str, ...]:
    held = {known.key, *map(name_key, known.aliases)}
    new = {name_key(alias): alias for alias in told.aliases if name_key(alias) not in held}
    for alias in new.values():
        _check_name(alias)
    return tuple(new.values())


def _check_name(name: str) -> None:
    """Rule (b), as for a name that a person gives."""
    fault = "it stands for the user" if means_self(name) else fault_of(cleaned(name))
    if fault is not None:
        raise Refused(f"an entity's name is none: {fault}", rule=Rule.NAMES)


async def _put(tx: Writing, entity: Entity) -> None:
    try:
        await tx.put_entity(entity)
    except Conflict as error:
        raise Refused(
            f"a name of entity {entity.id} belongs to another one here; merge the two",
            rule=Rule.NAMES,
        ) from error
