"""`UserMemory`: what agents may remember of one person, private to that person."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from datetime import datetime

from ricordo import access
from ricordo.errors import Denied, Invalid, NotFound
from ricordo.memory import erasure, exporting, network
from ricordo.memory.asked import NOT_SAID, own_quote
from ricordo.memory.consolidation import ConsolidationReport, Keeper, Undone
from ricordo.memory.intake import Intake
from ricordo.memory.network import Merged, Naming
from ricordo.memory.recall import Ask, Recaller
from ricordo.memory.records import KEEP, Keep, Records, storable
from ricordo.memory.screening import review_reasons, sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.storing import Stored
from ricordo.model import (
    DeadLetter,
    Entity,
    Forgotten,
    Kind,
    Listing,
    Memory,
    MergeProposal,
    Origin,
    Page,
    Pass,
    Principal,
    Receipt,
    Recollection,
    Refusal,
    Relate,
    Relation,
    RelationClaim,
    Revision,
    Said,
    Source,
    Status,
    Turn,
    check_id,
    check_limit,
)
from ricordo.ports import Walk


class UserMemory:
    """One user's memory, in the hands of that user, through one agent or directly.

    Private: nothing here is ever seen by another user. Through an agent, preferences are those that
    this agent learned; facts are known to all. `Ricordo.user` makes it.
    """

    def __init__(
        self,
        services: Services,
        *,
        principal: Principal,
        agent: str | None,
        recaller: Recaller,
        intake: Intake,
        keeper: Keeper,
    ) -> None:
        if agent is not None:
            check_id(agent, what="agent")
        self._services = services
        self._principal = principal
        self._agent = agent
        self._scope = access.user_scope(principal)
        self._recaller = recaller
        self._intake = intake
        self._keeper = keeper
        self._records = Records(services, scope=self._scope, by=principal.user)
        self._naming = Naming(services, scope=self._scope, by=principal.user)

    async def observe(self, turn: Turn) -> bool:
        """Queue a turn durably, to be remembered later; False if it was observed before.

        Raises:
            Erased: it was said before the person was erased.
        """
        return await self._intake.observe(turn, scope=self._scope)

    async def remember(
        self,
        text: str,
        *,
        kind: Kind | str = Kind.FACT,
        relations: Sequence[RelationClaim] = (),
        origin: Origin | None = None,
        importance: float = 0.5,
        pinned: bool = False,
        expires_at: datetime | None = None,
        valid_from: datetime | None = None,
        source: Source = Source.SAID,
        review: bool = False,
        heard: Sequence[Said] | None = None,
    ) -> Stored:
        """Store a memory word for word, without a model; the same again gains an origin.

        Args:
            text: at most 8,192 characters.
            kind: ``"preference"`` belongs to this agent, ``"fact"`` is known to all agents.
            relations: what the fact relates; checked by the integrity rules, which may refuse
                some. Without any, a model may propose them later.
            origin: where it was said; by default now, through this agent.
            importance: from 0 to 1.
            expires_at: not recalled from then on.
            valid_from: since when it is true.
            review: True where a model chose the words: what the review policy holds back, such as
                orders to a model, then waits for the person.
            heard: where a model chose the words, what the person said: a text that is no literal
                span of it is the model's, is kept as inferred, and waits for the person.

        Raises:
            Invalid: unusable text, a preference without an agent or with relations, or a secret.
        """
        kind = _kind(kind)
        storable(text)
        if kind is Kind.PREFERENCE and self._agent is None:
            raise Invalid("a preference belongs to an agent; name the agent that learns it")
        if kind is Kind.PREFERENCE and relations:
            raise Invalid("a preference has no relations; store them with a fact")
        if not 0.0 <= importance <= 1.0:
            raise Invalid(f"importance is {importance}; it lies between 0 and 1")
        now = self._services.clock()
        origin = origin or Origin(at=now, agent=self._agent)
        reasons = review_reasons(text, confidence=1.0, trusted=True) if review else ()
        if heard is not None:
            quote = await own_quote(text, heard=heard)
            origin = replace(origin, quote=quote)
            if quote is None:
                source, reasons = Source.INFERRED, (*reasons, NOT_SAID)
        memory = Memory(
            id=self._services.new_id("m"),
            scope=self._scope,
            kind=kind,
            text=text,
            agent=self._agent,
            status=Status.PROPOSED if reasons else Status.ACTIVE,
            reasons=reasons,
            source=source,
            origins=(origin,),
            importance=importance,
            pinned=pinned,
            expires_at=expires_at,
            valid_from=valid_from,
            sensitivity=sensitivity_of(text),
            recorded_at=now,
            updated_at=now,
        )
        stored = await self._records.add(memory, claims=relations, act="remember")
        self._intake.nudge()
        return stored

    async def recall(
        self,
        question: str,
        *,
        limit: int | None = None,
        tokens: int | None = None,
        deadline: float | None = None,
        hops: int | None = None,
        as_of: datetime | None = None,
        user: bool = True,
        organization: bool = True,
        namespaces: Sequence[str | None] | None = None,
        explain: bool = True,
        nearly: int = 0,
        origin: Origin | None = None,
    ) -> Recollection:
        """Find what helps with a question, in this user's memory and the granted organization's.

        Fails open: what is late or broken is left out, and named in the answer's `degraded`.

        Args:
            limit: at most this many memories, 1 to 1,000.
            tokens: at most about this many tokens of text.
            deadline: seconds.
            hops: steps of the walk in the graphs, 0 to 8. Where one of these four is not given,
                the settings' own holds.
            as_of: what was true then; None is now.
            user, organization: which memory to ask.
            namespaces: only these of the organization; None is all that are granted.
            explain: with each memory its signals and the walk that led to it.
            nearly: also so many that nearly made it, each with what kept it out, 0 to 100.
            origin: the run that asks; what was recalled is announced as of it.

        Raises:
            Denied: a namespace that is not granted.
            SpaceMismatch: memories were indexed with another model; reindex them.
            Invalid: a bound out of range.
        """
        return await self._recaller.recall(
            Ask(
                question=question,
                principal=self._principal,
                agent=self._agent,
                limit=limit,
                tokens=tokens,
                deadline=deadline,
                hops=hops,
                as_of=as_of,
                user=user,
                organization=organization,
                namespaces=None if namespaces is None else tuple(namespaces),
                explain=explain,
                nearly=nearly,
                origin=origin,
            )
        )

    async def list(self, listing: Listing | None = None) -> Page:
        """One page of memories, oldest first; through an agent only its own preferences."""
        return await self._records.list(self._visible(listing or Listing()))

    async def get(self, memory_id: str) -> Memory:
        """The memory of that id. Raises `NotFound`, for another agent's preference as well."""
        memory = await self._records.get(memory_id)
        if not self._sees(memory):
            raise self._records.missing(memory_id)
        return memory

    async def history(self, memory_id: str) -> Sequence[Revision]:
        """Its earlier texts, oldest first."""
        await self.get(memory_id)
        return await self._records.history(memory_id)

    async def relations(self, memory_id: str) -> Sequence[Relation]:
        """The relations that it supports."""
        await self.get(memory_id)
        return await self._records.relations(memory_id)

    async def edit(
        self,
        memory_id: str,
        *,
        text: str | Keep = KEEP,
        importance: float | Keep = KEEP,
        expires_at: datetime | Keep | None = KEEP,
        version: int | None = None,
    ) -> Memory:
        """Change a memory; an old text is kept as history until the memory is forgotten.

        A new text closes the relations that only the old one supported; a model may propose new
        ones. What is left out stays as it is.

        Args:
            expires_at: not recalled from then on; None is never.
            version: the version that was seen; None accepts any.

        Raises:
            NotFound: no such memory here.
            Conflict: it changed meanwhile, or another memory says the new text already.
            Invalid: a value out of range, or a secret.
        """
        await self.get(memory_id)
        edited = await self._records.edit(
            memory_id, text=text, importance=importance, expires_at=expires_at, version=version
        )
        self._intake.nudge()
        return edited

    async def pin(self, memory_id: str, *, pinned: bool = True) -> Memory:
        """Keep a memory at hand, or let it go again."""
        await self.get(memory_id)
        return await self._records.edit(memory_id, pinned=pinned)

    async def approve(self, memory_id: str) -> Stored:
        """Let a proposed memory be recalled, or its waiting relations into the graph."""
        await self.get(memory_id)
        return await self._records.approve(memory_id)

    async def reject(self, memory_id: str) -> Memory:
        """Turn down what was proposed."""
        await self.get(memory_id)
        return await self._records.reject(memory_id)

    async def refusals(self, *, limit: int = 50) -> Sequence[Refusal]:
        """What was refused on its way into this memory, newest first, with the rule.

        Through an agent without the items that were refused in conversations with other agents.
        """
        found = await self._records.refusals(limit=limit)
        return [refusal for refusal in found if self._hears_of(refusal)]

    async def forget(self, memory_id: str) -> Forgotten:
        """Remove one memory with everything derived; forgetting it twice is not an error.

        So does a turn that it came from, if that one still waits to be read, or is parked.
        """
        found = await self._records.find([memory_id])
        return await self._records.forget([m.id for m in found if self._sees(m)])

    async def forget_where(
        self,
        *,
        agent: str | None = None,
        thread_id: str | None = None,
        before: datetime | None = None,
        everything: bool = False,
    ) -> Forgotten:
        """Remove all memories that fit every given condition. Returns how many, and what else went.

        What is not memory yet goes too: turns that wait, are being read or are parked, and what was
        refused; so nothing of it becomes memory later.

        Args:
            agent: preferences that this agent learned, and no facts; of turns, what it heard.
            thread_id: with an origin in this thread.
            before: recorded before that time; a turn when it was taken in.
            everything: must be True when no condition is given.

        Raises:
            Invalid: no condition and not `everything`.
        """
        if agent is None and thread_id is None and before is None and not everything:
            raise Invalid("say what to forget: an agent, a thread, a time, or everything")
        listing = Listing(
            kind=Kind.PREFERENCE if agent is not None else None,
            agents=None if agent is None else (agent,),
            thread_id=thread_id,
            before=before,
        )
        return await self._records.forget_where(self._visible(listing))

    async def erase(self) -> Receipt:
        """Erase the person: everything in every place. The receipt tells what a scan found after.

        Late writes of what was said before do not come back.
        """
        return await erasure.erase(self._services, scope=self._scope)

    async def export(self) -> AsyncIterator[dict[str, object]]:
        """Everything kept about the user, as JSON-ready records, one memory or job at a time.

        Through an agent without other agents' preferences and conversations.
        """
        shown = exporting.Shown(memory=self._sees, refusal=self._hears_of, work=self._hears)
        async for record in exporting.export(self._services.ledger, scope=self._scope, shown=shown):
            yield record

    async def explore(self, entity: str, *, hops: int = 2) -> Walk:
        """Walk outwards from an entity in the user's own graph."""
        return await network.explore(self._services, entity, scopes=[self._scope], hops=hops)

    async def paths(self, start: str, *, to: str, hops: int = 4) -> Walk:
        """The shortest paths between two entities of the user's own graph."""
        return await network.paths(self._services, start, to=to, scopes=[self._scope], hops=hops)

    async def alias(self, entity: str, *, name: str) -> Entity:
        """Let `name` mean the same entity as `entity`."""
        return await self._naming.alias(entity, name=name)

    async def merge(self, source: str, *, into: str) -> str:
        """Let `into` stand for `source`. Returns the merge's id."""
        return await self._naming.merge(source, into=into)

    async def merges(self) -> Sequence[Merged]:
        """Merges that can be undone, newest first, with the ids that `unmerge` takes."""
        return await self._naming.merges()

    async def unmerge(self, merge_id: str) -> tuple[str, str]:
        """Undo a merge."""
        return await self._naming.unmerge(merge_id)

    async def merge_proposals(self) -> Sequence[MergeProposal]:
        """Entities that consolidation takes for one; each waits for a decision."""
        return await self._naming.proposals()

    async def approve_merge(self, proposal_id: str) -> str:
        """Merge two entities as proposed. Returns the merge's id, which `unmerge` takes."""
        return await self._naming.approve(proposal_id)

    async def reject_merge(self, proposal_id: str) -> MergeProposal:
        """Turn a proposed merge down; it is not proposed again."""
        return await self._naming.reject(proposal_id)

    async def consolidate(
        self, *, dry_run: bool = False, advance: Callable[[int], None] | None = None
    ) -> ConsolidationReport:
        """Put this memory in order now: one pass, as the background does it by itself.

        What says the same becomes one, outdated values are closed, what has ended is put away,
        what is stale and unused ranks lower; merges of entities are proposed. Never what waits for
        a decision.

        Args:
            dry_run: True changes nothing and tells what would be done.
            advance: called with how many acts more are done.

        Raises:
            Denied: through an agent that does not see all of the memory.
            Conflict: another pass over this memory is under way.
        """
        self._check_whole()
        return await self._keeper.consolidate(
            scope=self._scope, by=self._principal.user, dry_run=dry_run, advance=advance
        )

    async def consolidations(self, *, limit: int = 50) -> Sequence[Pass]:
        """Passes that changed something, newest first, with what they did. Raises `Denied`."""
        self._check_whole()
        return await self._keeper.passes(scope=self._scope, limit=limit)

    async def undo_consolidation(self, pass_id: str) -> Undone:
        """Take a pass back: what has not changed since is as it was before.

        What was forgotten since stays forgotten.

        Raises:
            NotFound: no such pass here.
            Conflict: it was undone already, or a later one went on from there.
            Denied: through an agent that does not see all of the memory.
        """
        self._check_whole()
        return await self._keeper.undo(pass_id, scope=self._scope, by=self._principal.user)

    async def dead_letters(self, *, limit: int = 50) -> Sequence[DeadLetter]:
        """The user's turns that could not be extracted, with their reasons.

        Through an agent only its own turns.
        """
        check_limit(limit)
        found = await self._services.ledger.dead_letters(scope=self._scope, limit=limit)
        return [letter for letter in found if self._hears(letter.job.work)]

    async def replay(self, job_id: int) -> None:
        """Queue a dead letter again. Raises `NotFound`, for another agent's turn as well."""
        await self._check_letter(job_id)
        await self._services.ledger.replay(job_id, scope=self._scope)
        self._intake.nudge()

    async def forget_letter(self, job_id: int) -> None:
        """Remove a dead letter, and what was said. Raises `NotFound`, as `replay` does."""
        await self._check_letter(job_id)
        await self._records.forget_letter(job_id)

    async def _check_letter(self, job_id: int) -> None:
        if self._restricted:
            ledger = self._services.ledger
            letters = await ledger.dead_letters(scope=self._scope, limit=exporting.ALL)
            mine = [letter.job.id for letter in letters if self._hears(letter.job.work)]
            if job_id not in mine:
                raise NotFound(f"no dead letter {job_id} here")

    def _sees(self, memory: Memory) -> bool:
        return access.may_see(
            memory.partition,
            self._principal,
            agent=self._agent,
            visibility=self._services.visibility,
        )

    def _check_whole(self) -> None:
        if self._restricted:
            raise Denied("consolidation is about the whole memory; ask without an agent")

    @property
    def _restricted(self) -> bool:
        """Whether what other agents of the user heard is hidden."""
        agents_own = self._services.visibility is access.PreferenceVisibility.AGENT
        return agents_own and self._agent is not None

    def _hears(self, work: Turn | Relate) -> bool:
        """Whether this agent may know of queued work; what another one heard may hold a preference.

        Relations are proposed for facts only, and facts are known to all.
        """
        return not self._restricted or isinstance(work, Relate) or work.agent == self._agent

    def _hears_of(self, refusal: Refusal) -> bool:
        if not self._restricted or refusal.rule is not None:
            return True  # only a fact's relation breaks a rule
        return refusal.origin is None or refusal.origin.agent == self._agent

    def _visible(self, listing: Listing) -> Listing:
        """Restrict a listing to what this agent may see of the user's preferences."""
        if not self._restricted:
            return listing
        wanted = (self._agent,) if listing.agents is None else listing.agents
        return replace(listing, agents=tuple(name for name in wanted if name == self._agent))


def _kind(kind: Kind | str) -> Kind:
    try:
        return Kind(kind)
    except ValueError:
        names = ", ".join(k.value for k in Kind)
        raise Invalid(f"kind is {str(kind)[:40]!a}; it is one of {names}") from None
