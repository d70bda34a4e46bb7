"""What a person may do with the memories of one scope: see, correct, decide, forget.

Rights are the caller's business; every call here is bound to one scope.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar

from ricordo.errors import Conflict, Invalid, NotFound
from ricordo.memory import announcing
from ricordo.memory.screening import refuse_reason, sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.storing import (
    Draft,
    Stored,
    close_relations,
    relate,
    store,
    supersede,
)
from ricordo.model import (
    MAX_RELATIONS,
    Forgotten,
    Indexed,
    Kind,
    Listing,
    Memory,
    Page,
    Refusal,
    Relate,
    Relation,
    RelationClaim,
    Revision,
    Scope,
    Source,
    Space,
    Status,
    Withdrawn,
    check_limit,
    check_text,
)
from ricordo.ports import Act, Fact, Look, Reading, Work, Writing

T = TypeVar("T")


class Keep:
    """The type of `KEEP`: leave a field as it is."""


KEEP: Final = Keep()
"""Default of every field that an edit does not change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What forgetting some memories would touch.

    Args:
        memories: how many would go.
        relations: relations that would lose their last evidence.
        entities: names of entities that would lose their last relation.
        recalls: how often they were given to agents so far.
        last_recalled_at: when last.
    """

    memories: int
    relations: int
    entities: tuple[str, ...]
    recalls: int
    last_recalled_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gone:
    """What was forgotten in one transaction."""

    ids: Sequence[str]
    unlearned: Withdrawn


def storable(value: object) -> str:
    """`value`, when it may become a memory. Raises `Invalid`: unusable as text, or a secret."""
    text = check_text(value)
    secret = refuse_reason(text)
    if secret is not None:
        raise Invalid(f"this looks like a secret ({secret}); memory is no place for secrets")
    return text


class Records:
    """The memories of one scope, in the hands of one person.

    Args:
        scope: minted by `ricordo.access`.
        by: id of the person, for the audit.
    """

    def __init__(self, services: Services, *, scope: Scope, by: str) -> None:
        self._services = services
        self._scope = scope
        self._by = by

    async def draft(self, memory: Memory, *, claims: Sequence[RelationClaim]) -> Draft:
        """Make a memory ready to be stored (embeds its text)."""
        [indexed] = await self._services.indexed([memory.text])
        return Draft(
            memory=memory,
            claims=tuple(claims),
            indexed=indexed,
            space=await self._services.space(),
        )

    async def add(self, memory: Memory, *, claims: Sequence[RelationClaim], act: str) -> Stored:
        """Store a memory that a person stated; a fact without relations is queued for proposals.

        Raises:
            Invalid: more relations than one memory may have.
        """
        if len(claims) > MAX_RELATIONS:
            raise Invalid(
                f"{len(claims):,} relations; one memory has at most {MAX_RELATIONS}. Split it"
            )
        with self._services.measures.act(Act(act)) as doing:
            stored = await self._add(memory, claims=claims, act=act)
            doing.tell(Fact.FRESH, stored.created)
            doing.tell(Fact.REFUSED, len(stored.refusals))
        self._services.measures.refused(stored.refusals)
        return stored

    async def _add(self, memory: Memory, *, claims: Sequence[RelationClaim], act: str) -> Stored:
        draft = await self.draft(memory, claims=claims)

        async def work(tx: Writing) -> Stored:
            stored = await store(tx, draft, services=self._services)
            if stored.created and not claims:
                await self._ask_for_relations(tx, stored.memory)
            await tx.audit(act, by=self._by, scope=self._scope, subjects=[stored.memory.id])
            return stored

        return await self._services.ledger.write(work, scope=self._scope)

    async def list(self, listing: Listing) -> Page:
        """One page of the memories that fit, oldest first."""
        check_limit(listing.limit, most=1_000)

        async def look(tx: Reading) -> Page:
            return await tx.page(listing, scope=self._scope)

        return await self._read(look)

    async def get(self, memory_id: str) -> Memory:
        """The memory of that id. Raises `NotFound`."""

        async def look(tx: Reading) -> Memory:
            return await self._one(tx, memory_id)

        return await self._read(look)

    async def find(self, ids: Sequence[str]) -> Sequence[Memory]:
        """Those of these memories that are here."""

        async def look(tx: Reading) -> Sequence[Memory]:
            return await tx.memories(ids, scope=self._scope)

        return await self._read(look)

    async def history(self, memory_id: str) -> Sequence[Revision]:
        """Its earlier texts, oldest first. Raises `NotFound`."""

        async def look(tx: Reading) -> Sequence[Revision]:
            await self._one(tx, memory_id)
            return await tx.history(memory_id, scope=self._scope)

        return await self._read(look)

    async def relations(self, memory_id: str) -> Sequence[Relation]:
        """The relations that it supports. Raises `NotFound`."""

        async def look(tx: Reading) -> Sequence[Relation]:
            await self._one(tx, memory_id)
            return await tx.relations_of([memory_id], scope=self._scope)

        return await self._read(look)

    async def refusals(self, *, limit: int) -> Sequence[Refusal]:
        """What was refused in this scope, newest first."""
        check_limit(limit)

        async def look(tx: Reading) -> Sequence[Refusal]:
            return await tx.refusals(scope=self._scope, limit=limit)

        return await self._read(look)

    async def edit(
        self,
        memory_id: str,
        *,
        text: str | Keep = KEEP,
        importance: float | Keep = KEEP,
        pinned: bool | Keep = KEEP,
        expires_at: datetime | Keep | None = KEEP,
        version: int | None = None,
    ) -> Memory:
        """Change a memory; an old text is kept as history until the memory is forgotten.

        A new text closes the relations that only the old one supported, and is queued so that
        new ones can be proposed.

        Args:
            version: the version that the person saw; None accepts any.

        Raises:
            NotFound: no such memory in this scope.
            Conflict: it changed meanwhile, or another memory says the new text already.
            Invalid: a value out of range, or a secret.
        """
        indexed: Indexed | None = None
        space: Space | None = None
        if not isinstance(text, Keep):
            storable(text)
            [indexed] = await self._services.indexed([text])
            space = await self._services.space()
        if not isinstance(importance, Keep) and not 0.0 <= importance <= 1.0:
            raise Invalid(f"importance is {importance}; it lies between 0 and 1")
        at = self._services.clock()

        async def work(tx: Writing) -> Memory:
            old = await self._one(tx, memory_id)
            if version is not None and version != old.version:
                raise Conflict(
                    f"memory {memory_id} is at version {old.version}, not {version}; read it again"
                )
            new = replace(
                old,
                text=old.text if isinstance(text, Keep) else text,
                sensitivity=old.sensitivity if isinstance(text, Keep) else sensitivity_of(text),
                importance=old.importance if isinstance(importance, Keep) else importance,
                pinned=old.pinned if isinstance(pinned, Keep) else pinned,
                expires_at=old.expires_at if isinstance(expires_at, Keep) else expires_at,
                demoted_at=None,  # somebody cares for it
                updated_at=at,
                version=old.version + 1,
            )
            await self._change(tx, old, new, indexed=indexed, space=space)
            return new

        return await self._services.ledger.write(work, scope=self._scope)

    async def _change(
        self, tx: Writing, old: Memory, new: Memory, *, indexed: Indexed | None, space: Space | None
    ) -> None:
        reworded = new.text != old.text
        await tx.put(new, indexed=indexed if reworded else None, space=space if reworded else None)
        if reworded:
            await close_relations(tx, new.id, scope=self._scope, at=new.updated_at)
            await self._ask_for_relations(tx, new)
        await tx.audit("edit", by=self._by, scope=self._scope, subjects=[new.id])
        await tx.emit(announcing.updated(new, "edited", services=self._services))

    async def _ask_for_relations(self, tx: Writing, memory: Memory) -> None:
        if memory.kind is Kind.FACT and memory.status is Status.ACTIVE:
            job = Relate(memory_id=memory.id, at=memory.updated_at)
            await tx.enqueue(job, scope=self._scope)

    async def approve(self, memory_id: str) -> Stored:
        """Make a proposed memory active, or let an active one's waiting relations into the graph.

        Raises:
            NotFound: no such memory in this scope.
            Conflict: nothing about it waits for a decision.
        """
        at = self._services.clock()

        async def work(tx: Writing) -> Stored:
            old = await self._waiting(tx, memory_id)
            new = replace(
                old,
                status=Status.ACTIVE,
                pending=(),
                reasons=(),
                updated_at=at,
                version=old.version + 1,
            )
            await tx.put(new, indexed=None, space=None)
            relations, refusals = await relate(tx, new, old.pending, services=self._services)
            if old.status is Status.PROPOSED:
                await supersede(
                    tx,
                    new.replaces,
                    scope=self._scope,
                    at=at,
                    services=self._services,
                    cause=new.origins[-1:],
                )
                if new.source is Source.SAID and not old.pending:
                    await self._ask_for_relations(tx, new)
            await self._decided(tx, new, approved=True)
            return Stored(memory=new, created=False, relations=relations, refusals=refusals)

        stored = await self._services.ledger.write(work, scope=self._scope)
        self._services.measures.refused(stored.refusals)
        return stored

    async def reject(self, memory_id: str) -> Memory:
        """Turn a proposed memory down, or drop an active one's waiting relations.

        A rejected memory is not proposed again; forgetting it removes it for good.
        """
        at = self._services.clock()

        async def work(tx: Writing) -> Memory:
            old = await self._waiting(tx, memory_id)
            proposed = old.status is Status.PROPOSED
            new = replace(
                old,
                status=Status.REJECTED if proposed else old.status,
                pending=(),
                updated_at=at,
                version=old.version + 1,
            )
            await tx.put(new, indexed=None, space=None)
            await self._decided(tx, new, approved=False)
            return new

        return await self._services.ledger.write(work, scope=self._scope)

    async def forget(self, ids: Sequence[str]) -> Forgotten:
        """Remove memories and everything derived from them; forgetting twice is not an error.

        A turn that such a memory came from goes too, if it still waits or is parked.
        """

        async def work(tx: Writing) -> _Gone:
            known = await tx.ids(Listing(), scope=self._scope, among=ids)
            return await self._remove(tx, known, None)

        return await self._forget(work)

    async def forget_where(self, listing: Listing) -> Forgotten:
        """Remove every memory that fits, and every turn and refusal, in one transaction."""

        async def work(tx: Writing) -> _Gone:
            return await self._remove(tx, await tx.ids(listing, scope=self._scope), listing)

        return await self._forget(work)

    async def forget_letter(self, job_id: int) -> None:
        """Remove a dead letter, and what was said. Raises `NotFound`."""
        with self._services.measures.act(Act.FORGET) as doing:
            await self._services.ledger.drop(job_id, scope=self._scope)
            await self._services.ledger.scrub()
            doing.tell(Fact.REMOVED, 0)

    async def _forget(self, work: Work[_Gone]) -> Forgotten:
        """Remove memories, in the files and in every view too."""
        with self._services.measures.act(Act.FORGET) as doing:
            gone = await self._services.ledger.write(work, scope=self._scope)
            if gone.ids:
                await self._services.views.forgotten(gone.ids, scope=self._scope)
            await self._services.ledger.scrub()
            doing.tell(Fact.REMOVED, len(gone.ids))
        also = gone.unlearned
        return Forgotten(len(gone.ids), turns=also.turns, refusals=also.refusals)

    async def impact(self, ids: Sequence[str]) -> Impact:
        """What forgetting these memories would touch; changes nothing."""

        async def look(tx: Reading) -> Impact:
            memories = await tx.memories(ids, scope=self._scope)
            gone = {memory.id for memory in memories}
            relations = await tx.relations_of(sorted(gone), scope=self._scope)
            lost = [relation for relation in relations if gone.issuperset(relation.evidence)]
            return Impact(
                memories=len(memories),
                relations=len(lost),
                entities=await self._stranded(tx, lost),
                recalls=sum(memory.recalls for memory in memories),
                last_recalled_at=max(
                    (m.last_recalled_at for m in memories if m.last_recalled_at), default=None
                ),
            )

        return await self._read(look)

    async def _stranded(self, tx: Reading, lost: Sequence[Relation]) -> tuple[str, ...]:
        """Names of entities all of whose relations are among `lost`."""
        names = {r.source: r.source_name for r in lost} | {r.target: r.target_name for r in lost}
        gone = {relation.id for relation in lost}
        stranded: list[str] = []
        for entity_id, name in names.items():
            edges = await tx.edges([entity_id], scope=self._scope, at=None, limit=len(gone) + 1)
            if all(edge.id in gone for edge in edges):
                stranded.append(name)
        return tuple(sorted(stranded))

    async def _remove(self, tx: Writing, known: Sequence[str], listing: Listing | None) -> _Gone:
        gone = await tx.withdraw(listing, ids=known, scope=self._scope)
        if known or gone != Withdrawn():
            await tx.audit("forget", by=self._by, scope=self._scope, subjects=known)
        if known:
            await tx.remove(known, scope=self._scope)
            for event in announcing.forgotten(known, scope=self._scope, services=self._services):
                await tx.emit(event)
        return _Gone(ids=known, unlearned=gone)

    async def _decided(self, tx: Writing, memory: Memory, *, approved: bool) -> None:
        act = "approve" if approved else "reject"
        await tx.audit(act, by=self._by, scope=self._scope, subjects=[memory.id])
        await tx.emit(
            announcing.decided(memory, approved=approved, by=self._by, services=self._services)
        )

    async def _waiting(self, tx: Reading, memory_id: str) -> Memory:
        memory = await self._one(tx, memory_id)
        waits = memory.status is Status.ACTIVE and memory.pending
        if memory.status is not Status.PROPOSED and not waits:
            raise Conflict(f"memory {memory_id} is {memory.status.value} and waits for no decision")
        return memory

    def missing(self, memory_id: str) -> NotFound:
        """The error for an id that is not here; the same whether it exists elsewhere or not."""
        return NotFound(f"no memory {memory_id[:80]!a} here")

    async def _one(self, tx: Reading, memory_id: str) -> Memory:
        found = await tx.memories([memory_id], scope=self._scope)
        if not found:
            raise self.missing(memory_id)
        return found[0]

    async def _read(self, look: Look[T]) -> T:
        return await self._services.ledger.read(look, scopes=[self._scope])
