"""What may enter a graph: every stated relation passes the rules (a) to (i), or is refused aloud.

The rules are those of `ricordo.model.Rule`. Scope (h) comes first, because nothing may be looked up
for what lies elsewhere, and (b) before (a), because a name is found by its normal form; otherwise
they are applied in the order of their letters, and a refusal names the first rule that was broken.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.errors import Refused
from ricordo.events import OrganizationRelationRefused, UserRelationRefused
from ricordo.memory import validity
from ricordo.memory.edges import Edge, Edges
from ricordo.memory.ends import Ends
from ricordo.memory.neighbours import Neighbours
from ricordo.memory.screening import refuse_reason
from ricordo.memory.vocabulary import Meant, Vocabulary
from ricordo.model import (
    EntityClaim,
    Kind,
    Memory,
    OrganizationScope,
    Refusal,
    Relation,
    RelationClaim,
    Rule,
    Scope,
    Source,
    clean_text,
)
from ricordo.ports import Writing

_LONGEST_PHRASE = 200
_LONGEST_SHOWN = 200
_LONGEST_SEARCHED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What became of a memory's claims.

    Args:
        relations: those that stand: new ones, and known ones that gained evidence.
        refusals: one for each claim that broke a rule; kept in the ledger and announced.
        closed: relations that hold no more because of a claim. A memory all of whose relations are
            closed has nothing left to say; superseding it is the caller's part.
    """

    relations: tuple[Relation, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    closed: tuple[Relation, ...] = ()


async def admit(
    tx: Writing,
    claims: Sequence[RelationClaim],
    *,
    scope: Scope,
    memory: Memory,
    vocabulary: Vocabulary,
    at: datetime,
    new_id: Callable[[str], str],
    named_in: Sequence[str] | None = None,
) -> Admission:
    """Let a memory's claims into the graph, each by itself: one refused stops no other.

    Writers of a scope follow one another, so that what was read here still holds when it is
    written. Entities are made for admitted claims only.

    Args:
        memory: already in the ledger; it is the evidence, and its origins are those of the edge.
        at: the time of the transaction.
        named_in: texts in which an end must be named unless it is known (rule a). By default the
            text and quotes of an inferred memory; what a person states needs no second mention.
    """
    if named_in is None and memory.source is Source.INFERRED:
        quotes = (origin.quote for origin in memory.origins)
        named_in = (memory.text, *(quote for quote in quotes if quote is not None))
    near = Neighbours(tx, scope=scope)
    ends = Ends(tx, near, scope=scope, vocabulary=vocabulary, at=at, new_id=new_id, texts=named_in)
    edges = Edges(tx, ends, near, scope=scope, memory=memory, at=at, new_id=new_id)
    refusals: list[Refusal] = []
    for claim in claims:
        try:
            _check_scope(memory, scope)
            edge = await _understand(claim, ends, vocabulary, memory=memory, at=at)
            await edges.settle(edge)
        except Refused as refused:
            refusal = _refusal(claim, refused, memory=memory, at=at, id=new_id("r"))
            await tx.refuse(refusal)
            await tx.emit(_announced(refusal, memory, id=new_id("e")))
            refusals.append(refusal)
    return Admission(
        relations=tuple(edges.relations.values()),
        refusals=tuple(refusals),
        closed=tuple(edges.closed.values()),
    )


def _check_scope(memory: Memory, scope: Scope) -> None:
    """Rule (h)."""
    if memory.scope != scope:
        raise Refused("a relation belongs to the scope of its memory", rule=Rule.SCOPE)
    if memory.kind is Kind.PREFERENCE:
        raise Refused("a preference has no relations", rule=Rule.SCOPE)


async def _understand(
    claim: RelationClaim, ends: Ends, vocabulary: Vocabulary, *, memory: Memory, at: datetime
) -> Edge:
    """Rules (a) to (e), and whether its time can be: part of (f)."""
    source = await ends.find(claim.source, role="source")
    target = await ends.find(claim.target, role="target")
    meant = _meaning(claim.relation, vocabulary)
    relation = meant.relation
    if meant.turned:
        source, target = replace(target, role="source"), replace(source, role="target")
    source = await ends.fit(source, relation.domain, relation=relation.name)
    target = await ends.fit(target, relation.range, relation=relation.name)
    if source.entity.key == target.entity.key:
        if not relation.reflexive:
            raise Refused("it relates a thing to itself", rule=Rule.SELF_LOOP)
        target = await ends.fit(
            replace(source, role="target"), relation.range, relation=relation.name
        )
        source = replace(target, role="source")
    when = validity.holds(claim, memory, at=at)
    if when.impossible:
        raise Refused("it ends before it begins", rule=Rule.CARDINALITY)
    sure = min(claim.confidence, memory.confidence)
    return Edge(source=source, target=target, relation=relation, when=when, confidence=sure)


def _refusal(
    claim: RelationClaim,
    refused: Refused,
    *,
    memory: Memory,
    at: datetime,
    id: str,  # noqa: A002
) -> Refusal:
    """What is kept of a refused claim, for a person to see."""
    return Refusal(
        id=id,
        scope=memory.scope,
        at=at,
        reason=str(refused),
        rule=Rule(refused.rule),
        claim=_shown(claim),
        origin=memory.origins[-1] if memory.origins else None,
    )


def _announced(
    refusal: Refusal,
    memory: Memory,
    *,
    id: str,  # noqa: A002
) -> UserRelationRefused | OrganizationRelationRefused:
    rule = Rule(refusal.rule)
    if isinstance(refusal.scope, OrganizationScope):
        return OrganizationRelationRefused(
            id=id,
            at=refusal.at,
            scope=refusal.scope,
            origins=memory.origins,
            refusal_id=refusal.id,
            rule=rule,
        )
    return UserRelationRefused(
        id=id,
        at=refusal.at,
        scope=refusal.scope,
        origins=memory.origins,
        refusal_id=refusal.id,
        rule=rule,
    )


def _meaning(phrase: str, vocabulary: Vocabulary) -> Meant:
    """Rule (c)."""
    meant = vocabulary.relation(phrase) if len(phrase) <= _LONGEST_PHRASE else None
    if meant is not None and (meant.listed or refuse_reason(phrase) is None):
        return meant
    if vocabulary.open:
        reason = "the relation is no short phrase, or says that something is not so"
    else:
        reason = "the relation is not in the vocabulary, which is strict"
    raise Refused(reason, rule=Rule.VOCABULARY)


def _shown(claim: RelationClaim) -> RelationClaim | None:
    """The claim as a person may see it: storable and short; None when it holds a secret."""
    names = (claim.source.name, claim.relation, claim.target.name)
    said = tuple(name[:_LONGEST_SEARCHED] for name in names)
    if refuse_reason(" ".join(said)) or any(refuse_reason(part) for part in said):
        return None
    return replace(
        claim,
        source=_short_entity(claim.source),
        relation=_short(claim.relation),
        target=_short_entity(claim.target),
    )


def _short_entity(claim: EntityClaim) -> EntityClaim:
    kind = None if claim.type is None else _short(claim.type)
    return EntityClaim(name=_short(claim.name), type=kind)


def _short(text: str) -> str:
    short = text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
    return clean_text(short)
