"""The inverted list of one partition: which rows hold a term, and how often."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Terms = NDArray[np.uint64]
RowNumbers = NDArray[np.int32]
Counts = NDArray[np.uint16]
Found = tuple[RowNumbers, Counts]

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

    def find(self, wanted: Iterable[int]) -> dict[int, list[Found]]:
        """For each wanted term that occurs: its rows and its count in each; a row occurs once."""
        terms = np.array(sorted(set(wanted)), np.uint64)
        found: dict[int, list[Found]] = {}
        if len(self.terms) and len(terms):
            places = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
            held = self.terms[places] == terms
            spans = zip(self.starts[places[held]], self.starts[places[held] + 1], strict=True)
            for term, (start, end) in zip(terms[held].tolist(), spans, strict=True):
                found[term] = [(self.rows[start:end], self.counts[start:end])]
        for term, fresh in self._find_in_tail(terms):
            found.setdefault(term, []).append(fresh)
        return found

    def _find_in_tail(self, terms: Terms) -> Iterator[tuple[int, Found]]:
        if not len(self.tail) or not len(terms):
            return
        places = np.minimum(np.searchsorted(terms, self.tail.terms), len(terms) - 1)
        matches = np.flatnonzero(terms[places] == self.tail.terms)
        matched = self.tail.terms[matches]
        for term in np.unique(matched):
            mine = matches[matched == term]
            yield int(term), (self.tail.rows[mine], self.tail.counts[mine])
