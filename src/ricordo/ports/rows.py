"""How indexed rows leave a ledger: packed, so that loading is a few large copies."""

from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.model import (
    Partition,
    Space,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState:
    """A partition as the ledger knows it.

    `generation` grows by at least one with every change of its indexed rows, and never comes to a
    number again, not even when the scope was erased and begins anew: caches go by it. `space` is
    None until the first row was indexed.
    """

    partition: Partition
    generation: int
    space: Space | None
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Indexed rows of one partition, packed so that loading is a few large copies.

    Args:
        generation: the partition's generation at the time of reading.
        space: what the vectors and terms were made with.
        complete: True for all rows of the partition; False for those changed since the asked
            generation.
        ids: memory ids, in row order.
        removed: ids that left the partition since the asked generation (when not complete).
        vectors: `Indexed.vector` of every row, concatenated.
        terms, counts: `Indexed.terms` and `.counts` of every row, concatenated.
        sizes: number of distinct terms of each row, little-endian uint32.
        lengths: words of each row, little-endian uint32.
        valid_from, valid_until: microseconds since 1970 UTC, little-endian int64; the smallest and
            largest int64 where open. `expires_at` is folded into `valid_until`.
        threads: number of the thread that each memory comes from first, 0 without one,
            little-endian int64.
        said_at, recorded_at: when it was said there and when it was recorded, like `valid_from`.
    """

    generation: int
    space: Space | None
    complete: bool
    ids: Sequence[str]
    removed: Sequence[str]
    vectors: bytes
    terms: bytes
    counts: bytes
    sizes: bytes
    lengths: bytes
    valid_from: bytes
    valid_until: bytes
    threads: bytes
    said_at: bytes
    recorded_at: bytes
