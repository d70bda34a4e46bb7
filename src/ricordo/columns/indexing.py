"""Index rows: what must hold of one, and how many of them leave a ledger packed."""

import sys
from array import array
from collections.abc import Sequence
from typing import Any

from ricordo.errors import Invalid, SpaceMismatch
from ricordo.model import Indexed, Space
from ricordo.ports import Rows

PLACES = 1 << 32
"""How many places of `memory_index` belong to one partition."""

LISTED_REMOVALS = 4_096
"""Removals kept per partition for the caches of other processes; who lags more reads all anew."""

WORTH_A_LIST = 64
"""Removals up to which they are listed even when nothing is left of a partition."""

PACKED = (
    "memory_id, vector, terms, counts, length, valid_from, valid_until, "
    "thread, said_at, recorded_at"
)
"""The columns that `Packed.add` takes."""

STATE = (
    "select p.id, p.kind, p.agent, p.generation, p.listed_since, p.size, p.space_id, "
    "s.model, s.dimension, s.transform, s.words "
    "from partitions p left join spaces s on s.id = p.space_id"
)
"""Selects a partition's row as `space_of` reads it."""


def space_of(state: tuple[Any, ...]) -> Space | None:
    """The space of a partition, from what `STATE` selects."""
    if state[6] is None:
        return None
    return space_from(state[7:11])


def space_from(row: Sequence[Any]) -> Space:
    """A space from its columns, as `space_values` orders them."""
    model, dimension, transform, words = row
    return Space(model=model, dimension=dimension, transform=transform, words=words)


def space_values(space: Space) -> tuple[str, int, str, str]:
    """A space as column values."""
    return space.model, space.dimension, space.transform, space.words


def check_space(indexed: Indexed, space: Space | None, *, known: tuple[Any, ...] | None) -> None:
    """Raise unless the row fits its space, and its space the partition's."""
    if space is None:
        raise Invalid("an indexed row needs the space that it was made in")
    check_row(indexed, space)
    asked = space_values(space)
    if known is not None and known != asked:
        raise SpaceMismatch(
            f"this partition was indexed with {_words(known)}, not with {_words(asked)}; "
            "run `ricordo reindex`, or set the former model again"
        )


def check_row(indexed: Indexed, space: Space) -> None:
    """Raise unless the row's parts have the sizes that the space and each other ask for."""
    if len(indexed.vector) != 4 * space.dimension:
        raise SpaceMismatch(
            f"the vector has {len(indexed.vector) // 4} dimensions, its space {space.dimension}"
        )
    if len(indexed.terms) % 8 or len(indexed.terms) != 4 * len(indexed.counts):
        raise Invalid("an indexed row needs one count for each term")


def _words(space: tuple[Any, ...]) -> str:
    model, dimension, transform, words = space
    return f"{model} ({dimension} dimensions, transform {transform}, words {words})"


class Packed:
    """Collects rows by column. A chunk's vectors are joined at once, while they lie in the CPU's
    cache; that halves the time of a large partition."""

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._vectors: list[bytes] = []
        self._terms: list[bytes] = []
        self._counts: list[bytes] = []
        self._lengths: list[int] = []
        self._valid_from: list[int] = []
        self._valid_until: list[int] = []
        self._threads: list[int] = []
        self._said_at: list[int] = []
        self._recorded_at: list[int] = []

    def add(self, some: Sequence[tuple[Any, ...]]) -> None:
        """Add rows as `PACKED` selects them."""
        ids, vectors, terms, counts, lengths, *numbers = zip(*some, strict=True)
        valid_from, valid_until, threads, said_at, recorded_at = numbers
        self._ids += ids
        self._vectors.append(b"".join(vectors))
        self._terms += terms
        self._counts += counts
        self._lengths += lengths
        self._valid_from += valid_from
        self._valid_until += valid_until
        self._threads += threads
        self._said_at += said_at
        self._recorded_at += recorded_at

    def rows(
        self, *, generation: int, space: Space | None, complete: bool, removed: Sequence[str]
    ) -> Rows:
        """Everything added, in a few large pieces."""
        return Rows(
            generation=generation,
            space=space,
            complete=complete,
            ids=self._ids,
            removed=removed,
            vectors=b"".join(self._vectors),
            terms=b"".join(self._terms),
            counts=b"".join(self._counts),
            sizes=_packed("I", [len(each) // 8 for each in self._terms]),
            lengths=_packed("I", self._lengths),
            valid_from=_packed("q", self._valid_from),
            valid_until=_packed("q", self._valid_until),
            threads=_packed("q", self._threads),
            said_at=_packed("q", self._said_at),
            recorded_at=_packed("q", self._recorded_at),
        )


def _packed(sort: str, numbers: Sequence[int]) -> bytes:
    packed = array(sort, numbers)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
