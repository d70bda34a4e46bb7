"""`OrganizationMemory`: what a tenant's departments documented, shared with those granted."""

from collections.abc import Sequence
from datetime import datetime

from ricordo import access
from ricordo.errors import Invalid
from ricordo.memory import network
from ricordo.memory.intake import Intake
from ricordo.memory.network import Merged, Naming
from ricordo.memory.recall import Ask, Recaller
from ricordo.memory.records import KEEP, Impact, Keep, Records, storable
from ricordo.memory.screening import sensitivity_of
from ricordo.memory.services import Services
from ricordo.memory.storing import Stored
from ricordo.model import (
    DeadLetter,
    Entity,
    Forgotten,
    Kind,
    Listing,
    Memory,
    OrganizationScope,
    Origin,
    Page,
    Principal,
    Recollection,
    Refusal,
    Relation,
    RelationClaim,
    Revision,
    Role,
    Source,
    check_limit,
)
from ricordo.ports import Walk


class Unsaid:
    """The type of `UNSAID`: no namespace was named."""


UNSAID = Unsaid()
"""Default namespace: the only one that the principal may write."""


class OrganizationMemory:
    """A tenant's documented facts, in the hands of one principal.

    Told, never guessed at: conversation cannot write here. One namespace is written; all granted
    ones are read. `Ricordo.organization` makes it.
    """

    def __init__(
        self,
        services: Services,
        *,
        principal: Principal,
        namespace: str | Unsaid | None,
        recaller: Recaller,
        intake: Intake,
    ) -> None:
        self._services = services
        self._principal = principal
        self._namespace = namespace
        self._recaller = recaller
        self._intake = intake

    async def document(
        self,
        text: str,
        *,
        relations: Sequence[RelationClaim] = (),
        origin: Origin | None = None,
        importance: float = 0.5,
        pinned: bool = False,
        expires_at: datetime | None = None,
        valid_from: datetime | None = None,
        source: Source = Source.DOCUMENTED,
    ) -> Stored:
        """Store a fact word for word, attributed to the principal; the same again gains an origin.

        Without relations it is found by meaning at once; a model may propose relations, which wait
        for a curator.

        Raises:
            Denied: the principal is no curator of the namespace, or it is ambiguous which.
            Invalid: unusable text, or a secret.
        """
        scope = self._writable()
        storable(text)
        if not 0.0 <= importance <= 1.0:
            raise Invalid(f"importance is {importance}; it lies between 0 and 1")
        now = self._services.clock()
        memory = Memory(
            id=self._services.new_id("m"),
            scope=scope,
            kind=Kind.FACT,
            text=text,
            source=source,
            origins=(origin or Origin(at=now, author=self._principal.user),),
            importance=importance,
            pinned=pinned,
            expires_at=expires_at,
            valid_from=valid_from,
            sensitivity=sensitivity_of(text),
            recorded_at=now,
            updated_at=now,
        )
        stored = await self._records(Role.CURATOR).add(memory, claims=relations, act="document")
        self._intake.nudge()
        return stored

    async def search(
        self,
        question: str,
        *,
        namespaces: Sequence[str | None] | None = None,
        limit: int | None = None,
        tokens: int | None = None,
        deadline: float | None = None,
        hops: int | None = None,
        as_of: datetime | None = None,
        explain: bool = True,
        nearly: int = 0,
    ) -> Recollection:
        """Find documented facts by meaning, words and relation, in the granted namespaces.

        Raises:
            Denied: one of `namespaces` is not granted.
        """
        if namespaces is None and not isinstance(self._namespace, Unsaid):
            namespaces = [self._namespace]
        return await self._recaller.recall(
            Ask(
                question=question,
                principal=self._principal,
                agent=None,
                limit=limit,
                tokens=tokens,
                deadline=deadline,
                hops=hops,
                as_of=as_of,
                user=False,
                organization=True,
                explain=explain,
                nearly=nearly,
                namespaces=None if namespaces is None else tuple(namespaces),
            )
        )

    async def explore(self, entity: str, *, hops: int = 3) -> Walk:
        """Walk outwards from an entity, over the graphs of the granted namespaces."""
        return await network.explore(self._services, entity, scopes=self._readable(), hops=hops)

    async def paths(self, start: str, *, to: str, hops: int = 4) -> Walk:
        """The shortest paths between two entities, over the graphs of the granted namespaces."""
        return await network.paths(self._services, start, to=to, scopes=self._readable(), hops=hops)

    async def list(self, listing: Listing | None = None) -> Page:
        """One page of the namespace's facts, oldest first."""
        return await self._records(Role.READER).list(listing or Listing())

    async def get(self, memory_id: str) -> Memory:
        """The fact of that id. Raises `NotFound`."""
        return await self._records(Role.READER).get(memory_id)

    async def history(self, memory_id: str) -> Sequence[Revision]:
        """Its earlier texts, oldest first."""
        return await self._records(Role.READER).history(memory_id)

    async def relations(self, memory_id: str) -> Sequence[Relation]:
        """The relations that it supports."""
        return await self._records(Role.READER).relations(memory_id)

    async def edit(
        self,
        memory_id: str,
        *,
        text: str | Keep = KEEP,
        importance: float | Keep = KEEP,
        expires_at: datetime | Keep | None = KEEP,
        version: int | None = None,
    ) -> Memory:
        """Change a fact; an old text is kept as history until the fact is forgotten.

        A new text closes the relations that only the old one supported; a model may propose new
        ones. What is left out stays as it is.

        Args:
            expires_at: not recalled from then on; None is never.
            version: the version that was seen; None accepts any.

        Raises:
            Denied: without the role curator.
            NotFound: no such memory here.
            Conflict: it changed meanwhile, or another memory says the new text already.
            Invalid: a value out of range, or a secret.
        """
        edited = await self._records(Role.CURATOR).edit(
            memory_id, text=text, importance=importance, expires_at=expires_at, version=version
        )
        self._intake.nudge()
        return edited

    async def pin(self, memory_id: str, *, pinned: bool = True) -> Memory:
        """Keep a fact at hand, or let it go again."""
        return await self._records(Role.CURATOR).edit(memory_id, pinned=pinned)

    async def approve(self, memory_id: str) -> Stored:
        """Let a fact's proposed relations into the graph."""
        return await self._records(Role.CURATOR).approve(memory_id)

    async def reject(self, memory_id: str) -> Memory:
        """Drop a fact's proposed relations."""
        return await self._records(Role.CURATOR).reject(memory_id)

    async def refusals(self, *, limit: int = 50) -> Sequence[Refusal]:
        """What was refused on its way into the namespace, newest first, with the rule."""
        return await self._records(Role.CURATOR).refusals(limit=limit)

    async def impact(self, memory_id: str) -> Impact:
        """What forgetting a fact would touch; changes nothing."""
        return await self._records(Role.CURATOR).impact([memory_id])

    async def forget(self, memory_id: str) -> Forgotten:
        """Remove one fact with everything derived; forgetting it twice is not an error."""
        return await self._records(Role.CURATOR).forget([memory_id])

    async def dead_letters(self, *, limit: int = 50) -> Sequence[DeadLetter]:
        """The namespace's facts for which a model could propose no relations, with the reasons."""
        check_limit(limit)
        return await self._services.ledger.dead_letters(scope=self._writable(), limit=limit)

    async def replay(self, job_id: int) -> None:
        """Queue a dead letter again. Raises `NotFound`."""
        await self._services.ledger.replay(job_id, scope=self._writable())
        self._intake.nudge()

    async def forget_letter(self, job_id: int) -> None:
        """Remove a dead letter; the fact stays. Raises `NotFound`."""
        await self._records(Role.CURATOR).forget_letter(job_id)

    async def alias(self, entity: str, *, name: str) -> Entity:
        """Let `name` mean the same entity as `entity`."""
        return await self._naming().alias(entity, name=name)

    async def merge(self, source: str, *, into: str) -> str:
        """Let `into` stand for `source`. Returns the merge's id."""
        return await self._naming().merge(source, into=into)

    async def merges(self) -> Sequence[Merged]:
        """Merges that can be undone, newest first, with the ids that `unmerge` takes."""
        return await self._naming().merges()

    async def unmerge(self, merge_id: str) -> tuple[str, str]:
        """Undo a merge."""
        return await self._naming().unmerge(merge_id)

    def _writable(self) -> OrganizationScope:
        return self._scope(Role.CURATOR)

    def _scope(self, role: Role) -> OrganizationScope:
        unsaid = isinstance(self._namespace, Unsaid)
        namespace = access.sole_namespace(
            self._principal,
            None if isinstance(self._namespace, Unsaid) else self._namespace,
            given=not unsaid,
            role=role,
        )
        return access.organization_scope(self._principal, namespace, role=role)

    def _records(self, role: Role) -> Records:
        return Records(self._services, scope=self._scope(role), by=self._principal.user)

    def _readable(self) -> tuple[OrganizationScope, ...]:
        chosen = None if isinstance(self._namespace, Unsaid) else [self._namespace]
        return access.readable(self._principal, namespaces=chosen)

    def _naming(self) -> Naming:
        return Naming(self._services, scope=self._writable(), by=self._principal.user)
