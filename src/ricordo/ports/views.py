"""Views outside the ledger: engines that find, and are never asked what is true.

A view holds ids, vectors, names in keyed hashes, validity and versions; never a text. It knows
scopes and partitions only by keyed hashes of the ledger (hexadecimal digits), so no engine can take
one for a pattern, and nobody can read from it who is remembered. Whatever it answers is read again
from the ledger before anybody sees it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class View(Protocol):
    """One build of a view in an engine.

    1. Every change is idempotent, and acknowledged when it was made.
    2. A call ends within the view's own patience: by an answer, or by `Unavailable`.
    3. What was removed or dropped is in no answer and in no inventory.
    4. One scope's change touches no other scope's entries.

    Attributes:
        name: of the view, as in the settings.
        engine: what it runs on, for people, for example ``"Neo4j 5.26.0"``.
    """

    name: str
    engine: str

    async def open(self, *, create: bool) -> None:
        """Reach the engine and see that it can serve; with `create`, make what is missing.

        Raises:
            Invalid: it cannot do what a view needs, or the settings do not fit it.
            NotFound: nothing is there, and `create` is False.
            SpaceMismatch: what is there was made for other vectors.
            Denied: it refuses the credentials. Unavailable: it does not answer.
        """
        ...

    async def drop(self, scope: str) -> None:
        """Remove everything of a scope."""
        ...

    async def inventory(self, scope: str) -> Mapping[str, str]:
        """Everything of a scope: ids with versions."""
        ...

    async def scopes(self) -> set[str]:
        """Every scope of which something is here."""
        ...

    async def destroy(self) -> None:
        """Remove this build as a whole; what is not there is no error."""
        ...

    async def close(self) -> None:
        """Release the connection; closing twice is not an error."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A memory's place among the meanings.

    Args:
        part: key of its partition.
        version: changes whenever anything else here does.
    """

    memory_id: str
    part: str
    vector: bytes
    version: str


class VectorView(View, Protocol):
    """Finds memories by meaning.

    5. A search of a part is answered from that part alone, however much else there is.
    """

    async def upsert(self, points: Sequence[Point], *, scope: str, fresh: bool) -> None:
        """Put these memories of one scope in place; `fresh` when none of them can be there yet."""
        ...

    async def remove(self, ids: Sequence[str], *, scope: str) -> None:
        """Remove these memories; unknown ids are no error."""
        ...

    async def search(self, vector: bytes, *, part: str, limit: int) -> Sequence[str]:
        """Ids of the memories of a part that are nearest, nearest first; fewer only when the part
        has no more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity: its id, and the keyed hashes of all its names."""

    id: str
    keys: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation between two entities of one scope.

    Args:
        since, until: microseconds since 1970; the smallest and largest int64 where open.
    """

    id: str
    source: str
    target: str
    type: str
    since: int
    until: int
    version: str


Place = tuple[str, str]
"""An entity in a graph view: key of its scope, and its id."""

EdgeSeen = tuple[Place, str, str, bool]
"""A relation as it is met: from which entity, its id, the far entity's id, whether forward."""


class GraphView(View, Protocol):
    """Finds entities by relation.

    5. Only relations of the asked scopes that hold at the asked instant are met.
    """

    async def upsert(self, nodes: Sequence[Node], edges: Sequence[Edge], *, scope: str) -> None:
        """Put entities, then relations between entities of one scope in place."""
        ...

    async def remove(self, nodes: Sequence[str], edges: Sequence[str], *, scope: str) -> None:
        """Remove relations and entities, with what hangs on them; unknown ids are no error."""
        ...

    async def named(self, keys: Sequence[str], *, scopes: Sequence[str]) -> list[tuple[Place, str]]:
        """Entities of these scopes that have one of these names, with the key that fits."""
        ...

    async def edges(
        self, places: Sequence[Place], *, at: int, limit: int
    ) -> tuple[list[EdgeSeen], bool]:
        """Relations that start or end at these entities and hold at `at`, microseconds since 1970;
        and whether these are all. One from an entity to itself is met twice."""
        ...

    async def twins(
        self, places: Sequence[Place], *, scopes: Sequence[str]
    ) -> list[tuple[Place, Place, str]]:
        """These entities with those of the other of these scopes that share a name: the key of
        each name that they share."""
        ...
