"""Views that find memories by meaning, by words and by relation."""

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable

from ricordo.model import (
    Hits,
    Partition,
    Path,
    Scope,
    Sought,
)
from ricordo.ports.rows import PartitionState
from ricordo.ports.walking import Walking


class VectorIndex(Protocol):
    """Finds memories by meaning and by words, ranked by what the asker may see.

    1. Only memories of the given partitions are returned or counted.
    2. What the ledger acknowledged before the call is seen by it, whoever wrote it; where the
       caller tells the states, what it acknowledged before these were read.
    3. Cosine and BM25 of every hit are exact.
    """

    async def search(
        self,
        sought: Sought,
        *,
        partitions: Sequence[Partition],
        limit: int,
        at: datetime | None,
        coming: Awaitable[bytes | None] | None = None,
        states: Sequence[PartitionState] | None = None,
    ) -> Hits:
        """The best `limit` by each signal of the memories valid at `at`.

        Args:
            at: None is at any time.
            coming: the question's vector while it is still being made, instead of `sought`'s; what
                needs no vector is done meanwhile. Where it gives None, words alone find. Where
                nothing is stored it need not be waited for.
            states: all that the caller has read of the partitions' scopes in the ledger just now,
                which then is not read again.
        """
        ...

    @property
    def memory_used(self) -> int:
        """Bytes held in memory, about."""
        ...

    def drop(self, *, scope: Scope) -> None:
        """Let go at once of everything held in memory of a scope; it is loaded anew when asked."""
        ...

    async def similarity(
        self,
        pairs: Sequence[str],
        *,
        partitions: Sequence[Partition],
        states: Sequence[PartitionState] | None = None,
    ) -> Mapping[tuple[str, str], float]:
        """Cosine of every pair among these memory ids, for removing near-duplicates.

        Args:
            states: see `search`.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What a walk reached: for each entity the shortest path to it, nearest first.

    `capped` is True when a cap cut the walk short.
    """

    paths: tuple[Path, ...] = ()
    capped: bool = False


class GraphIndex(Protocol):
    """Finds entities by relation, over the graphs of several scopes joined by entity name.

    1. Only relations of the given scopes, valid at the asked instant, are walked.
    2. A path has at most `hops` steps and is a shortest one; ties are broken by relation id.
    3. A name that occurs nowhere costs one look-up and raises nothing.
    """

    async def walk(
        self,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """Breadth-first from these names, to at most `nodes` entities, `fan` relations per hop."""
        ...

    async def paths(
        self, start: str, end: str, *, scopes: Sequence[Scope], hops: int, at: datetime
    ) -> Walk:
        """The shortest paths between two names; none when there is none within `hops`."""
        ...


@runtime_checkable
class RowGraph(GraphIndex, Protocol):
    """A graph index that walks on the ledger's rows, and so in a reading of the caller's too."""

    async def walk_on(
        self,
        tx: Walking,
        names: Sequence[str],
        *,
        scopes: Sequence[Scope],
        hops: int,
        at: datetime,
        nodes: int = 200,
        fan: int = 1_000,
    ) -> Walk:
        """The same as `walk`, of what that reading sees; awaits nothing but it."""
        ...
