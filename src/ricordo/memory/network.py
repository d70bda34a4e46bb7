"""The graph in a person's hands: explore it, find paths, name things, merge and unmerge them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.errors import Invalid, NotFound, Refused
from ricordo.memory import announcing
from ricordo.memory.names import cleaned, fault_of, means_self
from ricordo.memory.services import Services
from ricordo.model import (
    MAX_NAME,
    SELF,
    Entity,
    MergeProposal,
    Rule,
    Scope,
    UserScope,
    check_text,
    name_key,
)
from ricordo.ports import Act, Fact, Reading, Walk, Writing

MAX_HOPS = 8
"""Most steps of a walk that a caller may ask for."""


async def explore(services: Services, entity: str, *, scopes: Sequence[Scope], hops: int) -> Walk:
    """Walk outwards from an entity, over some scopes' graphs; an unknown one yields nothing."""
    begin = _meant(entity, scopes)
    steps, at = _hops(hops), services.clock()
    with services.measures.act(Act.WALK) as doing:
        walk = await services.graph.walk([begin], scopes=scopes, hops=steps, at=at)
        doing.tell(Fact.HOPS, steps)
        doing.tell(Fact.FOUND, len(walk.paths))
    return walk


async def paths(
    services: Services, start: str, *, to: str, scopes: Sequence[Scope], hops: int
) -> Walk:
    """The shortest paths between two entities; none within `hops` yields nothing."""
    begin, end = _meant(start, scopes), _meant(to, scopes)
    steps, at = _hops(hops), services.clock()
    with services.measures.act(Act.WALK) as doing:
        walk = await services.graph.paths(begin, end, scopes=scopes, hops=steps, at=at)
        doing.tell(Fact.HOPS, steps)
        doing.tell(Fact.FOUND, len(walk.paths))
    return walk


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A merge that can be undone.

    Args:
        id: what `unmerge` takes.
        source, target: names; `target` stands for `source`.
    """

    id: str
    source: str
    target: str
    at: datetime


class Naming:
    """The right to name and merge the entities of one scope.

    Args:
        by: id of the person, for the audit.
    """

    def __init__(self, services: Services, *, scope: Scope, by: str) -> None:
        self._services = services
        self._scope = scope
        self._by = by

    async def alias(self, entity: str, *, name: str) -> Entity:
        """Let `name` mean the same entity as `entity`.

        Raises:
            NotFound: no such entity in the scope.
            Conflict: the name belongs to another entity; merge the two instead.
            Refused: it is no name, or it stands for the user.
        """
        _check_name(check_text(name, what="alias", longest=MAX_NAME))

        async def work(tx: Writing) -> Entity:
            known = await self._entity(tx, entity)
            if name_key(name) in {known.key, *map(name_key, known.aliases)}:
                return known
            named = replace(known, aliases=(*known.aliases, name))
            await tx.put_entity(named)
            await tx.audit("alias", by=self._by, scope=self._scope, subjects=[known.id])
            await tx.emit(announcing.aliased(known.id, **self._told))
            return named

        return await self._services.ledger.write(work, scope=self._scope)

    async def merge(self, source: str, *, into: str) -> str:
        """Let `into` stand for `source`: one entity from now on. Returns the merge's id.

        Raises:
            NotFound: one of them is not in the scope.
            Conflict: they are one already.
            Invalid: `source` is the user, for whom nothing else can stand.
        """

        async def work(tx: Writing) -> str:
            gone, stays = await self._entity(tx, source), await self._entity(tx, into)
            if isinstance(self._scope, UserScope) and gone.key == SELF:
                raise Invalid(f"nothing can stand for the user; merge the other into {SELF!r}")
            at = self._services.clock()
            ends = [gone.id, stays.id]
            merge_id = await tx.merge_entities(*ends, at=at, scope=self._scope)
            await tx.audit("merge", by=self._by, scope=self._scope, subjects=ends)
            await tx.emit(announcing.merged(merge_id, ends, **self._told))
            return merge_id

        return await self._services.ledger.write(work, scope=self._scope)

    async def merges(self) -> Sequence[Merged]:
        """Merges that were not undone, newest first: one that went further is undone later."""

        async def look(tx: Reading) -> list[Merged]:
            found = await tx.merges(scope=self._scope)
            targets = list(dict.fromkeys(merge.target for merge in found))
            known = await tx.entities_by_id(targets, scope=self._scope)
            return [
                Merged(
                    id=each.id,
                    source=each.names[0],
                    target=known[each.target].name,
                    at=each.at,
                )
                for each in reversed(found)
            ]

        return await self._services.ledger.read(look, scopes=[self._scope])

    async def proposals(self) -> Sequence[MergeProposal]:
        """Merges that consolidation proposes and that wait for a decision, oldest first."""

        async def look(tx: Reading) -> list[MergeProposal]:
            return await tx.merge_proposals(scope=self._scope)

        found = await self._services.ledger.read(look, scopes=[self._scope])
        return [proposal for proposal in found if not proposal.rejected]

    async def approve(self, proposal_id: str) -> str:
        """Merge as proposed. Returns the merge's id.

        Raises:
            NotFound: no such proposal waits here.
            Conflict: one of the two was merged into another meanwhile.
        """

        async def work(tx: Writing) -> str:
            found = await self._waiting(tx, proposal_id)
            await tx.decide_merge(proposal_id, rejected=False, scope=self._scope)
            at = self._services.clock()
            ends = [found.source, found.target]
            merge_id = await tx.merge_entities(*ends, at=at, scope=self._scope)
            await tx.audit("merge", by=self._by, scope=self._scope, subjects=[proposal_id, *ends])
            await tx.emit(announcing.merged(merge_id, ends, **self._told))
            await self._decided(tx, found, approved=True)
            return merge_id

        return await self._services.ledger.write(work, scope=self._scope)

    async def reject(self, proposal_id: str) -> MergeProposal:
        """Turn a proposed merge down; it is not proposed again. Raises `NotFound`."""

        async def work(tx: Writing) -> MergeProposal:
            found = await self._waiting(tx, proposal_id)
            await tx.decide_merge(proposal_id, rejected=True, scope=self._scope)
            await tx.audit("reject", by=self._by, scope=self._scope, subjects=[proposal_id])
            await self._decided(tx, found, approved=False)
            return replace(found, rejected=True)

        return await self._services.ledger.write(work, scope=self._scope)

    async def _decided(self, tx: Writing, found: MergeProposal, *, approved: bool) -> None:
        if isinstance(found.scope, UserScope):
            event = announcing.merge_decided(
                found,
                approved=approved,
                by=self._by,
                scope=found.scope,
                services=self._services,
            )
            await tx.emit(event)

    async def _waiting(self, tx: Reading, proposal_id: str) -> MergeProposal:
        for proposal in await tx.merge_proposals(scope=self._scope):
            if proposal.id == proposal_id and not proposal.rejected:
                return proposal
        raise NotFound(f"no proposed merge {proposal_id[:80]!a} here")

    async def unmerge(self, merge_id: str) -> tuple[str, str]:
        """Undo a merge. Returns the ids of the two entities. Raises `NotFound`."""

        async def work(tx: Writing) -> tuple[str, str]:
            pair = await tx.unmerge_entities(merge_id, scope=self._scope)
            await tx.audit("unmerge", by=self._by, scope=self._scope, subjects=list(pair))
            await tx.emit(announcing.unmerged(merge_id, pair, **self._told))
            return pair

        return await self._services.ledger.write(work, scope=self._scope)

    @property
    def _told(self) -> announcing.Telling:
        return {"by": self._by, "scope": self._scope, "services": self._services}

    async def _entity(self, tx: Reading, name: str) -> Entity:
        key = name_key(_meant(name, [self._scope]))
        found = await tx.entities([key], scope=self._scope)
        if key not in found:
            raise NotFound("no such entity here; `explore` shows what there is")
        return found[key]


def _meant(entity: str, scopes: Sequence[Scope]) -> str:
    """The name, or the user's own where it says "me" and a user's graph is asked; as relations."""
    check_text(entity, what="entity", longest=MAX_NAME)
    own = any(isinstance(scope, UserScope) for scope in scopes)
    return SELF if own and means_self(entity) else entity


def _check_name(name: str) -> None:
    """Rule (b): by an alias an entity is found as by its name, so the same is asked of it."""
    fault = "it stands for the user" if means_self(name) else fault_of(cleaned(name))
    if fault is not None:
        raise Refused(f"the alias is no name: {fault}", rule=Rule.NAMES)


def _hops(hops: int) -> int:
    if not 1 <= hops <= MAX_HOPS:
        raise Invalid(f"hops is {hops}; a walk takes 1 to {MAX_HOPS}")
    return hops
