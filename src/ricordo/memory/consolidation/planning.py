"""What a pass means to do: found on snapshots, page by page, so that nobody waits for it."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cmp_to_key

from ricordo.memory import validity
from ricordo.memory.consolidation.doing import Action
from ricordo.memory.consolidation.ending import Close, Expire, Lapse, Weigh, holding, is_over
from ricordo.memory.consolidation.merging import Merge
from ricordo.memory.consolidation.pairing import pairs
from ricordo.memory.consolidation.strength import is_firm_again, is_weak
from ricordo.memory.consolidation.wording import tells, wording
from ricordo.memory.services import Services
from ricordo.memory.vocabulary import Cardinality, Vocabulary
from ricordo.model import Entity, Listing, Memory, Page, Relation, Source, Status, UserScope
from ricordo.ports import Reading

PAGE = 200
"""Memories that are looked at in one go, between which others have their turn."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done, in order.

    Args:
        examined: memories that were looked at.
        undecided: single-valued relations with two values of which nothing tells the later.
    """

    actions: list[Action]
    examined: int
    undecided: int


async def plan(
    services: Services, *, scope: UserScope, at: datetime, between: Callable[[], Awaitable[None]]
) -> Plan:
    """Look at a person's active memories and their graph.

    Args:
        between: awaited between two pages.
    """
    seen = _Seen(services.vocabulary, at=at)
    listing = Listing(statuses=(Status.ACTIVE,), limit=PAGE)
    while True:
        page, relations = await _page(services, listing, scope=scope)
        seen.look_at(page.memories, relations)
        if page.cursor is None:
            break
        listing = replace(listing, after=page.cursor)
        await between()
    closes, undecided = seen.closes()
    proposals = await _pairs(services, seen, scope=scope)
    actions: list[Action] = [*seen.ends, *closes, *seen.merges(), *seen.weighed, *proposals]
    return Plan(actions=actions, examined=seen.examined, undecided=undecided)


async def _page(
    services: Services, listing: Listing, *, scope: UserScope
) -> tuple[Page, list[Relation]]:
    async def look(tx: Reading) -> tuple[Page, list[Relation]]:
        page = await tx.page(listing, scope=scope)
        ids = [memory.id for memory in page.memories]
        return page, await tx.relations_of(ids, scope=scope)

    return await services.ledger.read(look, scopes=[scope])


async def _pairs(services: Services, seen: "_Seen", *, scope: UserScope) -> list[Action]:
    """Entities that may be one, of those that a relation holds for now."""
    found: list[Entity] = []
    ids = sorted(seen.entities)
    for start in range(0, len(ids), PAGE):
        some = ids[start : start + PAGE]

        async def look(tx: Reading, some: Sequence[str] = some) -> list[Entity]:
            return list((await tx.entities_by_id(some, scope=scope)).values())

        found += await services.ledger.read(look, scopes=[scope])
    return list(pairs(found, related=seen.related, vocabulary=services.vocabulary))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What is needed of a memory to tell whether another one may stand for it."""

    rank: tuple[bool, bool, datetime, str]
    id: str
    version: int
    ends: tuple[datetime | None, datetime | None]
    since: datetime | None
    first_said: datetime


class _Seen:
    """Collects what the pages hold."""

    def __init__(self, vocabulary: Vocabulary, *, at: datetime) -> None:
        self.vocabulary = vocabulary
        self.at = at
        self.examined = 0
        self.ends: list[Action] = []
        self.weighed: list[Action] = []
        self.entities: set[str] = set()
        self.related: set[frozenset[str]] = set()
        self._held: dict[str, _Held] = {}
        self._same: dict[Key, list[str]] = defaultdict(list)
        self._single: dict[str, Relation] = {}
        self._lapsed: set[str] = set()

    def look_at(self, memories: Iterable[Memory], relations: Iterable[Relation]) -> None:
        """One page."""
        supported: dict[str, list[Relation]] = defaultdict(list)
        for relation in relations:
            if relation.closed_at is None:
                self._relation(relation)
                for memory_id in relation.evidence:
                    supported[memory_id].append(relation)
        for memory in memories:
            self.examined += 1
            if is_over(memory, at=self.at):
                self.ends.append(Expire(memory_id=memory.id))
                continue
            if is_weak(memory, at=self.at) or is_firm_again(memory, at=self.at):
                self.weighed.append(Weigh(memory_id=memory.id))
            if not memory.pending:
                self._text(memory, supported[memory.id])

    def _relation(self, relation: Relation) -> None:
        if validity.lapsed(relation, at=self.at):
            if relation.id not in self._lapsed:
                self._lapsed.add(relation.id)
                self.ends.append(Lapse(relation_id=relation.id))
            return
        self.entities |= {relation.source, relation.target}
        self.related.add(frozenset((relation.source, relation.target)))
        listed = self.vocabulary.relations.get(relation.type)
        if listed is not None and listed.cardinality is Cardinality.ONE:
            self._single[relation.id] = relation

    def _text(self, memory: Memory, relations: Sequence[Relation]) -> None:
        partition = (memory.kind.value, memory.partition.agent or "")
        words = wording(memory.text)
        if words:
            self._same[(*partition, "words", *words)].append(memory.id)
        if len(relations) == 1 and tells(memory.text, relations[0], self.vocabulary):
            self._same[(*partition, "relation", relations[0].id)].append(memory.id)
        self._held[memory.id] = _Held(
            rank=(
                not memory.pinned,
                memory.source is Source.INFERRED,
                memory.recorded_at,
                memory.id,
            ),
            id=memory.id,
            version=memory.version,
            ends=(memory.valid_until, memory.expires_at),
            since=memory.valid_from,
            first_said=min((memory.recorded_at, *(o.at for o in memory.origins))),
        )

    def merges(self) -> list[Action]:
        """Groups of memories that say the same, each with the one that will stand for it."""
        actions: list[Action] = []
        for ids in _joined(self._same.values()):
            for group in _compatible([self._held[memory_id] for memory_id in ids]):
                keep, *drop = sorted(group, key=lambda held: held.rank)
                versions = tuple((held.id, held.version) for held in drop)
                actions.append(Merge(keep=(keep.id, keep.version), drop=versions))
        return actions

    def closes(self) -> tuple[list[Action], int]:
        """Values of single-valued relations that a later one ends, and how many are undecided."""
        around: dict[Key, list[Relation]] = defaultdict(list)
        for relation in self._single.values():
            around[relation.type, relation.source].append(relation)
            if self.vocabulary.relations[relation.type].symmetric:
                around[relation.type, relation.target].append(relation)
        actions: dict[str, Action] = {}
        undecided = 0
        for values in around.values():
            ordered = sorted(values, key=cmp_to_key(self._order))
            for place, old in enumerate(ordered):
                rivals = [new for new in ordered[place + 1 :] if _far(old) != _far(new)]
                later = next((new for new in rivals if self._order(old, new) < 0), None)
                if later is not None:
                    actions.setdefault(old.id, Close(relation_id=old.id, rival_id=later.id))
                elif rivals:
                    undecided += 1
        return list(actions.values()), undecided

    def _order(self, one: Relation, other: Relation) -> int:
        """Below 0 when the first value is the older one, by the rule that holds on arrival."""
        before = validity.is_older(holding(one, at=self.at), other)
        after = validity.is_older(holding(other, at=self.at), one)
        return after - before


def _far(relation: Relation) -> frozenset[str]:
    return frozenset((relation.source, relation.target))


def _joined(groups: Iterable[list[str]]) -> list[list[str]]:
    """Groups that share a member are one; what is alone is left out."""
    leader: dict[str, str] = {}

    def find(one: str) -> str:
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    for group in groups:
        for each in group:
            leader.setdefault(each, each)
        for each in group[1:]:
            leader[find(each)] = find(group[0])
    joined: dict[str, list[str]] = defaultdict(list)
    for each in leader:
        joined[find(each)].append(each)
    return [group for group in joined.values() if len(group) > 1]


def _compatible(group: Sequence[_Held]) -> list[list[_Held]]:
    """Parts of a group that hold at the same time: with the same end, and not two beginnings."""
    parts: list[list[_Held]] = []
    by_ends: dict[tuple[datetime | None, datetime | None], list[_Held]] = defaultdict(list)
    for held in group:
        by_ends[held.ends].append(held)
    for same in by_ends.values():
        dated: dict[datetime, list[_Held]] = defaultdict(list)
        undated: list[_Held] = []
        for held in same:
            (undated if held.since is None else dated[held.since]).append(held)
        if len(dated) == 1:
            # What is told without a date may be the same only if it was told since then.
            [(since, some)] = dated.items()
            some += [held for held in undated if held.first_said >= since]
            undated = [held for held in undated if held.first_said < since]
        parts += [*dated.values(), undated]
    return [part for part in parts if len(part) > 1]
