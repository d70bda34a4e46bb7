"""Feeding a view of relations: entities by their hashed names, and what holds between them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ricordo.memory.viewing.syncing import cut, signature
from ricordo.model import Entity, Relation, Scope, entry_version, name_key, name_seed
from ricordo.ports import Edge, GraphChanges, GraphView, Ledger, Mark, Node, Reading, ViewBuild

FIRST, LAST = -(1 << 63), (1 << 63) - 1
"""When what is open begins and ends, in microseconds since 1970."""

BEGUN = -1
"""The mark of a scope that is being fed for the first time."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_Found = tuple[dict[str, Entity], list[Relation]]


class GraphSync:
    """Implements `ricordo.memory.viewing.syncing.Sync` for graphs.

    In inventories an entity is ``n:`` and its id, a relation ``e:`` and its id.
    """

    def __init__(self, ledger: Ledger, view: GraphView, build: ViewBuild) -> None:
        self.build = build
        self._ledger = ledger
        self._view = view

    @property
    def view(self) -> GraphView:
        """What is fed."""
        return self._view

    async def sync(self, scope: Scope) -> None:
        """See `Sync`."""
        key = await self._ledger.subject(scope=scope)
        mark = (key, "")
        known = await self._mark(mark)
        changes = await self._changes(scope, since=known)
        if known is not None and changes.position <= known:
            return
        if known is None:
            # Noted before anything is sent: so the ledger knows that something may be there.
            await self._ledger.mark(self.build, marks={mark: BEGUN})
            await self._remove_strays(key, changes)
        await self._make(scope, key, changes.entities, changes.relations)
        await self._ledger.mark(self.build, marks={mark: changes.position})

    async def expected(self, scope: Scope) -> Mapping[str, str]:
        """See `Sync`."""
        changes = await self._changes(scope, since=None)
        entities, relations = await self._found(scope, changes.entities, changes.relations)
        nodes = await self._nodes(scope, entities.values())
        edges = [_edge(relation) for relation in relations]
        return {f"n:{n.id}": n.version for n in nodes} | {f"e:{e.id}": e.version for e in edges}

    async def mend(self, scope: Scope, ids: Sequence[str]) -> None:
        """See `Sync`."""
        key = await self._ledger.subject(scope=scope)
        entities = [one[2:] for one in ids if one.startswith("n:")]
        relations = [one[2:] for one in ids if one.startswith("e:")]
        await self._make(scope, key, entities, relations)

    async def sign(self) -> None:
        """See `Sync`."""
        key = await signature(self._ledger, self.build)
        node = Node(id="build", keys=(key,), version=entry_version(key))
        await self._view.upsert([node], (), scope=key)

    async def signed(self) -> bool:
        """See `Sync`."""
        return bool(await self._view.inventory(await signature(self._ledger, self.build)))

    async def removed(self, scope: Scope, memory_ids: Sequence[str]) -> None:
        """See `Sync`: what their removal took out of the graph is noted in the ledger.

        Nothing is added and no mark is set, so this may run beside the one who feeds.
        """
        del memory_ids
        key = await self._ledger.subject(scope=scope)
        mark = (key, "")
        known = await self._mark(mark)
        if known is None:
            return
        changes = await self._changes(scope, since=known)
        entities, relations = await self._found(scope, changes.entities, changes.relations)
        gone = [one for one in changes.entities if one not in entities]
        ended = sorted(set(changes.relations).difference(one.id for one in relations))
        if gone or ended:
            await self._view.remove(gone, ended, scope=key)

    async def _mark(self, mark: Mark) -> int | None:
        """How far the view is with a scope; None where its first feeding did not end."""
        known = (await self._ledger.marks(self.build, marks=[mark])).get(mark, BEGUN)
        return None if known == BEGUN else known

    async def _remove_strays(self, key: str, changes: GraphChanges) -> None:
        """What an interrupted feeding left, and is in the ledger no more."""
        known = {f"n:{one}" for one in changes.entities}
        known |= {f"e:{one}" for one in changes.relations}
        strays = sorted(set(await self._view.inventory(key)) - known)
        for some in cut(strays):
            nodes = [one[2:] for one in some if one.startswith("n:")]
            edges = [one[2:] for one in some if one.startswith("e:")]
            await self._view.remove(nodes, edges, scope=key)

    async def _make(
        self, scope: Scope, key: str, entities: Sequence[str], relations: Sequence[str]
    ) -> None:
        """Make these what they are in the ledger now: first what is gone, then entities, then
        relations."""
        for some in cut(entities):
            found, _ = await self._found(scope, some, ())
            gone = [one for one in some if one not in found]
            if gone:
                await self._view.remove(gone, (), scope=key)
            await self._view.upsert(await self._nodes(scope, found.values()), (), scope=key)
        for some in cut(relations):
            ends, there = await self._found(scope, (), some)
            gone = sorted(set(some).difference(relation.id for relation in there))
            if gone:
                await self._view.remove((), gone, scope=key)
            nodes = await self._nodes(scope, ends.values())
            await self._view.upsert(nodes, [_edge(relation) for relation in there], scope=key)

    async def _changes(self, scope: Scope, *, since: int | None) -> GraphChanges:
        async def look(tx: Reading) -> GraphChanges:
            return await tx.graph_changes(scope=scope, since=since)

        return await self._ledger.read(look, scopes=(scope,))

    async def _found(
        self, scope: Scope, entities: Sequence[str], relations: Sequence[str]
    ) -> _Found:
        """Those that stand, with the ends of the relations."""

        async def look(tx: Reading) -> _Found:
            there = await tx.relations(relations, scope=scope)
            ends = [end for relation in there for end in (relation.source, relation.target)]
            wanted = list(dict.fromkeys((*entities, *ends)))
            known = await tx.entities_by_id(wanted, scope=scope)
            return {one: e for one, e in known.items() if e.merged_into is None}, there

        return await self._ledger.read(look, scopes=(scope,))

    async def _nodes(self, scope: Scope, entities: Iterable[Entity]) -> list[Node]:
        nodes: list[Node] = []
        for entity in entities:
            names = dict.fromkeys(map(name_key, (entity.name, *entity.aliases)))
            seeds = [name_seed(scope.tenant, name) for name in names]
            keys = tuple(await self._ledger.seal(seeds))
            nodes.append(Node(id=entity.id, keys=keys, version=entry_version(*sorted(keys))))
        return nodes


def _edge(relation: Relation) -> Edge:
    since = FIRST if relation.valid_from is None else _micros(relation.valid_from)
    ends = relation.valid_until or relation.closed_at
    until = LAST if ends is None else _micros(ends)
    content = (relation.source, relation.target, relation.type, since, until)
    return Edge(
        id=relation.id,
        source=relation.source,
        target=relation.target,
        type=relation.type,
        since=since,
        until=until,
        version=entry_version(*content),
    )


def _micros(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)
