"""Times as whole microseconds since 1970 UTC, and back."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ricordo.errors import Corrupt, Invalid

EARLIEST = -(2**63)
"""Stands for an open beginning."""

LATEST = 2**63 - 1
"""Stands for an open end."""

Clock = Callable[[], datetime]
"""Tells the time, with a time zone."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    """`time` as microseconds. Raises `Invalid` when it has no time zone."""
    if time.tzinfo is None:
        raise Invalid(f"the time {time.isoformat()} has no time zone; give it one")
    return (time - _EPOCH) // _MICROSECOND


def micros_or_none(time: datetime | None) -> int | None:
    """`micros`, where None stays None."""
    return None if time is None else micros(time)


def moment(value: int) -> datetime:
    """The time, in UTC, of a number of microseconds. Raises `Corrupt` when there is none."""
    try:
        return _EPOCH + timedelta(microseconds=value)
    except OverflowError as error:
        raise Corrupt("the ledger holds a time outside the years 1 to 9999") from error


def moment_or_none(value: int | None) -> datetime | None:
    """`moment`, where None stays None."""
    return None if value is None else moment(value)
