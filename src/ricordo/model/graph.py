"""The graph: entities, relations, the claims they are made from, and what was refused."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ricordo.model.ids import name_key
from ricordo.model.kinds import Rule
from ricordo.model.scope import Origin, Scope

SELF = "user"
"""Name of the entity that stands for the user in the user's own graph."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityClaim:
    """An entity as somebody named it; not yet checked. `type` is None where none was said."""

    name: str
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationClaim:
    """A relation as somebody stated it; not yet checked.

    Args:
        source, target: the two ends.
        relation: its name as stated, for example ``"works on"``.
        valid_from, valid_until: when it holds in the world; None is open.
        confidence: from 0 to 1, of whoever stated it; no part of what is stated.
    """

    source: EntityClaim
    relation: str
    target: EntityClaim
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    confidence: float = field(default=1.0, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A thing in one scope's graph.

    Args:
        name: as first written; `key` is the form that is compared.
        aliases: other names, as written.
        merged_into: id of the entity that stands for this one since they were merged.
    """

    id: str
    scope: Scope
    name: str
    type: str
    recorded_at: datetime
    aliases: tuple[str, ...] = ()
    merged_into: str | None = None

    @property
    def key(self) -> str:
        """The normalised name; unique among a scope's entities."""
        return name_key(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """One entity of a scope that stands for another since they were merged.

    Args:
        source, target: ids of entities; `target` stands for `source`.
        names: what `source` brought along, its own name first.
        outgoing, incoming: ids of the relations that began, or ended, at `source`.
    """

    id: str
    scope: Scope
    source: str
    target: str
    at: datetime
    names: tuple[str, ...]
    outgoing: tuple[str, ...] = ()
    incoming: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A directed, typed edge between two entities of one scope, with its evidence.

    Args:
        source, target: ids of entities (after merges, the surviving ones).
        source_name, target_name: their names.
        type: canonical name in the vocabulary, for example ``works_on``.
        evidence: ids of the memories that support it; never empty.
        valid_from, valid_until: when it holds in the world; None is open.
        recorded_at: when it entered the ledger.
        closed_at: when the ledger learned that it no longer holds; None while current.
    """

    id: str
    scope: Scope
    source: str
    target: str
    source_name: str
    target_name: str
    type: str
    recorded_at: datetime
    evidence: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    closed_at: datetime | None = None
    confidence: float = 1.0
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A claim that was not admitted, kept for a person to see.

    Args:
        rule: the integrity rule, or None where a memory (not a relation) was refused.
        reason: in words, without the claim's text.
        claim: the refused relation, where it was one.
        text: the refused memory's text, where it was one and may be shown to its owner.
    """

    id: str
    scope: Scope
    at: datetime
    reason: str
    rule: Rule | None = None
    claim: RelationClaim | None = None
    text: str | None = None
    origin: Origin | None = None


class Step(NamedTuple):
    """One edge of a path, in the direction in which it was walked.

    `forward` is False where the edge points against the walk. `scope` tells whose graph it is in.
    """

    relation_id: str
    scope: Scope
    source: str
    type: str
    target: str
    forward: bool
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """A walk from one named entity to another, over at least one step."""

    steps: tuple[Step, ...]

    @property
    def start(self) -> str:
        """Name of the first entity."""
        first = self.steps[0]
        return first.source if first.forward else first.target

    @property
    def end(self) -> str:
        """Name of the last entity."""
        last = self.steps[-1]
        return last.target if last.forward else last.source
