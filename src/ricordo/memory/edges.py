"""How an admitted claim meets the edges that are there: rules (f), (g) and (i)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from ricordo.errors import Refused
from ricordo.memory import validity
from ricordo.memory.ends import End, Ends
from ricordo.memory.hierarchy import check_acyclic
from ricordo.memory.neighbours import Neighbours, all_edges
from ricordo.memory.validity import Holds
from ricordo.memory.vocabulary import Cardinality, RelationType
from ricordo.model import Memory, Relation, Rule, Scope
from ricordo.ports import Writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A claim whose ends, relation and time were understood."""

    source: End
    target: End
    relation: RelationType
    when: Holds
    confidence: float

    def is_same(self, other: Relation) -> bool:
        """Whether `other` says the same, a symmetric relation either way round."""
        if other.type != self.relation.name:
            return False
        ends = (self.source.id, self.target.id)
        turned = self.relation.symmetric and ends == (other.target, other.source)
        return turned or ends == (other.source, other.target)

    def is_rival(self, other: Relation) -> bool:
        """Whether `other` is another value of the same single-valued relation."""
        if self.relation.cardinality is Cardinality.MANY or other.type != self.relation.name:
            return False
        if self.is_same(other):
            return False
        if not self.relation.symmetric:
            return other.source == self.source.id
        return not {other.source, other.target}.isdisjoint({self.source.id, self.target.id})


class Edges:
    """Fits the edges of one memory into its scope's graph, one after the other.

    Attributes:
        relations: by id, those that stand: new ones, and known ones with new evidence.
        closed: by id, those that hold no more because of a claim.
    """

    def __init__(
        self,
        tx: Writing,
        ends: Ends,
        near: Neighbours,
        *,
        scope: Scope,
        memory: Memory,
        at: datetime,
        new_id: Callable[[str], str],
    ) -> None:
        self._tx = tx
        self._ends = ends
        self._near = near
        self._scope = scope
        self._memory = memory
        self._at = at
        self._new_id = new_id
        self.relations: dict[str, Relation] = {}
        self.closed: dict[str, Relation] = {}

    async def settle(self, edge: Edge) -> None:
        """Store the edge, or the evidence that it brings; before that, every rule is checked.

        Raises:
            Refused: (f) the memory states two values at once, or (g) there would be a cycle.
        """
        open_edges = await self._around(edge)
        over = [one for one in open_edges if validity.lapsed(one, at=self._at)]
        current = [one for one in open_edges if one not in over]
        same = next((one for one in current if edge.is_same(one)), None)
        if edge.when.over(self._at):
            await self._past(edge, same)
        elif same is not None:
            await self._again(edge, same)
        else:
            rivals = [one for one in current if edge.is_rival(one)]
            over = [one for one in over if edge.is_rival(one) or edge.is_same(one)]
            await self._new(edge, rivals, over=over)

    async def _around(self, edge: Edge) -> list[Relation]:
        """Current relations that may be the same, or rivals."""
        ends = [edge.source]
        if edge.relation.symmetric and edge.relation.cardinality is Cardinality.ONE:
            ends.append(edge.target)
        found: dict[str, Relation] = {}
        for end in ends:
            if end.stored is not None:
                found |= {one.id: one for one in await self._near.of(end.id)}
        return list(found.values())

    async def _new(
        self, edge: Edge, rivals: Sequence[Relation], *, over: Sequence[Relation]
    ) -> None:
        """Rules (f) and (g): a new value closes the old one, unless it is the older of the two."""
        rivals = [await self._near.whole(rival) for rival in rivals]
        self._check_unanimous(edge, rivals)
        later = [rival for rival in rivals if validity.is_older(edge.when, rival)]
        if later:
            before = validity.history(edge.when, later, at=self._at)
            if not before.impossible:
                await self._past(replace(edge, when=before), None)
                return
        await self._check_hierarchy(edge, at=None)
        await self._store_ends(edge)
        for rival in (*rivals, *[await self._near.whole(one) for one in over]):
            await self._close(validity.ended(rival, by=edge.when, at=self._at))
        await self._put(self._made(edge))

    async def _past(self, edge: Edge, current: Relation | None) -> None:
        """What holds no more: it ends the current relation, or is stored as history."""
        until, since = edge.when.until, None if current is None else current.valid_from
        if current is not None and until is not None and (since is None or since < until):
            whole = validity.widened(await self._near.whole(current), edge.when)
            await self._close(
                self._supported(replace(whole, closed_at=self._at), sure=edge.confidence)
            )
            return
        moment = edge.when.inside()
        known = await self._known_at(edge, moment)
        if known is not None:
            await self._again(edge, known)
            return
        await self._check_hierarchy(edge, at=moment)
        await self._store_ends(edge)
        await self._put(replace(self._made(edge), closed_at=self._at))

    async def _known_at(self, edge: Edge, moment: datetime | None) -> Relation | None:
        """The same relation, closed, of the same time."""
        if edge.source.stored is None or edge.target.stored is None:
            return None
        edges = await all_edges(self._tx, [edge.source.id], scope=self._scope, at=moment)
        closed = (one for one in edges if one.closed_at is not None and edge.is_same(one))
        return next(closed, None)

    async def _again(self, edge: Edge, known: Relation) -> None:
        """Rule (i): the same again adds evidence and origins to the edge that is there."""
        whole = await self._near.whole(known)
        stronger = self._supported(
            whole if whole.closed_at is not None else validity.widened(whole, edge.when),
            sure=edge.confidence,
        )
        await self._store_ends(edge)
        await self._put(stronger, unless=whole)

    async def _check_hierarchy(self, edge: Edge, *, at: datetime | None) -> None:
        known = edge.source.stored is not None and edge.target.stored is not None
        if edge.relation.hierarchical and known:
            await check_acyclic(
                self._tx,
                source=edge.source.id,
                target=edge.target.id,
                relation=edge.relation.name,
                scope=self._scope,
                at=at,
            )

    def _check_unanimous(self, edge: Edge, rivals: Sequence[Relation]) -> None:
        """One memory may not state two current values; which one is meant nobody can tell."""
        for rival in rivals:
            dated = edge.when.since is not None and rival.valid_from is not None
            if rival.id in self.relations and not (dated and edge.when.since != rival.valid_from):
                raise Refused(
                    f"the memory states two values of the single-valued {edge.relation.name}",
                    rule=Rule.CARDINALITY,
                )

    async def _store_ends(self, edge: Edge) -> None:
        await self._ends.store(edge.source)
        await self._ends.store(edge.target)

    async def _close(self, relation: Relation) -> None:
        await self._near.put(relation)
        self.relations.pop(relation.id, None)
        self.closed[relation.id] = relation

    async def _put(self, relation: Relation, *, unless: Relation | None = None) -> None:
        if relation != unless:
            await self._near.put(relation)
        self.relations[relation.id] = relation

    def _made(self, edge: Edge) -> Relation:
        return Relation(
            id=self._new_id("g"),
            scope=self._scope,
            source=edge.source.id,
            target=edge.target.id,
            source_name=edge.source.entity.name,
            target_name=edge.target.entity.name,
            type=edge.relation.name,
            recorded_at=self._at,
            evidence=(self._memory.id,),
            valid_from=edge.when.since,
            valid_until=edge.when.until,
            confidence=edge.confidence,
            origins=self._memory.origins,
        )

    def _supported(self, relation: Relation, *, sure: float) -> Relation:
        """The relation with this memory among its evidence."""
        memory = self._memory
        origins = dict.fromkeys((*relation.origins, *memory.origins))
        return replace(
            relation,
            evidence=tuple(dict.fromkeys((*relation.evidence, memory.id))),
            origins=tuple(sorted(origins, key=lambda origin: origin.at)),
            confidence=max(relation.confidence, sure),
        )
