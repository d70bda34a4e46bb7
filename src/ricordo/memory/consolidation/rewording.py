"""Other wordings, proposed by a model: for memories that are close but not the same in words.

What a model proposes goes the way of everything that a model says: its quote must be what the
person said, and a person approves it. It is never applied by itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from ricordo.errors import Malformed, Unavailable
from ricordo.memory import announcing, prompting
from ricordo.memory.consolidation.doing import Action, Doing
from ricordo.memory.grounding import find_quote
from ricordo.memory.names import named_in
from ricordo.memory.phrases import negated
from ricordo.memory.screening import refuse_reason, review_reasons, sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.storing import together
from ricordo.model import (
    MAX_TEXT,
    EntityClaim,
    Indexed,
    Listing,
    Memory,
    PassStep,
    RelationClaim,
    Said,
    Source,
    Space,
    Speaker,
    Status,
    StepAct,
    UserScope,
    clean_text,
    digest,
)
from ricordo.ports import Candidate, Extraction, Extractor, Reading, Writing

REASON = "reworded"
"""Why a proposed wording waits for a person."""

CLOSE = 0.75
"""Cosine from which a model is asked whether two memories mean the same. Low, for closeness tells
little about it: what says the same in other words lies below much that does not."""

MOST_PAIRS = 8
"""Pairs that one call asks about; there is one call in a pass."""

MOST_COMPARED = 400
"""Newest memories of a partition that are compared with one another."""

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{4,}")

Pairs = list[tuple[Memory, Memory]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reword:
    """Propose a memory that would take the place of others."""

    memory: Memory
    replaced: tuple[Memory, ...]
    indexed: Indexed
    space: Space

    async def apply(self, tx: Writing, doing: Doing) -> list[PassStep]:
        """See `Action`. Relations of what it replaces are stated anew once it is approved."""
        ids = [memory.id for memory in self.replaced]
        found = await tx.memories(ids, scope=doing.scope)
        versions = {memory.id: memory.version for memory in self.replaced}
        if any(m.version != versions[m.id] or m.status is not Status.ACTIVE for m in found):
            return []
        known = await tx.same_text(self.memory.digest, partition=self.memory.partition)
        if len(found) < len(ids) or known is not None:
            return []
        claims = [
            RelationClaim(
                source=EntityClaim(name=relation.source_name),
                relation=relation.type,
                target=EntityClaim(name=relation.target_name),
                valid_from=relation.valid_from,
                valid_until=relation.valid_until,
            )
            for relation in await tx.relations_of(ids, scope=doing.scope)
            if relation.closed_at is None
        ]
        proposed = replace(self.memory, pending=tuple(claims))
        await tx.put(proposed, indexed=self.indexed, space=self.space)
        await tx.emit(announcing.proposed(proposed, services=doing.services))
        return [
            PassStep(act=StepAct.REWORDED, memory_id=proposed.id, other_id=each) for each in ids
        ]


class Reworder:
    """Asks a model which of the closest memories mean the same, and for one wording of both."""

    def __init__(self, services: Services, extractor: Extractor) -> None:
        self._services = services
        self._extractor = extractor

    async def propose(
        self, *, scope: UserScope, at: datetime, recent: float | None
    ) -> tuple[list[Action], tuple[str, ...]]:
        """What may be proposed, and notes on what was left out.

        Args:
            recent: only pairs of which one was recorded within so many seconds: a pair that was
                asked about before is not asked about every day. None asks about all.
        """
        since = None if recent is None else at - timedelta(seconds=recent)
        pairs = await self._pairs(scope, since=since)
        if not pairs:
            return [], ()
        try:
            answer = await self._extractor.extract(prompting.rewording(pairs))
        except (Unavailable, Malformed) as error:
            return [], (f"no wording was proposed: {type(error).__name__}",)
        good = [found for c in answer.candidates if (found := self._grounded(c, pairs)) is not None]
        left_out = len(answer.candidates) - len(good)
        notes = (f"wordings without ground in the person's words: {left_out}",) if left_out else ()
        return await self._actions(good, answer, at=at), notes

    async def _pairs(self, scope: UserScope, *, since: datetime | None) -> Pairs:
        """The closest memories of each partition that differ in no number and no negation."""

        async def look(tx: Reading) -> tuple[list[Memory], list[Memory]]:
            statuses = (Status.ACTIVE, Status.PROPOSED)
            ids = await tx.ids(Listing(statuses=statuses), scope=scope)
            found = await tx.memories(ids[-MOST_COMPARED:], scope=scope)
            active = [m for m in found if m.status is Status.ACTIVE and not m.pending]
            return active, [m for m in found if REASON in m.reasons]

        memories, proposed = await self._services.ledger.read(look, scopes=[scope])
        by_id = {memory.id: memory for memory in memories}
        busy = {each for memory in proposed for each in memory.replaces}
        close: list[tuple[float, Memory, Memory]] = []
        for partition in dict.fromkeys(memory.partition for memory in memories):
            ids = [m.id for m in memories if m.partition == partition and m.id not in busy]
            alike = await self._services.index.similarity(ids, partitions=[partition])
            for (one, other), cosine in alike.items():
                pair = by_id[one], by_id[other]
                new = since is None or max(m.recorded_at for m in pair) >= since
                if cosine >= CLOSE and new and _may_be_same(*pair):
                    close.append((cosine, *pair))
        close.sort(key=lambda found: (-found[0], found[1].id, found[2].id))
        taken: set[str] = set()
        pairs: Pairs = []
        for _, one, other in close:
            if taken.isdisjoint((one.id, other.id)) and len(pairs) < MOST_PAIRS:
                taken |= {one.id, other.id}
                pairs.append((one, other))
        return pairs

    def _grounded(self, candidate: Candidate, pairs: Pairs) -> tuple[Memory, Memory, str] | None:
        """The wording, when its quote is the person's and it says nothing that they did not."""
        text = " ".join(clean_text(candidate.text).split())
        number = candidate.turn or 0
        if not 1 <= number <= len(pairs) or not text or len(text) > MAX_TEXT:
            return None
        one, other = pairs[number - 1]
        said = [
            Said(speaker=Speaker.USER, text=words) for m in (one, other) for words in _own_words(m)
        ]
        if candidate.kind != one.kind or find_quote(candidate.quote, said) is None:
            return None
        source = " ".join(each.text for each in said)
        # Numbers, names and telling words must all be the person's own.
        sound = (
            digest(text) not in (one.digest, other.digest)
            and set(_NUMBER.findall(text)) <= set(_NUMBER.findall(source))
            and negated(text) == negated(one.text)
            and all(named_in(word, f"{source} user") for word in _WORD.findall(text))
            and refuse_reason(text) is None
        )
        return (one, other, text) if sound else None

    async def _actions(
        self, good: Sequence[tuple[Memory, Memory, str]], answer: Extraction, *, at: datetime
    ) -> list[Action]:
        rows = await self._services.indexed([text for _, _, text in good])
        space = await self._services.space()
        return [
            Reword(
                memory=self._memory(one, other, text, model=answer.model, at=at),
                replaced=(one, other),
                indexed=indexed,
                space=space,
            )
            for (one, other, text), indexed in zip(good, rows, strict=True)
        ]

    def _memory(self, one: Memory, other: Memory, text: str, *, model: str, at: datetime) -> Memory:
        return replace(
            one,
            id=self._services.new_id("m"),
            text=text,
            status=Status.PROPOSED,
            source=Source.INFERRED,
            origins=together(one.origins, other.origins),
            confidence=min(one.confidence, other.confidence),
            importance=max(one.importance, other.importance),
            pinned=one.pinned or other.pinned,
            sensitivity=sensitivity_of(text),
            recorded_at=at,
            updated_at=at,
            version=1,
            recalls=0,
            last_recalled_at=None,
            demoted_at=None,
            reasons=(REASON, *review_reasons(text, confidence=1.0, trusted=True)),
            replaces=(one.id, other.id),
            prompt=prompting.REWORD,
            model=model or None,
        )


def _own_words(memory: Memory) -> list[str]:
    """What the person said: the quotes, and the text itself where no model chose its words."""
    quotes = [origin.quote for origin in memory.origins if origin.quote]
    return quotes if memory.source is Source.INFERRED else [*quotes, memory.text]


def _may_be_same(one: Memory, other: Memory) -> bool:
    return (
        _NUMBER.findall(one.text) == _NUMBER.findall(other.text)
        and negated(one.text) == negated(other.text)
        and (one.valid_from, one.valid_until, one.expires_at)
        == (other.valid_from, other.valid_until, other.expires_at)
    )
