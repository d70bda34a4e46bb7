"""The inverted list of one partition: which rows hold a term, and how often."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Terms = NDArray[np.uint64]
RowNumbers = NDArray[np.int32]
Counts = NDArray[np.uint16]

_TAIL = 8_192
_TAIL_SHARE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Entries:
    """Postings in no order: row `rows[i]` holds the term `terms[i]` `counts[i]` times."""

    terms: Terms
    rows: RowNumbers
    counts: Counts

    def __len__(self) -> int:
        return len(self.terms)

    def only(self, chosen: NDArray[np.bool_]) -> "Entries":
        """Those entries that are chosen."""
        return Entries(terms=self.terms[chosen], rows=self.rows[chosen], counts=self.counts[chosen])

    def joined(self, more: "Entries") -> "Entries":
        """These and more."""
        return Entries(
            terms=np.concatenate((self.terms, more.terms)),
            rows=np.concatenate((self.rows, more.rows)),
            counts=np.concatenate((self.counts, more.counts)),
        )


NO_ENTRIES = Entries(
    terms=np.empty(0, np.uint64), rows=np.empty(0, np.int32), counts=np.empty(0, np.uint16)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Postings:
    """Entries sorted by term, and a short unsorted tail of fresh ones; never changed in place.

    Args:
        terms: distinct terms of the sorted part, ascending.
        starts: where each term's entries begin; one more than terms.
        rows, counts: the sorted part's entries.
        tail: fresh entries, merged into the sorted part when there are many.
    """

    terms: Terms
    starts: NDArray[np.int64]
    rows: RowNumbers
    counts: Counts
    tail: Entries = NO_ENTRIES

    @classmethod
    def build(cls, entries: Entries) -> "Postings":
        """All entries sorted, no tail."""
        order = np.argsort(entries.terms)
        ordered = entries.terms[order]
        first = np.ones(len(ordered), np.bool_)
        first[1:] = ordered[1:] != ordered[:-1]
        starts = np.flatnonzero(first)
        return cls(
            terms=ordered[starts],
            starts=np.append(starts, len(ordered)),
            rows=entries.rows[order],
            counts=entries.counts[order],
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.terms, self.starts, self.rows, self.counts)
        tail = (self.tail.terms, self.tail.rows, self.tail.counts)
        return sum(array.nbytes for array in (*arrays, *tail))

    def entries(self) -> Entries:
        """Every entry, in no particular order."""
        terms = np.repeat(self.terms, np.diff(self.starts))
        return Entries(terms=terms, rows=self.rows, counts=self.counts).joined(self.tail)

    def extended(self, fresh: Entries) -> "Postings":
        """With fresh entries, of rows that had none."""
        tail = self.tail.joined(fresh)
        if len(tail) > max(_TAIL, len(self.rows) // _TAIL_SHARE):
            return Postings.build(self.entries().joined(fresh))
        return Postings(
            terms=self.terms, starts=self.starts, rows=self.rows, counts=self.counts, tail=tail
        )

    def find(self, wanted: Sequence[int]) -> list[tuple[RowNumbers, Counts]]:
        """For each wanted term that occurs: its rows, each once, and its count there."""
        terms = np.array(sorted(set(wanted)), np.uint64)
        places = np.searchsorted(self.terms, terms)
        fresh = self._tail_of(terms)
        found: list[tuple[RowNumbers, Counts]] = []
        for number, (term, place) in enumerate(zip(terms, places, strict=True)):
            if place < len(self.terms) and self.terms[place] == term:
                span = slice(self.starts[place], self.starts[place + 1])
                found.append((self.rows[span], self.counts[span]))
            if number in fresh:
                found.append(fresh[number])
        return found

    def _tail_of(self, terms: Terms) -> dict[int, tuple[RowNumbers, Counts]]:
        """The tail's entries by index into the sorted `terms`."""
        if not len(self.tail) or not len(terms):
            return {}
        places = np.minimum(np.searchsorted(terms, self.tail.terms), len(terms) - 1)
        matches = np.flatnonzero(terms[places] == self.tail.terms)
        numbers = places[matches]
        return {
            int(number): (
                self.tail.rows[matches[numbers == number]],
                self.tail.counts[matches[numbers == number]],
            )
            for number in np.unique(numbers)
        }
