"""CloudEvents 1.0: an event in its envelope, written structured, read structured or binary."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any, cast

from cloudevents.core.exceptions import BaseCloudEventException
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

from ricordo.errors import Invalid, Unreadable
from ricordo.events import Event
from ricordo.model import UserScope, check_time
from ricordo.wire import (
    ROOM,
    data_of,
    event_from,
    kind_of,
    schema_of,
    source_of,
    time_read,
    type_of,
)

STRUCTURED = "application/cloudevents+json"
MOST_BYTES = 1_048_576
"""Of a message that is read; a larger one is refused unread."""

_DIGITS = 19
"""A position is written with as many, so that texts sort as numbers do."""

_POSITION = re.compile(f"[0-9]{{1,{_DIGITS}}}")

_NOT_SOUND = (
    BaseCloudEventException,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    OverflowError,
    Invalid,
)
"""What the library raises for what is no envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """An event that was read.

    Args:
        event: as others may see it: a user is the ledger's keyed hash, and no quote is there.
        position: in the outbox that it came from; grows along the stream.
    """

    event: Event
    position: int


def write_event(
    event: Event, *, position: int, hashes: Mapping[UserScope, str], room: int = ROOM
) -> bytes:
    """An event in its envelope, for everybody to read.

    Args:
        hashes: of everybody in `ricordo.wire.people`.
        room: bytes that its data may have.
    """
    kind, data = type(event), data_of(event, hashes=hashes, room=room)
    attributes = {
        "id": event.id,
        "source": source_of(event.scope.tenant),
        "type": type_of(kind),
        "subject": _about(data["scope"]),
        "time": event.at,
        "datacontenttype": "application/json",
        "dataschema": schema_of(kind),
        "sequence": f"{position:0{_DIGITS}d}",
    }
    return JSONFormat().write(CloudEvent(attributes, data))


def read_event(payload: bytes, headers: Mapping[str, str] | None = None) -> Envelope:
    """The event in a message.

    Args:
        headers: of the message; those of binary mode begin with ``ce-``.

    Raises:
        UnknownVersion: it is of a version that this program does not know.
        Unreadable: it is no event of ours, or not a sound one. Shows none of its text.
    """
    if len(payload) > MOST_BYTES:
        raise Unreadable(f"the message has {len(payload):,} bytes; at most {MOST_BYTES:,} are read")
    try:
        found = _binary(payload, headers or {}) or JSONFormat().read(_whole, payload)
        attributes = found.get_attributes()
        at, position = found.get_time(), attributes.get("sequence")
        at = None if at is None else check_time(at, what="time").astimezone(UTC)
    except _NOT_SOUND as error:
        raise Unreadable(f"the message is no CloudEvent ({type(error).__name__})") from error
    kind = kind_of(found.get_type())
    if at is None:
        raise Unreadable("the envelope has no time")
    if not isinstance(position, str) or not _POSITION.fullmatch(position):
        raise Unreadable(f"the envelope has no sequence, which is at most {_DIGITS} digits")
    event = event_from(kind, found.get_data(), id=found.get_id(), at=at)
    if found.get_source() != source_of(event.scope.tenant):
        raise Unreadable("the envelope's source is not the tenant of its data")
    return Envelope(event=event, position=int(position))


def _whole(attributes: dict[str, Any], data: Any) -> CloudEvent:
    """An envelope that says everything itself: the library would make up what is missing."""
    missing = {"specversion", "id", "time"} - attributes.keys()
    if missing:
        raise ValueError(f"no {min(missing)}")
    return CloudEvent(attributes, data)


def _about(scope: Mapping[str, Any]) -> str:
    """Whose memory an event is of, from its data."""
    return f"{scope['type']}/{scope.get('user') or scope.get('namespace') or ''}"


def _binary(payload: bytes, headers: Mapping[str, str]) -> CloudEvent | None:
    given = {name.lower(): value for name, value in headers.items()}
    if "ce-specversion" not in given:
        return None
    attributes: dict[str, Any] = {
        name[3:]: value for name, value in given.items() if name.startswith("ce-")
    }
    if "time" in attributes:
        attributes["time"] = time_read(attributes["time"], what="time")
    kind = given.get("content-type", "application/json")
    return _whole(attributes, cast("Any", JSONFormat().read_data(payload, kind)))
