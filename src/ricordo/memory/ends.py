"""The ends of a claim: rules (a) named, (b) a name, and (d) of a fitting type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.errors import Conflict, Refused
from ricordo.memory.names import cleaned, fault_of, means_self, named_in
from ricordo.memory.neighbours import Neighbours
from ricordo.memory.vocabulary import THING, Vocabulary
from ricordo.model import MAX_NAME, SELF, Entity, EntityClaim, Rule, Scope, UserScope, name_key
from ricordo.ports import Writing

_PERSON = "Person"
_LONGEST_LOOKED_AT = 4 * MAX_NAME  # a writer holds the ledger: a huge name must not hold it up


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """One end of a claim: an entity that stands, or one to be made if the claim is admitted.

    Args:
        stored: the entity as the ledger has it; None for a new one.
        role: "source" or "target", for messages.
    """

    entity: Entity
    stored: Entity | None
    role: str

    @property
    def id(self) -> str:
        """The entity's id."""
        return self.entity.id


class Ends:
    """Finds, checks and at last stores the entities that claims name."""

    def __init__(
        self,
        tx: Writing,
        near: Neighbours,
        *,
        scope: Scope,
        vocabulary: Vocabulary,
        at: datetime,
        new_id: Callable[[str], str],
        texts: Sequence[str] | None,
    ) -> None:
        self._tx = tx
        self._near = near
        self._scope = scope
        self._vocabulary = vocabulary
        self._at = at
        self._new_id = new_id
        self._texts = texts

    async def find(self, claim: EntityClaim, *, role: str) -> End:
        """The entity that a name stands for now; aliases and merges are followed.

        Raises:
            Refused: (b) it is no name, or (a) it is neither known nor in the proposal's texts.
        """
        if len(claim.name) > _LONGEST_LOOKED_AT:
            raise Refused(f"the {role} is no name: it is far too long", rule=Rule.NAMES)
        if means_self(claim.name):
            return await self._self(role)
        name = cleaned(claim.name)
        key = name_key(name)
        fault = fault_of(name) or (None if key else "it is empty")
        if fault is not None:
            raise Refused(f"the {role} is no name: {fault}", rule=Rule.NAMES)
        literal = name_key(claim.name)
        known = await self._tx.entities([literal, key], scope=self._scope)
        entity = known.get(literal) or known.get(key)
        if entity is None and not self._is_named(name):
            raise Refused(
                f"the {role} is neither named in the memory nor known in its scope", rule=Rule.ENDS
            )
        return self._end(entity, name=name, type=self._claimed(claim, role), role=role)

    async def fit(self, end: End, allowed: tuple[str, ...], *, relation: str) -> End:
        """The end with the type that the relation needs: as it is, or made more precise.

        Raises:
            Refused: (d) its type does not fit, or once more precise would not fit its other edges.
        """
        vocabulary = self._vocabulary
        kind = end.entity.type if end.entity.type in vocabulary.types else THING
        fitting = vocabulary.narrowed(kind, allowed)
        if fitting is None:
            raise Refused(
                f"the {end.role} is of type {kind}; for {relation} it must be "
                f"{' or '.join(allowed)}",
                rule=Rule.TYPES,
            )
        narrower = end.entity.type if fitting == kind else fitting
        fitted = replace(end, entity=replace(end.entity, type=narrower))
        if fitted.stored is not None and fitted.stored.type != narrower:
            await self._check_edges(fitted)
        return fitted

    async def store(self, end: End) -> None:
        """Make the entity, or its more precise type, part of the graph.

        Raises:
            Refused: (b) another entity holds the name.
        """
        if end.entity == end.stored:
            return
        try:
            await self._tx.put_entity(end.entity)
        except Conflict as exc:
            raise Refused(
                f"the {end.role}'s name belongs to two entities; merge them first", rule=Rule.NAMES
            ) from exc

    async def _check_edges(self, end: End) -> None:
        """What was a mere thing may have edges that only some kinds of things can have."""
        for edge in await self._near.of(end.id):
            listed = self._vocabulary.relations.get(edge.type)
            if listed is None:
                continue
            allowed = listed.domain if edge.source == end.id else listed.range
            if self._vocabulary.narrowed(end.entity.type, allowed) is None:
                raise Refused(
                    f"the {end.role} would be of type {end.entity.type}, which its relation "
                    f"{edge.type} rules out",
                    rule=Rule.TYPES,
                )

    async def _self(self, role: str) -> End:
        if not isinstance(self._scope, UserScope):
            raise Refused(
                f"the {role} stands for a user; an organization's graph has none", rule=Rule.NAMES
            )
        known = await self._tx.entities([SELF], scope=self._scope)
        return self._end(known.get(SELF), name=SELF, type=_PERSON, role=role)

    def _end(self, entity: Entity | None, *, name: str, type: str, role: str) -> End:  # noqa: A002
        if entity is None:
            new = Entity(
                id=self._new_id("n"),
                scope=self._scope,
                name=name,
                type=type,
                recorded_at=self._at,
            )
            return End(entity=new, stored=None, role=role)
        if self._vocabulary.is_a(type, entity.type):
            return End(entity=replace(entity, type=type), stored=entity, role=role)
        return End(entity=entity, stored=entity, role=role)

    def _claimed(self, claim: EntityClaim, role: str) -> str:
        kind = self._vocabulary.type(claim.type)
        if kind is None:
            raise Refused(
                f"the {role}'s type is not in the vocabulary, which is strict", rule=Rule.TYPES
            )
        return kind

    def _is_named(self, name: str) -> bool:
        return self._texts is None or any(named_in(name, text) for text in self._texts)
