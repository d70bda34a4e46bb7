"""From a batch of turns to memories: ask the model once, check every item, commit at once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ricordo.memory import announcing, prompting
from ricordo.memory.credentials import without_secrets
from ricordo.memory.grounding import find_quote
from ricordo.memory.ranking import WEIGHTS, best
from ricordo.memory.services import Services
from ricordo.memory.sifting import Sifted, Sifter, claims_of, own_words
from ricordo.memory.storing import Draft, relate, store
from ricordo.memory.voices import own_voice
from ricordo.model import (
    Batch,
    Kind,
    Memory,
    Partition,
    Refusal,
    Relate,
    RelationClaim,
    Said,
    Scope,
    Sought,
    Speaker,
    Status,
    Turn,
    UserScope,
)
from ricordo.ports import Count, Extraction, Extractor, Reading, Writing

EXISTING = 10
"""Existing memories that a model is shown, so that it can say which ones are out of date."""


PROPOSED = "proposed-relations"
"""Why an active memory waits for a person: a model proposed relations of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a batch taught: drafts to store, relations to add, and what was refused."""

    batch: Batch
    drafts: tuple[Draft, ...] = ()
    related: tuple[tuple[str, tuple[RelationClaim, ...]], ...] = ()
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a lesson came to: memories stored, and items and relations refused."""

    stored: int
    refused: int


class Learner:
    """Turns batches into lessons, and lessons into memory.

    Args:
        tokens: of conversation per model call.
    """

    def __init__(self, services: Services, *, tokens: int) -> None:
        self._services = services
        self._tokens = tokens

    async def memories(self, batch: Batch, extractor: Extractor) -> Lesson:
        """Ask once what a batch of turns says about the user, and check every item.

        Raises:
            Malformed: the answer stayed unreadable.
            Unavailable: the model or the embedder is.
        """
        # What takes time in proportion to all that was said is done on threads: meanwhile this
        # loop answers people.
        turns = await asyncio.to_thread(_all_heard, batch)
        if not any(own_words(turn) for turn in turns):
            return Lesson(batch=batch)  # nothing of the user's own: no call
        existing = await self._existing(batch, turns)
        instructions = await asyncio.to_thread(
            prompting.extraction,
            turns,
            existing,
            vocabulary_relations=self._services.vocabulary.relation_names,
            vocabulary_types=self._services.vocabulary.type_names,
            budget_tokens=self._tokens,
            open_vocabulary=self._services.vocabulary.open,
        )
        answer = await extractor.extract(instructions)
        self._spent(answer)
        sifter = Sifter(
            self._services,
            batch=batch,
            turns=turns,
            existing=existing,
            instructions=instructions,
        )
        memories, refusals = await asyncio.to_thread(sifter.sift, answer, notes=instructions.notes)
        return Lesson(batch=batch, drafts=await self._drafts(memories), refusals=refusals)

    async def relations(self, batch: Batch, extractor: Extractor) -> Lesson:
        """Ask once which relations some texts state that were stored without any."""
        ids = [job.work.memory_id for job in batch.jobs if isinstance(job.work, Relate)]

        async def look(tx: Reading) -> list[Memory]:
            return await tx.memories(ids, scope=batch.scope)

        found = await self._services.ledger.read(look, scopes=[batch.scope])
        memories = [memory for memory in found if memory.status is Status.ACTIVE]
        if not memories:
            return Lesson(batch=batch)  # forgotten meanwhile
        answer = await extractor.extract(
            prompting.relating(
                memories,
                vocabulary_relations=self._services.vocabulary.relation_names,
                vocabulary_types=self._services.vocabulary.type_names,
                budget_tokens=self._tokens,
                open_vocabulary=self._services.vocabulary.open,
            )
        )
        self._spent(answer)
        related: list[tuple[str, tuple[RelationClaim, ...]]] = []
        for number, memory in enumerate(memories, start=1):
            claims = tuple(
                claim
                for candidate in answer.candidates
                if (candidate.turn or 1) == number and _stated_in(candidate.quote, memory.text)
                for claim in claims_of(candidate)
            )
            if claims:
                related.append((memory.id, claims))
        return Lesson(batch=batch, related=tuple(related))

    def _spent(self, answer: Extraction) -> None:
        """Count the tokens that a model says it used."""
        for by, tokens in (("input", answer.prompt_tokens), ("output", answer.completion_tokens)):
            if tokens:
                self._services.measures.add(Count.TOKENS, tokens, by=by)

    async def commit(self, lesson: Lesson) -> Committed:
        """Memories, origins, relations, refusals, audit and events, in one transaction.

        Raises:
            Conflict: the batch belongs to this worker no more; nothing was stored.
        """
        scope = lesson.batch.scope

        async def work(tx: Writing) -> tuple[int, list[Refusal]]:
            await tx.finish(lesson.batch)  # first: a lost lease must store nothing
            stored = [await store(tx, d, services=self._services) for d in lesson.drafts]
            refusals = [refusal for one in stored for refusal in one.refusals]
            for memory_id, claims in lesson.related:
                refusals += await self._propose(tx, memory_id, claims, scope=scope)
            for refusal in lesson.refusals:
                await tx.refuse(refusal)
                if isinstance(scope, UserScope):
                    told = announcing.refused(refusal, scope=scope, services=self._services)
                    await tx.emit(told)
            if stored:
                ids = [one.memory.id for one in stored]
                await tx.audit("extract", by="worker", scope=scope, subjects=ids)
            return len(stored), refusals

        stored, refusals = await self._services.ledger.write(work, scope=scope)
        self._services.measures.refused(refusals)
        return Committed(stored=stored, refused=len(refusals) + len(lesson.refusals))

    async def _propose(
        self, tx: Writing, memory_id: str, claims: tuple[RelationClaim, ...], *, scope: Scope
    ) -> tuple[Refusal, ...]:
        """A user's relations follow the policy; an organization's always wait for a curator.

        What the model is not sure of waits too. Returns those that broke a rule.
        """
        found = await tx.memories([memory_id], scope=scope)
        if not found:
            return ()  # forgotten meanwhile
        [memory] = found
        policy = self._services.policy
        automatic = isinstance(memory.scope, UserScope) and policy.auto_approve
        sure = [each for each in claims if automatic and each.confidence >= policy.min_confidence]
        # What waited before is of an older text, or proposed anew.
        waiting = () if automatic else memory.pending
        waiting = tuple(dict.fromkeys((*waiting, *(each for each in claims if each not in sure))))
        changed = replace(
            memory,
            pending=waiting,
            reasons=(PROPOSED,) if waiting else tuple(r for r in memory.reasons if r != PROPOSED),
            updated_at=self._services.clock(),
            version=memory.version + 1,
        )
        await tx.put(changed, indexed=None, space=None)
        _, refusals = await relate(
            tx, changed, sure, services=self._services, named_in=(changed.text,)
        )
        await tx.emit(announcing.updated(changed, "related", services=self._services))
        return refusals

    async def _existing(self, batch: Batch, turns: Sequence[Turn]) -> list[Memory]:
        """What is already known and close to what was said, for the model to update."""
        text = " ".join(own_words(turn) for turn in turns)[-4_000:]
        agents = dict.fromkeys(turn.agent for turn in turns)
        partitions = [
            Partition(scope=batch.scope, kind=Kind.FACT),
            *(Partition(scope=batch.scope, kind=Kind.PREFERENCE, agent=a) for a in agents),
        ]
        hits = await self._services.index.search(
            Sought(
                vector=await self._services.question(text),
                words=self._services.analyzer.words(text),
                weights=WEIGHTS,
            ),
            partitions=partitions,
            limit=EXISTING,
            at=self._services.clock(),
        )
        ids = [hit.memory_id for hit in best(hits.hits)[:EXISTING]]

        async def look(tx: Reading) -> list[Memory]:
            return await tx.memories(ids, scope=batch.scope)

        found = await self._services.ledger.read(look, scopes=[batch.scope])
        return [memory for memory in found if memory.status is Status.ACTIVE]

    async def _drafts(self, memories: Sequence[Sifted]) -> tuple[Draft, ...]:
        if not memories:
            return ()
        indexed = await self._services.indexed([memory.text for memory, _ in memories])
        space = await self._services.space()
        return tuple(
            Draft(memory=memory, claims=claims, indexed=ready, space=space)
            for (memory, claims), ready in zip(memories, indexed, strict=True)
        )


def _all_heard(batch: Batch) -> list[Turn]:
    return [_heard(job.work) for job in batch.jobs if isinstance(job.work, Turn)]


def _heard(turn: Turn) -> Turn:
    """The turn, its user speaking only in their own voice; what they pasted is blanked out.

    So are secrets: a model that saw one could quote it alone, where nothing tells what it is.
    """
    said = tuple(
        replace(said, text=without_secrets(own_voice(said.text)))
        if said.speaker is Speaker.USER and said.trusted
        else said
        for said in turn.said
    )
    return replace(turn, said=said)


def _stated_in(quote: str, text: str) -> bool:
    return find_quote(quote, [Said(speaker=Speaker.USER, text=text)]) is not None
