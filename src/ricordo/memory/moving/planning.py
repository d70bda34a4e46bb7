"""Whether one ledger can be moved into another, and what there is to do."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from ricordo.errors import Conflict, Unavailable
from ricordo.memory.moving.notes import Note, fingerprint, pulse, read_note
from ricordo.ports.moving import Head, Movable

_SAMPLE = 200
"""Rows of each table that an estimate reads."""

_PASSES = 6
"""What moving and comparing cost, in readings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What there is to do.

    Attributes:
        head: of the ledger that is moved.
        counts: its rows by table.
        note: where to begin, or to go on.
        kept: the note that the other ledger has; None when nothing is under way.
    """

    head: Head
    counts: Mapping[str, int]
    note: Note
    kept: str | None

    @property
    def rows(self) -> int:
        """Rows in all."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a move is going to take, from a sample."""

    size: int
    seconds: float


async def plan(source: Movable, target: Movable | None, *, restart: bool) -> Plan:
    """Look at both ends; nothing is changed.

    Args:
        target: None where there is no ledger yet.
        restart: begin again instead of going on.

    Raises:
        Conflict: the target holds something, or is being filled from elsewhere, or the source
            changed since the move into it began.
        Unavailable: the source itself is being filled.
    """
    if await source.note() is not None:
        raise Unavailable(
            f"the ledger {source.name} is itself being filled by `ricordo migrate`; finish that "
            "first"
        )
    head = await source.head()
    counts = await source.counts()
    fresh = Note(source=fingerprint(head.secret), pulse=pulse(head, counts))
    kept = None if target is None else await target.note()
    if target is not None and kept is None:
        await _check_empty(target, fresh)
    if target is None or kept is None or restart:
        return Plan(head=head, counts=counts, note=fresh, kept=kept)
    note = read_note(kept, name=target.name)
    _check_same(source, target, note, fresh)
    return Plan(head=head, counts=counts, note=note, kept=kept)


async def estimate(source: Movable, plan: Plan) -> Estimate:
    """About how many bytes, and how long, by the first rows of each table."""
    size, read, seconds = 0.0, 0, 0.0
    for table in source.tables:
        rows = plan.counts[table.name]
        if not rows:
            continue
        begun = time.monotonic()
        page = await source.page(table, after=None, limit=_SAMPLE)
        seconds += time.monotonic() - begun
        read += len(page)
        held = sum(_length(value) for row in page for value in row)
        size += held / max(1, len(page)) * rows
    return Estimate(size=round(size), seconds=seconds / max(1, read) * plan.rows * _PASSES)


def _length(value: object) -> int:
    return len(value) if isinstance(value, str | bytes) else 8


async def _check_empty(target: Movable, fresh: Note) -> None:
    held = {name: count for name, count in (await target.counts()).items() if count}
    if not held:
        return
    listed = ", ".join(f"{count} {name}" for name, count in sorted(held.items()))
    if fingerprint((await target.head()).secret) == fresh.source:
        raise Conflict(
            f"the ledger {target.name} is the one to be moved, or was filled from it and verified "
            f"before ({listed}); nothing was changed"
        )
    raise Conflict(
        f"the ledger {target.name} is not empty ({listed}); a ledger is moved into an empty one. "
        "Name another; nothing was changed"
    )


def _check_same(source: Movable, target: Movable, note: Note, fresh: Note) -> None:
    if note.source != fresh.source:
        raise Conflict(
            f"the ledger {target.name} is being filled from another ledger than {source.name}; go "
            "on with that one, or begin again with --restart"
        )
    if note.pulse != fresh.pulse:
        raise Conflict(changed(source, target))


def changed(source: Movable, target: Movable) -> str:
    """Why a move cannot go on, or end."""
    return (
        f"the ledger {source.name} changed since the move into {target.name} began. Stop the "
        "programs that use it, and begin again with --restart"
    )
