"""Fields of a record that somebody else wrote, each of the right type or `Invalid`."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar, cast

from ricordo.errors import Invalid
from ricordo.model import check_text

E = TypeVar("E", bound=StrEnum)


def an_object(value: object, what: str) -> Mapping[str, Any]:
    """`value` as an object, or `Invalid` with the name of what it is."""
    if not isinstance(value, Mapping):
        raise Invalid(f"{what} must be an object, not {type(value).__name__}")
    return cast("Mapping[str, Any]", value)


def a_list(record: Mapping[str, Any], name: str) -> Sequence[object]:
    """A field as a list; without it an empty one."""
    value: object = record.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise Invalid(f"{name} must be a list, not {type(value).__name__}")
    return cast("list[object]", value)


def a_text(record: Mapping[str, Any], name: str) -> str | None:
    """A field as a string; None without it."""
    value: object = record.get(name)
    if value is not None and not isinstance(value, str):
        raise Invalid(f"{name} must be a string, not {type(value).__name__}")
    return value


def needed(record: Mapping[str, Any], name: str) -> str:
    """A field that must be there, as a text that can be stored."""
    return check_text(record.get(name), what=name)


def one_of(closed: type[E], record: Mapping[str, Any], name: str, *, default: E) -> E:
    """A field as a member of a closed list."""
    value = a_text(record, name)
    try:
        return default if value is None else closed(value)
    except ValueError as error:
        allowed = ", ".join(closed)
        raise Invalid(f"{name} is one of {allowed}") from error


def a_share(record: Mapping[str, Any], name: str, *, default: float) -> float:
    """A field as a number from 0 to 1."""
    value: object = record.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Invalid(f"{name} must be a number from 0 to 1")
    return float(value)


def a_count(record: Mapping[str, Any], name: str) -> int:
    """A field as a whole number that is not negative; 0 without it."""
    value: object = record.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise Invalid(f"{name} must be a whole number that is not negative")
    return value


def a_time(record: Mapping[str, Any], name: str) -> datetime | None:
    """A field as a time; without a zone it is UTC."""
    value = a_text(record, name)
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError as error:
        raise Invalid(f"{name} must be an ISO 8601 time") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)
