"""When a stated relation holds, and how it stands to what is known: rules (f) and (i)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ricordo.model import Memory, Relation, RelationClaim

_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """When a claim holds.

    Args:
        since, until: in the world; None is open.
        said: when it was last said; decides between two values of unknown date.
    """

    since: datetime | None
    until: datetime | None
    said: datetime

    @property
    def impossible(self) -> bool:
        """Whether it ends before it begins."""
        return self.since is not None and self.until is not None and self.until <= self.since

    def over(self, at: datetime) -> bool:
        """Whether it holds no more at `at`."""
        return self.until is not None and self.until <= at

    def inside(self) -> datetime | None:
        """An instant at which it held; None when it is open on both sides."""
        if self.since is not None:
            return self.since
        return None if self.until is None else self.until - _MOMENT


def holds(claim: RelationClaim, memory: Memory, *, at: datetime) -> Holds:
    """When the claim holds: as it says itself, or else as its memory does."""
    said = max((origin.at for origin in memory.origins), default=at)
    return Holds(
        since=_aware(claim.valid_from or memory.valid_from),
        until=_aware(claim.valid_until or memory.valid_until),
        said=min(said, at),
    )


def said_at(relation: Relation) -> datetime:
    """When a stored relation was last said."""
    return max((origin.at for origin in relation.origins), default=relation.recorded_at)


def is_older(new: Holds, current: Relation) -> bool:
    """Whether the claim tells of a time before the current value: then it is history.

    Decided by when each began to hold; where that is not known of both, by when it was said. So a
    conversation that is imported late does not undo what was learned since.
    """
    since, known = new.since, current.valid_from
    if known is not None and (since or new.said) < known:
        return True
    if known is not None and since is not None and since > known:
        return False
    return new.said < said_at(current)


def ended(current: Relation, *, by: Holds, at: datetime) -> Relation:
    """The current value, closed because another one took its place."""
    until = by.since or by.said
    if current.valid_until is not None:
        until = min(until, current.valid_until)
    if current.valid_from is not None:
        until = max(until, current.valid_from)
    return replace(current, closed_at=at, valid_until=until)


def history(new: Holds, later: Sequence[Relation], *, at: datetime) -> Holds:
    """The claim's time, ended where the first of the later values began."""
    starts = [relation.valid_from or said_at(relation) for relation in later]
    ends = [end for end in (*starts, new.until) if end is not None]
    return replace(new, until=min(ends, default=at))


def widened(current: Relation, new: Holds) -> Relation:
    """The current relation, said again: it holds since the earlier and until the newer date."""
    since = current.valid_from
    if new.since is not None and since is not None:
        since = min(since, new.since)
    since = since or new.since
    until = new.until or current.valid_until
    if since is not None and until is not None and until <= since:
        return current
    return replace(current, valid_from=since, valid_until=until)


def lapsed(relation: Relation, *, at: datetime) -> bool:
    """Whether it has ended although nobody said so again: its last day was known before."""
    return relation.valid_until is not None and relation.valid_until <= at


def _aware(instant: datetime | None) -> datetime | None:
    """With a time zone; a date that was stated without one is taken as UTC."""
    if instant is None or instant.tzinfo is not None:
        return instant
    return instant.replace(tzinfo=UTC)
