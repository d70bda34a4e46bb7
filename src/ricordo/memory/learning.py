"""From a batch of turns to memories: ask the model once, check every item, commit at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ricordo.memory import announcing, prompting, weighing
from ricordo.memory.credentials import without_secrets
from ricordo.memory.grounding import Located, find_quote
from ricordo.memory.ranking import WEIGHTS, best
from ricordo.memory.screening import refuse_reason, review_reasons, sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.settling import Grounded, settled
from ricordo.memory.storing import Draft, relate, store
from ricordo.memory.voices import own_voice, unbroken
from ricordo.memory.weighing import alike
from ricordo.model import (
    MAX_TEXT,
    Batch,
    EntityClaim,
    Kind,
    Memory,
    Origin,
    Partition,
    Refusal,
    Relate,
    RelationClaim,
    Said,
    Scope,
    Sought,
    Source,
    Speaker,
    Status,
    Turn,
    UserScope,
    clean_text,
)
from ricordo.ports import (
    Candidate,
    Count,
    Extraction,
    Extractor,
    Instructions,
    Reading,
    Writing,
)

Sifted = tuple[Memory, tuple[RelationClaim, ...]]
"""A memory that passed the checks, with its claims."""

EXISTING = 10
"""Existing memories that a model is shown, so that it can say which ones are out of date."""


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
        turns = [_heard(job.work) for job in batch.jobs if isinstance(job.work, Turn)]
        if not any(_own_words(turn) for turn in turns):
            return Lesson(batch=batch)  # nothing of the user's own: no call
        existing = await self._existing(batch, turns)
        instructions = prompting.extraction(
            turns,
            existing,
            vocabulary_relations=self._services.vocabulary.relation_names,
            vocabulary_types=self._services.vocabulary.type_names,
            budget_tokens=self._tokens,
            open_vocabulary=self._services.vocabulary.open,
        )
        answer = await extractor.extract(instructions)
        self._spent(answer)
        sifter = _Sifter(
            self._services,
            batch=batch,
            turns=turns,
            existing=existing,
            instructions=instructions,
        )
        memories, refusals = sifter.sift(answer, notes=instructions.notes)
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
                for claim in _claims(candidate)
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

        Returns those that broke a rule.
        """
        found = await tx.memories([memory_id], scope=scope)
        if not found:
            return ()  # forgotten meanwhile
        [memory] = found
        automatic = isinstance(memory.scope, UserScope) and self._services.policy.auto_approve
        changed = replace(
            memory,
            pending=() if automatic else tuple(dict.fromkeys((*memory.pending, *claims))),
            reasons=memory.reasons if automatic else ("proposed-relations",),
            updated_at=self._services.clock(),
            version=memory.version + 1,
        )
        await tx.put(changed, indexed=None, space=None)
        refusals: tuple[Refusal, ...] = ()
        if automatic:
            _, refusals = await relate(
                tx, changed, claims, services=self._services, named_in=(changed.text,)
            )
        await tx.emit(announcing.updated(changed, "related", services=self._services))
        return refusals

    async def _existing(self, batch: Batch, turns: Sequence[Turn]) -> list[Memory]:
        """What is already known and close to what was said, for the model to update."""
        text = " ".join(_own_words(turn) for turn in turns)[-4_000:]
        agents = dict.fromkeys(turn.agent for turn in turns)
        partitions = [
            Partition(scope=batch.scope, kind=Kind.FACT),
            *(Partition(scope=batch.scope, kind=Kind.PREFERENCE, agent=a) for a in agents),
        ]
        hits = await self._services.index.search(
            Sought(
                vector=await self._services.embedder.question(text),
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

    async def _drafts(
        self, memories: Sequence[tuple[Memory, tuple[RelationClaim, ...]]]
    ) -> tuple[Draft, ...]:
        indexed = await self._services.indexed([memory.text for memory, _ in memories])
        space = await self._services.space()
        return tuple(
            Draft(memory=memory, claims=claims, indexed=ready, space=space)
            for (memory, claims), ready in zip(memories, indexed, strict=True)
        )


class _Sifter:
    """Checks a model's items one by one: grounded, allowed, and fit for the right cell."""

    def __init__(
        self,
        services: Services,
        *,
        batch: Batch,
        turns: Sequence[Turn],
        existing: Sequence[Memory],
        instructions: Instructions,
    ) -> None:
        self._services = services
        self._scope = batch.scope
        self._turns = turns
        self._existing = existing
        known = tuple(one.text for one in existing)
        self._shown = (*prompting.example_texts(instructions), *known)
        self._examples = "\n".join(part for pair in instructions.examples for part in pair)
        self._heard = (*(said.text for turn in turns for said in turn.said), *known)
        self._now = services.clock()
        self._memories: list[Sifted] = []
        self._refusals: list[Refusal] = []

    def sift(
        self, answer: Extraction, *, notes: Sequence[str]
    ) -> tuple[list[Sifted], tuple[Refusal, ...]]:
        """The memories that may be stored, and a refusal for all that may not or was not read."""
        grounded = (self._ground(candidate) for candidate in answer.candidates)
        for item in settled([item for item in grounded if item is not None]):
            self._keep(item, answer)
        for fault in answer.faults:
            self._refuse(f"unreadable item: {fault}", None, None)
        for note in filter(prompting.concerns_source, notes):
            self._refuse(f"not read, to keep the token budget: {note}", None, None)
        return self._memories, tuple(self._refusals)

    def _ground(self, candidate: Candidate) -> Grounded | None:
        """The item with its quote, in the cell where it belongs; None when it was refused."""
        text = " ".join(clean_text(candidate.text).split())
        located = self._locate(candidate)
        secret = refuse_reason(text) or refuse_reason(candidate.quote)
        if secret is not None:
            # Without text and quote: what must not be remembered must not lie among the refusals.
            where = _origin(located[0], None) if located else None
            self._refuse(f"it looks like a secret ({secret})", None, where)
            return None
        if located is None:
            self._refuse("its quote is not what the user said", text, None)
            return None
        turn, quote = located
        origin = _origin(turn, quote)
        if not text or len(text) > MAX_TEXT:
            self._refuse("its text is empty or too long", None, origin)
            return None
        if candidate.kind not in (Kind.PREFERENCE, Kind.FACT):
            self._refuse("its kind is neither preference nor fact", text, origin)
            return None
        kind, verbatim = Kind(candidate.kind), False
        if kind is Kind.FACT and weighing.request(quote):
            kind, verbatim = Kind.PREFERENCE, not alike(text, [quote.span])
        elif self._echoes(text, quote):
            verbatim = kind is Kind.PREFERENCE and weighing.wish(quote)
            if not verbatim:
                self._refuse("it repeats what the model was shown, not what was said", text, origin)
                return None
        if verbatim:
            # What a model made of such words is a guess; the words themselves are not.
            text = " ".join(quote.span.split())[:MAX_TEXT]
        doubt = weighing.doubt(kind, text, quote)
        if doubt is not None:
            self._refuse(doubt, text, origin)
            return None
        fit = replace(candidate, kind=kind.value, text=text)
        return Grounded(fit, turn, quote, verbatim=verbatim)

    def _echoes(self, text: str, quote: Located) -> bool:
        foreign = weighing.foreign_name(text, shown=self._examples, heard=self._heard)
        return foreign or weighing.echo(text, quote, shown=self._shown)

    def _keep(self, item: Grounded, answer: Extraction) -> None:
        candidate, turn = item.candidate, item.turn
        kind, text = Kind(candidate.kind), candidate.text
        confidence = min(max(candidate.confidence, 0.0), 1.0)
        policy = self._services.policy
        reasons = review_reasons(
            text, confidence=confidence, trusted=True, min_confidence=policy.min_confidence
        )
        if not policy.auto_approve:
            reasons = (*reasons, "policy")
        memory = Memory(
            id=self._services.new_id("m"),
            scope=self._scope,
            kind=kind,
            text=text,
            agent=turn.agent,
            status=Status.PROPOSED if reasons else Status.ACTIVE,
            source=Source.INFERRED,
            origins=(_origin(turn, item.quote),),
            confidence=confidence,
            sensitivity=sensitivity_of(text),
            reasons=reasons,
            recorded_at=self._now,
            updated_at=self._now,
            prompt=prompting.EXTRACT,
            model=answer.model or None,
        )
        claims = _claims(candidate) if kind is Kind.FACT else ()
        self._memories.append((replace(memory, replaces=self._replaced(candidate, memory)), claims))

    def _locate(self, candidate: Candidate) -> tuple[Turn, Located] | None:
        """The turn in which the quote was said: the one that the model names, or else any."""
        turns = list(self._turns)
        if candidate.turn is not None and 1 <= candidate.turn <= len(turns):
            turns.insert(0, turns.pop(candidate.turn - 1))
        for turn in turns:
            located = find_quote(candidate.quote, turn.said)
            if located is not None:
                return turn, unbroken(located)
        return None

    def _replaced(self, candidate: Candidate, memory: Memory) -> tuple[str, ...]:
        """Existing memories of the same partition that the model says are out of date.

        Only what shares a word with the new text or with what the user said: small models give
        numbers at random, and would retire what is true.
        """
        named = [self._existing[n - 1] for n in candidate.replaces if 1 <= n <= len(self._existing)]
        able = [
            old
            for old in self._existing
            if old.partition == memory.partition and old.digest != memory.digest and not old.pinned
        ]
        heard = [" ".join(_own_words(turn) for turn in self._turns)]
        fit = [old for old in able if old in named and alike(old.text, [candidate.text, *heard])]
        if named and not fit:
            # A wrong number is not no replacement, where the user speaks of one thing only.
            spoken_of = [old for old in able if alike(old.text, heard)]
            fit = spoken_of if len(spoken_of) == 1 else []
        return tuple(old.id for old in fit)

    def _refuse(self, reason: str, text: str | None, origin: Origin | None) -> None:
        self._refusals.append(
            Refusal(
                id=self._services.new_id("r"),
                scope=self._scope,
                at=self._now,
                reason=reason,
                text=text[:MAX_TEXT] if text else None,
                origin=origin or _origin(self._turns[-1], None),
            )
        )


def _claims(candidate: Candidate) -> tuple[RelationClaim, ...]:
    return tuple(
        RelationClaim(
            source=EntityClaim(name=stated.source, type=stated.source_type),
            relation=stated.relation,
            target=EntityClaim(name=stated.target, type=stated.target_type),
        )
        for stated in candidate.relations
    )


def _origin(turn: Turn, quote: Located | None) -> Origin:
    return Origin(
        at=turn.at,
        agent=turn.agent,
        thread_id=turn.thread_id,
        display_id=turn.display_id,
        run_id=turn.run_id,
        message_ids=tuple(said.id for said in turn.said if said.id is not None),
        quote=None if quote is None else quote.span,
    )


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


def _own_words(turn: Turn) -> str:
    return " ".join(
        said.text for said in turn.said if said.speaker is Speaker.USER and said.trusted
    ).strip()


def _stated_in(quote: str, text: str) -> bool:
    return find_quote(quote, [Said(speaker=Speaker.USER, text=text)]) is not None
