"""An event as data for others, and back: ids and origins, people as keyed hashes, never a text."""

import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, cast

from ricordo.errors import Invalid, Unreadable
from ricordo.events import Event, TurnParked, UserMemoryErased
from ricordo.model import OrganizationScope, Origin, Scope, UserScope, check_time
from ricordo.wire.fitting import ROOM, fitted

Data = dict[str, Any]

Writer = Callable[[Any, str, Mapping[UserScope, str]], Any]
"""A field's value as data; it is given the tenant, and people's hashes."""

_ENVELOPE = frozenset({"id", "at"})
"""Fields that an envelope has outside its data."""

_WITHHELD = frozenset({"quote"})
"""Fields that hold words of a person."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)")


def people(event: Event) -> set[UserScope]:
    """Everybody whom an event names, of whom its data needs the keyed hash."""
    tenant = event.scope.tenant
    named = {origin.author for origin in event.origins}
    named.add(getattr(event, "by", None))
    found = {UserScope(tenant=tenant, user=user) for user in named if user}
    if isinstance(event.scope, UserScope) and not isinstance(event, UserMemoryErased):
        found.add(event.scope)
    return found


def data_of(event: Event, *, hashes: Mapping[UserScope, str], room: int = ROOM) -> Data:
    """The data of an event as others may see it: without words, and with people as keyed hashes.

    Args:
        hashes: of everybody in `people`.
        room: bytes that it may have; see `ricordo.wire.fitting.fitted`.
    """
    data: Data = {"scope": _scope(event, hashes)}
    for name, written in _writers(type(event)):
        value = getattr(event, name)
        if value is not None:
            data[name] = written(value, event.scope.tenant, hashes)
    return fitted(data, room=room)


def event_from(kind: type[Event], data: object, *, id: str, at: datetime) -> Event:  # noqa: A002
    """An event from its data; fields that are not known are let be, for they may be added.

    Raises:
        Unreadable: a field is missing, or is not what it should be.
    """
    plain = _object(data, what="data")
    try:
        values = {"scope": _scope_from(plain.get("scope"), kind)}
        for name, hint, needed in _shape(kind):
            if name == "scope":
                continue
            if name in plain:
                values[name] = _read(hint, plain[name], what=name)
            elif needed:
                raise Unreadable(f"data has no {name}")
        return kind(id=id, at=at, **cast("Any", values))
    except (Invalid, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"data is not sound: {error}") from error


def time_written(at: datetime) -> str:
    """A time as RFC 3339 has it, in UTC."""
    return at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@cache
def _shape(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    """The fields of a class that are in data: name, type, and whether it must be there."""
    hints = typing.get_type_hints(kind)
    apart = _WITHHELD if kind is Origin else _ENVELOPE
    return tuple(
        (f.name, hints[f.name], f.default is MISSING and f.default_factory is MISSING)
        for f in fields(kind)
        if f.name not in apart
    )


def _scope(event: Event, hashes: Mapping[UserScope, str]) -> Data:
    scope = event.scope
    if isinstance(scope, OrganizationScope):
        return {"type": "organization", "tenant": scope.tenant, "namespace": scope.namespace}
    person = event.subject if isinstance(event, UserMemoryErased) else hashes[scope]
    return {"type": "user", "tenant": scope.tenant, "user": person}


@cache
def _writers(kind: type[Event]) -> tuple[tuple[str, Writer], ...]:
    """By field of an event's data, how it is written."""
    found: list[tuple[str, Writer]] = []
    for name, hint, _ in _shape(kind):
        if name == "by":
            found.append((name, _person))
        elif name == "reason" and kind is TurnParked:
            found.append((name, _error_name))
        elif name == "origins":
            found.append((name, _origins))
        elif name != "scope":
            found.append((name, _plain if _is_plain(hint) else _listed))
    return tuple(found)


def _is_plain(hint: Any) -> bool:
    return typing.get_origin(hint) is not tuple


def _plain(value: Any, _tenant: str, _hashes: object) -> Any:
    return value.value if isinstance(value, Enum) else value


def _listed(value: Any, _tenant: str, _hashes: object) -> Any:
    return list(value)


def _person(value: Any, tenant: str, hashes: Mapping[UserScope, str]) -> Any:
    return hashes[UserScope(tenant=tenant, user=value)]


def _error_name(value: Any, _tenant: str, _hashes: object) -> Any:
    return value.partition(":")[0]


def _origins(value: Any, tenant: str, hashes: Mapping[UserScope, str]) -> Any:
    origins: tuple[Origin, ...] = value
    return [_written(origin, tenant, hashes) for origin in origins]


def _written(origin: Origin, tenant: str, hashes: Mapping[UserScope, str]) -> Data:
    author = origin.author
    told: Data = {
        "at": time_written(origin.at),
        "agent": origin.agent,
        "thread_id": origin.thread_id,
        "display_id": origin.display_id,
        "run_id": origin.run_id,
        "author": None if author is None else _person(author, tenant, hashes),
        "message_ids": list(origin.message_ids),
    }
    return {name: value for name, value in told.items() if value is not None}


def _scope_from(value: object, kind: type[Event]) -> Scope:
    wanted = typing.get_type_hints(kind)["scope"]
    plain = _object(value, what="scope")
    tenant = _read(str, plain.get("tenant"), what="tenant")
    if wanted is UserScope and plain.get("type") == "user":
        return UserScope(tenant=tenant, user=_read(str, plain.get("user"), what="user"))
    if wanted is OrganizationScope and plain.get("type") == "organization":
        namespace = _read(str | None, plain.get("namespace"), what="namespace")
        return OrganizationScope(tenant=tenant, namespace=namespace)
    raise Unreadable("the scope is not of the event's type")


def _read(hint: Any, value: object, *, what: str) -> Any:
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise Unreadable(f"{what} is not a list")
        item = typing.get_args(hint)[0]
        return tuple(_read(item, each, what=what) for each in cast("list[object]", value))
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        if value is None:
            return None
        hint = next(each for each in typing.get_args(hint) if each is not type(None))
    if hint is datetime:
        return time_read(value, what=what)
    if hint is Origin:
        return _origin(value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if type(value) is not hint:
        raise Unreadable(f"{what} is not of type {cast('Any', hint).__name__}")
    return value


def time_read(value: object, *, what: str) -> datetime:
    """A time as RFC 3339 has it. Raises `Unreadable`."""
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        raise Unreadable(f"{what} is not a time with its zone")
    try:
        return check_time(datetime.fromisoformat(value), what=what)
    except ValueError as error:
        raise Unreadable(f"{what} is not a time with its zone") from error
    except Invalid as error:
        raise Unreadable(str(error)) from error


def _origin(value: object) -> Origin:
    plain = _object(value, what="origin")
    values = {
        name: _read(hint, plain[name], what=name)
        for name, hint, _ in _shape(Origin)
        if name in plain
    }
    if "at" not in values:
        raise Unreadable("an origin has no at")
    return Origin(**values)


def _object(value: object, *, what: str) -> Data:
    if not isinstance(value, dict):
        raise Unreadable(f"{what} is not an object")
    return cast("Data", value)
