"""An event's data in no more room than a message has: what is told in part, and what is left out.

What a memory came from and what came of it have no bound: it may be said a thousand times, in turns
of a thousand messages. One event that no message can hold would keep all later ones waiting.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

Data = dict[str, Any]

ROOM = 524_288
"""Bytes of an event's data, where a message may have as many and more."""

RESERVE = 40_960
"""Bytes of a message that its envelope, its headers and an event's single ids may take."""

LEAST = 65_536
"""Bytes that a message must be able to have, so that every event fits into one."""

MOST_ORIGINS = 100
"""Origins that are told, the newest; a memory that was said again and again has more."""

MOST_MESSAGES = 100
"""Messages of one origin that are told, the newest."""

_MESSAGES = 16_384
"""Bytes of these."""

LEFT_OUT = "left_out"
"""The field that counts, by field, what is not told."""


def room_in(most: int) -> int:
    """The room for data in a message of so many bytes."""
    return min(ROOM, most - RESERVE)


def fitted(data: Mapping[str, Any], *, room: int = ROOM) -> Data:
    """The data of an event, with as much of its lists as there is room for.

    Of origins and of their messages the last are kept, for these led to the event; of other ids the
    first. What is left out is counted in `LEFT_OUT`, which is not there where all is told.
    """
    left: dict[str, int] = {}
    found = dict(data)
    for name, value in data.items():
        if name == "origins":
            found[name] = _origins(value, left, room=room // 2)
        elif isinstance(value, list):
            ids = cast("list[object]", value)
            kept = _count(ids, room=room // 4, most=len(ids))
            found[name] = ids[:kept]
            _add(left, name, len(ids) - kept)
    return {**found, LEFT_OUT: left} if left else found


def _origins(told: Sequence[Data], left: dict[str, int], *, room: int) -> list[Data]:
    newest = [_with_messages(origin) for origin in reversed(told[-MOST_ORIGINS:])]
    kept = _count(newest, room=room, most=MOST_ORIGINS)
    shown = newest[:kept]
    _add(left, "origins", len(told) - kept)
    whole = told[len(told) - kept :]
    _add(left, "message_ids", sum(map(_messages, whole)) - sum(map(_messages, shown)))
    return shown[::-1]


def _with_messages(origin: Data) -> Data:
    ids = cast("list[str]", origin.get("message_ids", ()))
    newest = ids[: -MOST_MESSAGES - 1 : -1]
    kept = _count(newest, room=_MESSAGES, most=MOST_MESSAGES)
    return origin if kept == len(ids) else {**origin, "message_ids": newest[:kept][::-1]}


def _messages(origin: Data) -> int:
    return len(origin.get("message_ids", ()))


def _count(values: Sequence[object], *, room: int, most: int) -> int:
    """How many of these, from the first on, fit."""
    for number, value in enumerate(values[:most]):
        room -= len(json.dumps(value)) + 2
        if room < 0:
            return number
    return min(len(values), most)


def _add(left: dict[str, int], name: str, count: int) -> None:
    if count:
        left[name] = left.get(name, 0) + count
