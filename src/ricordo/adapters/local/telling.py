"""A graph view, as a walk reads it: few calls, each for several scopes and ahead of the walk."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from ricordo.model import Relation, Scope, name_seed
from ricordo.ports import GraphView, Ledger, Link, Place, Reading

AHEAD = 256
"""Entities that are asked for beside those that the walk is at: it will come to them next."""

_MOST = 4_000
"""Relations in one answer up to which asking ahead is worth it."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_Seen = tuple[str, int, int, int]
"""Of a relation that an entity has: its id, the far entity, its number, 1 where it points away."""


class Changed(Exception):
    """The ledger does not hold what a view told."""


class Telling:
    """Implements `ricordo.ports.Walking` over a view; what relations say comes from the ledger.

    Entities and relations get their numbers as they are met, over all scopes.
    """

    def __init__(
        self, view: GraphView, ledger: Ledger, *, keys: Mapping[Scope, str], at: datetime
    ) -> None:
        self._view = view
        self._ledger = ledger
        self._keys = keys
        self._scope_of = {key: scope for scope, key in keys.items()}
        self._at = (at - _EPOCH) // timedelta(microseconds=1)
        self._places: list[Place] = []
        self._numbers: dict[Place, int] = {}
        self._relations: dict[tuple[str, str], int] = {}
        self._ends: list[tuple[str, str, str]] = []
        self._named: dict[str, list[Place]] = {}
        self._sealed: dict[tuple[str, str], str] = {}
        self._links: dict[int, list[_Seen]] = {}
        self._twins: dict[int, list[tuple[int, str]]] = {}

    @property
    def knows_none(self) -> bool:
        """Whether the view knew none of the names that it was asked for."""
        return not any(self._named.values())

    async def nodes(self, keys: Sequence[str], *, scope: Scope) -> dict[str, int]:
        """See `ricordo.ports.Walking`. The names are looked up in all scopes at once."""
        sealed = await self._seal(keys, tenants={one.tenant for one in self._keys})
        unknown = [one for one in dict.fromkeys(sealed.values()) if one not in self._named]
        if unknown:
            self._named |= {one: [] for one in unknown}
            for place, key in await self._view.named(unknown, scopes=[*self._scope_of]):
                self._named.setdefault(key, []).append(place)
        found: dict[str, int] = {}
        for key in keys:
            for place in self._named[sealed[scope.tenant, key]]:
                if place[0] == self._keys[scope]:
                    found[key] = self._number(place)
        return found

    async def links(
        self, nodes: Sequence[int], *, scope: Scope, at: datetime, limit: int
    ) -> list[Link]:
        """See `ricordo.ports.Walking`."""
        del scope, at  # numbers are of one scope; a telling is of one instant
        unknown = [node for node in dict.fromkeys(nodes) if node not in self._links]
        if unknown and not await self._fetch_links(unknown, limit=limit):
            return await self._first_links(nodes, limit=limit)
        links: list[Link] = []
        for place, node in enumerate(nodes):
            for id_, far, number, forward in self._links[node]:
                links.append((place, id_, node, far, number, forward))
        return links[:limit]

    async def twins(
        self, nodes: Sequence[int], *, scope: Scope, other: Scope, apart: Sequence[str]
    ) -> list[tuple[int, int]]:
        """See `ricordo.ports.Walking`."""
        if scope.tenant != other.tenant:
            return []
        unknown = [node for node in dict.fromkeys(nodes) if node not in self._twins]
        if unknown:
            await self._fetch_twins(unknown)
        hidden = set((await self._seal(apart, tenants={scope.tenant})).values())
        there = self._keys[other]
        pairs = {
            (node, twin)
            for node in nodes
            for twin, key in self._twins[node]
            if key not in hidden and self._places[twin][0] == there
        }
        return sorted(pairs)

    async def described(
        self, relations: Sequence[int], *, scope: Scope
    ) -> dict[int, tuple[str, str, str, tuple[str, ...]]]:
        """See `ricordo.ports.Walking`; read from the ledger.

        Raises:
            Changed: one of them is not there, is another one, or does not hold.
        """
        ids = {self._ends[number][0]: number for number in relations}

        async def look(tx: Reading) -> list[Relation]:
            return await tx.relations(list(ids), scope=scope)

        found = {
            relation.id: relation for relation in await self._ledger.read(look, scopes=(scope,))
        }
        told: dict[int, tuple[str, str, str, tuple[str, ...]]] = {}
        for id_, number in ids.items():
            relation = found.get(id_)
            if relation is None or not self._holds(relation, number):
                raise Changed(f"relation {id_} is not what the view told")
            names = (relation.source_name, relation.type, relation.target_name)
            told[number] = (*names, relation.evidence)
        return told

    def _holds(self, relation: Relation, number: int) -> bool:
        if self._ends[number][1:] != (relation.source, relation.target):
            return False
        ends = relation.valid_until or relation.closed_at
        begun = relation.valid_from is None or _micros(relation.valid_from) <= self._at
        return begun and (ends is None or self._at < _micros(ends))

    async def _fetch_links(self, unknown: Sequence[int], *, limit: int) -> bool:
        """Learn all relations of these entities and of those that come next; False where there are
        too many."""
        ahead = (n for n in range(len(self._places)) if n not in self._links)
        asked = list(dict.fromkeys((*unknown, *_first(ahead, AHEAD))))
        for some in (asked, list(unknown)):
            places = [self._places[node] for node in some]
            seen, whole = await self._view.edges(places, at=self._at, limit=max(limit, _MOST))
            if whole:
                self._links |= {node: [] for node in some}
                for place, id_, far, forward in seen:
                    node = self._number(place)
                    self._links[node].append(self._seen(place, id_, far, forward=forward))
                for node in some:
                    self._links[node].sort(key=lambda link: (link[0], link[3]))
                return True
        return False

    async def _first_links(self, nodes: Sequence[int], *, limit: int) -> list[Link]:
        """The first relations of these entities, for some have very many."""
        places = [self._places[node] for node in nodes]
        seen, _ = await self._view.edges(places, at=self._at, limit=limit)
        order = {node: place for place, node in reversed([*enumerate(nodes)])}
        links: list[Link] = []
        for place, id_, far, forward in seen:
            node = self._number(place)
            _, end, number, ahead = self._seen(place, id_, far, forward=forward)
            links.append((order[node], id_, node, end, number, ahead))
        links.sort()
        return links

    async def _fetch_twins(self, unknown: Sequence[int]) -> None:
        asked = list(dict.fromkeys((*unknown, *self._unjoined())))
        self._twins |= {node: [] for node in asked}
        places = [self._places[node] for node in asked]
        for one, other, key in await self._view.twins(places, scopes=[*self._scope_of]):
            if one != other and other[0] in self._scope_of:
                self._twins[self._number(one)].append((self._number(other), key))

    def _unjoined(self) -> list[int]:
        return _first((n for n in range(len(self._places)) if n not in self._twins), AHEAD)

    def _seen(self, place: Place, id_: str, far: str, *, forward: bool) -> _Seen:
        ends = (place[1], far) if forward else (far, place[1])
        number = self._relations.setdefault((place[0], id_), len(self._ends))
        if number == len(self._ends):
            self._ends.append((id_, *ends))
        return id_, self._number((place[0], far)), number, int(forward)

    def _number(self, place: Place) -> int:
        if place[0] not in self._scope_of:
            raise Changed("the view told of a scope that was not asked for")
        number = self._numbers.setdefault(place, len(self._places))
        if number == len(self._places):
            self._places.append(place)
        return number

    async def _seal(
        self, keys: Iterable[str], *, tenants: Iterable[str]
    ) -> dict[tuple[str, str], str]:
        """By tenant and name the keyed hash under which views know it."""
        wanted = [(tenant, key) for tenant in sorted(tenants) for key in keys]
        fresh = [one for one in wanted if one not in self._sealed]
        sealed = await self._ledger.seal([name_seed(*one) for one in fresh])
        self._sealed.update(zip(fresh, sealed, strict=True))
        return {one: self._sealed[one] for one in wanted}


def _first(some: Iterable[int], limit: int) -> list[int]:
    found: list[int] = []
    for one in some:
        if len(found) == limit:
            break
        found.append(one)
    return found


def _micros(time: datetime) -> int:
    return (time - _EPOCH) // timedelta(microseconds=1)
