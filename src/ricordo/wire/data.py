"""An event as data for others, and back: ids and origins, people as keyed hashes, never a text."""

import re
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from typing import Any, cast

from ricordo.errors import Invalid, Unreadable
from ricordo.events import Event, TurnParked, UserMemoryErased
from ricordo.model import OrganizationScope, Origin, Scope, UserScope

Data = dict[str, Any]

_ENVELOPE = frozenset({"id", "at"})
"""Fields that an envelope has outside its data."""

_WITHHELD = frozenset({"quote"})
"""Fields that hold words of a person."""

MOST_ORIGINS = 100
"""Origins that are told, the newest; a memory that was said again and again has more."""

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


def public(event: Event, *, hashes: Mapping[UserScope, str]) -> Event:
    """The event as others may see it: without words, and with people as keyed hashes.

    Args:
        hashes: of everybody in `people`.
    """
    tenant = event.scope.tenant

    def hashed(user: str | None) -> str | None:
        return None if user is None else hashes[UserScope(tenant=tenant, user=user)]

    changes: Data = {
        "origins": tuple(
            replace(origin, quote=None, author=hashed(origin.author))
            for origin in event.origins[-MOST_ORIGINS:]
        )
    }
    if isinstance(event, UserMemoryErased):
        changes["scope"] = UserScope(tenant=tenant, user=event.subject)
    elif isinstance(event.scope, UserScope):
        changes["scope"] = UserScope(tenant=tenant, user=hashes[event.scope])
    if hasattr(event, "by"):
        changes["by"] = hashed(cast("Any", event).by)
    if isinstance(event, TurnParked):
        changes["reason"] = event.reason.partition(":")[0]  # the error's name, no more
    return replace(event, **changes)


def data_of(event: Event) -> Data:
    """The data of an event that `public` returned."""
    plain = {
        name: _plain(getattr(event, name)) for name, _, _ in _shape(type(event)) if name != "scope"
    }
    given = {name: value for name, value in plain.items() if value is not None}
    return {"scope": _scope(event.scope), **given}


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


def _scope(scope: Scope) -> Data:
    if isinstance(scope, OrganizationScope):
        return {"type": "organization", "tenant": scope.tenant, "namespace": scope.namespace}
    return {"type": "user", "tenant": scope.tenant, "user": scope.user}


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


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[Any, ...]", value)]
    if isinstance(value, Origin):
        held = {name: _plain(getattr(value, name)) for name, _, _ in _shape(Origin)}
        return {name: item for name, item in held.items() if item is not None}
    if isinstance(value, datetime):
        return time_written(value)
    return value.value if isinstance(value, Enum) else value


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
        return datetime.fromisoformat(value)
    except ValueError as error:
        raise Unreadable(f"{what} is not a time with its zone") from error


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
