"""Times from outside: with a zone, and such that every place can write them and read them back."""

from datetime import UTC, datetime

from ricordo.errors import Invalid

FIRST = datetime(2, 1, 1, tzinfo=UTC)
"""The earliest time; a little later than the earliest there is, which other zones cannot tell."""

LAST = datetime(9998, 12, 31, tzinfo=UTC)
"""The latest time."""


def check_time(value: datetime, *, what: str) -> datetime:
    """Return `value` when it may be stored as a time, unchanged.

    Raises:
        Invalid: it has no time zone, or lies outside the years 2 to 9998 in UTC.
    """
    if value.tzinfo is None:
        raise Invalid(f"{what} has no time zone; give it one")
    if not FIRST <= value <= LAST:
        raise Invalid(f"{what} lies outside the years {FIRST.year} to {LAST.year}")
    return value
