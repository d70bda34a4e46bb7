"""A model's items, checked one by one: grounded, allowed, and fit for the right cell."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from ricordo.memory import prompting, weighing
from ricordo.memory.grounding import Folds, Located, find_quote
from ricordo.memory.screening import refuse_reason, review_reasons, sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.settling import Grounded, settled
from ricordo.memory.voices import unbroken
from ricordo.memory.weighing import alike
from ricordo.model import (
    MAX_TEXT,
    Batch,
    EntityClaim,
    Kind,
    Memory,
    Origin,
    Refusal,
    RelationClaim,
    Source,
    Speaker,
    Status,
    Turn,
    clean_text,
)
from ricordo.ports import Candidate, Extraction, Instructions

Sifted = tuple[Memory, tuple[RelationClaim, ...]]
"""A memory that passed the checks, with its claims."""


class Sifter:
    """Checks the items of one answer about a batch of turns. Its work takes time in proportion to
    all that was said, so it belongs on a thread.

    Args:
        turns: of the batch, the user speaking in their own voice.
        existing: memories that the model was shown, in the order of their numbers.
        instructions: what the model was asked, whose examples must not come back as memories.
    """

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
        self._said = (*(said.text for turn in turns for said in turn.said), *known)
        self._folds = Folds()
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

    @cached_property
    def _own_words(self) -> str:
        return " ".join(own_words(turn) for turn in self._turns)

    @cached_property
    def _words(self) -> frozenset[str]:
        return weighing.words_of(self._said)

    def _echoes(self, text: str, quote: Located) -> bool:
        foreign = weighing.foreign_name(text, shown=self._examples, heard=self._words)
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
        claims = claims_of(candidate) if kind is Kind.FACT else ()
        self._memories.append((replace(memory, replaces=self._replaced(candidate, memory)), claims))

    def _locate(self, candidate: Candidate) -> tuple[Turn, Located] | None:
        """The turn in which the quote was said: the one that the model names, or else any."""
        turns = list(self._turns)
        if candidate.turn is not None and 1 <= candidate.turn <= len(turns):
            turns.insert(0, turns.pop(candidate.turn - 1))
        for turn in turns:
            located = find_quote(candidate.quote, turn.said, folds=self._folds)
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
        heard = [self._own_words]
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


def claims_of(candidate: Candidate) -> tuple[RelationClaim, ...]:
    """The relations that an item states, by the names of their ends."""
    return tuple(
        RelationClaim(
            source=EntityClaim(name=stated.source, type=stated.source_type),
            relation=stated.relation,
            target=EntityClaim(name=stated.target, type=stated.target_type),
            confidence=min(max(candidate.confidence, 0.0), 1.0),
        )
        for stated in candidate.relations
    )


def own_words(turn: Turn) -> str:
    """What the user said in the turn; not what others, tools or documents did."""
    return " ".join(
        said.text for said in turn.said if said.speaker is Speaker.USER and said.trusted
    ).strip()


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
