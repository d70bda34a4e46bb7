"""Which entities may be one: proposals for a person, never merged here."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from ricordo.memory import announcing
from ricordo.memory.consolidation.doing import Doing
from ricordo.memory.phrases import unaccented
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import SELF, Entity, MergeProposal, PassStep, StepAct
from ricordo.ports import Writing

MOST = 20
"""Proposals of one pass: more, and nobody would look at them."""

_LEGAL = re.compile(r"[ ,]+(?:inc|ltd|llc|plc|gmbh|ag|sa|sarl|srl|spa|corp|co|kg|se)\.?$")
_JOINTS = re.compile(r"[\s\-_/'’.](?!\d)|(?<=\D)[\s\-_]")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_SMALL = frozenset("of and for the de des du la le der die das und für et di del della e".split())
_NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])")
_ACRONYM = range(2, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Propose that two entities are one."""

    source: str
    target: str
    source_name: str
    target_name: str
    reason: str

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`."""
        ends = await tx.entities_by_id([self.source, self.target], scope=doing.scope)
        if len(ends) < 2 or any(entity.merged_into for entity in ends.values()):
            return []
        known = await tx.merge_proposals(scope=doing.scope)
        if any({one.source, one.target} == {self.source, self.target} for one in known):
            return []  # proposed before, perhaps rejected
        # The record of the pass first: the proposal refers to it.
        await tx.note(doing.record(), scope=doing.scope)
        proposal = MergeProposal(
            id=doing.services.new_id("p"),
            scope=doing.scope,
            source=self.source,
            target=self.target,
            source_name=self.source_name,
            target_name=self.target_name,
            reason=self.reason,
            at=doing.at,
            pass_id=doing.pass_id,
        )
        await tx.propose_merge(proposal, scope=doing.scope)
        await tx.emit(
            announcing.merge_proposed(proposal, scope=doing.scope, services=doing.services)
        )
        return [PassStep(act=StepAct.PAIRED, proposal_id=proposal.id)]


def pairs(
    entities: Sequence[Entity], *, related: Collection[frozenset[str]], vocabulary: Vocabulary
) -> list[Pair]:
    """Proposals among the entities of one graph, oldest names first; at most `MOST`.

    Args:
        related: pairs of ids between which a relation holds; those are two things.
    """
    found: dict[frozenset[str], Pair] = {}
    for one, other, reason in _alike(entities, vocabulary):
        key = frozenset((one.id, other.id))
        if len(key) == 2 and key not in related and _fit(one, other, vocabulary):
            found.setdefault(key, _pair(one, other, reason, vocabulary))
    return list(found.values())[:MOST]


def _alike(
    entities: Sequence[Entity], vocabulary: Vocabulary
) -> Iterator[tuple[Entity, Entity, str]]:
    by_key: dict[tuple[str, str], Entity] = {}
    named = [
        (entity, name)
        for entity in sorted(entities, key=lambda e: (e.recorded_at, e.id))
        if entity.merged_into is None and entity.key != SELF
        for name in (entity.name, *entity.aliases)
    ]
    for entity, name in named:
        for reason, key in _keys(name, entity.type, vocabulary):
            first = by_key.setdefault((reason, key), entity)
            if first.id != entity.id:
                yield first, entity, reason
    whole: dict[str, Entity] = {}
    for entity, name in named:
        for key in _long(name):
            whole.setdefault(key, entity)
    for entity, name in named:
        for key in _short(name):
            if key in whole and whole[key].id != entity.id:
                yield whole[key], entity, "initials"


def _keys(name: str, kind: str, vocabulary: Vocabulary) -> Iterator[tuple[str, str]]:
    known = vocabulary.names.get(unaccented(name))
    if known is not None:
        yield "alias", unaccented(known)
    yield "spelling", spelled(name)
    first, _, rest = name.partition(" ")
    if rest and vocabulary.type(first) == kind and unaccented(first) == unaccented(kind):
        yield "spelling", spelled(rest)  # "Project Falcon" and "Falcon"


def spelled(name: str) -> str:
    """The name without case, accents, joints and legal form; "C" and "C++" stay apart."""
    plain = _LEGAL.sub("", unaccented(_CAMEL.sub(" ", name)))
    return _JOINTS.sub("", plain) or plain


def _long(name: str) -> Iterator[str]:
    """Short forms that a name may have: its initials, and first, count and last letter."""
    words = [word for word in re.split(r"[\s\-]+", name) if word and word.lower() not in _SMALL]
    if len(words) in _ACRONYM and all(word[0].isalnum() for word in words):
        yield "".join(word[0] for word in words).casefold()
    folded = unaccented(name)
    if len(folded) > 4 and folded.isalpha() and folded.isascii():
        yield f"{folded[0]}{len(folded) - 2}{folded[-1]}"


def _short(name: str) -> Iterator[str]:
    """The key of a name that is a short form itself."""
    if len(name) in _ACRONYM and name.isalpha() and name.isupper():
        yield name.casefold()
    if _NUMERONYM.fullmatch(name.casefold()):
        yield name.casefold()


def _fit(one: Entity, other: Entity, vocabulary: Vocabulary) -> bool:
    return vocabulary.is_a(one.type, other.type) or vocabulary.is_a(other.type, one.type)


def _pair(one: Entity, other: Entity, reason: str, vocabulary: Vocabulary) -> Pair:
    """Into the name by which it is known best, or else the longer one, or the older."""

    def rank(entity: Entity) -> tuple[bool, int]:
        best = vocabulary.names.get(unaccented(entity.name))
        return best is not None and unaccented(best) == unaccented(entity.name), len(entity.name)

    target, source = (one, other) if rank(one) >= rank(other) else (other, one)
    return Pair(
        source=source.id,
        target=target.id,
        source_name=source.name,
        target_name=target.name,
        reason=reason,
    )
