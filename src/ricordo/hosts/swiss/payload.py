"""Payloads of the protocol's events: read strictly, written with the core fields of every event."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn, TypeVar, cast

from ricordo.errors import Unreadable
from ricordo.hosts.swiss.subject import Subject, token

Data = dict[str, Any]
Kind = TypeVar("Kind")

MOST_BYTES = 1_048_576
"""Of a payload; a larger one is refused unread."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LATEST = 4_102_444_800_000_000_000
"""The year 2100, in nanoseconds."""


def read_payload(payload: bytes, *, subject: Subject) -> Data:
    """The fields of an event; its core fields are there, and are those of its subject.

    Fields that are not known are let be.

    Raises:
        Unreadable: it is no event, or another one than its subject says.
    """
    data = read_json(payload)
    if token(data.get("event_id"), what="event_id") != subject.event_id:
        raise Unreadable("event_id is not that of the subject")
    if of(str, data, "_event_name") != subject.event_name:
        raise Unreadable("_event_name is not that of the subject")
    parents = data.get("_parent_event_names", [])
    if not isinstance(parents, list) or not all(
        isinstance(name, str) for name in cast("list[object]", parents)
    ):
        raise Unreadable("_parent_event_names is no list of names")
    created_at(data)
    return data


def read_json(payload: bytes) -> Data:
    """A JSON object, unambiguous: no field twice, no number that is none. Raises `Unreadable`."""
    if len(payload) > MOST_BYTES:
        raise Unreadable(f"the payload has {len(payload):,} bytes; at most {MOST_BYTES:,} are read")
    try:
        found = json.loads(
            payload.decode("utf-8"), object_pairs_hook=_unambiguous, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        raise Unreadable("the payload is no JSON") from error
    return an_object(found, what="the payload")


def created_at(data: Mapping[str, Any]) -> int:
    """When an event was made, in nanoseconds since 1970. Raises `Unreadable`."""
    value = of(int, data, "created_at")
    if not 0 <= value <= _LATEST:
        raise Unreadable("created_at is no time in nanoseconds since 1970")
    return value


def of(kind: type[Kind], data: Mapping[str, Any], name: str) -> Kind:
    """A field of exactly that type. Raises `Unreadable`."""
    value: object = data.get(name)
    if type(value) is not kind:
        raise Unreadable(f"{name} is not of type {kind.__name__}")
    return value


def maybe(kind: type[Kind], data: Mapping[str, Any], name: str) -> Kind | None:
    """The same of a field that may be missing or null."""
    return None if data.get(name) is None else of(kind, data, name)


def an_object(value: object, *, what: str) -> Data:
    """A JSON object. Raises `Unreadable`."""
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is no object")
    return cast("Data", value)


def nanoseconds(at: datetime) -> int:
    """A time in nanoseconds since 1970."""
    return (at - _EPOCH) // _MICROSECOND * 1_000


def moment(since: int) -> datetime:
    """The time that is so many nanoseconds after 1970."""
    return _EPOCH + since // 1_000 * _MICROSECOND


def event_id(*parts: str) -> str:
    """An id that is the same whenever the same is answered again: 24 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]


def write_event(
    subject: Subject,
    fields: Mapping[str, Any],
    *,
    at: int,
    parents: Sequence[str],
    name: Mapping[str, str],
    description: Mapping[str, str],
) -> bytes:
    """The payload of an event.

    Args:
        at: nanoseconds since 1970.
        parents: names of what it is a sort of, the nearest first.
        name, description: by language, for whoever lists events.
    """
    core = {
        "event_id": subject.event_id,
        "created_at": at,
        "_event_name": subject.event_name,
        "_parent_event_names": [subject.event_name, *parents],
        "display_name": dict(name),
        "display_description": dict(description),
    }
    return json.dumps({**core, **fields}, ensure_ascii=False).encode()


def _unambiguous(pairs: list[tuple[str, Any]]) -> Data:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unreadable("a field is there twice")
    return found


def _no_number(_: str) -> NoReturn:
    raise Unreadable("a number is none")
