"""Leaf payloads (turns, claims, origins, events) as JSON, and back by their declared types."""

import json
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, cast

from ricordo.columns.times import micros, moment
from ricordo.model import OrganizationScope, UserScope

T = TypeVar("T")


def dumps(value: object, *, without: str | None = None) -> str:
    """JSON of a dataclass, or of a tuple; pure ASCII, so that any text survives, whatever it holds.

    Args:
        value: what to write.
        without: a field of the outermost dataclass to leave out.
    """
    plain = _plain(value)
    if without is not None:
        del plain[without]
    return json.dumps(plain, separators=(",", ":"))


def loads(kind: type[T], text: str, **known: object) -> T:
    """A dataclass from its JSON; `known` gives fields that were left out."""
    return cast("T", _dataclass(kind, json.loads(text), known))


def loads_all(kind: type[T], text: str | None) -> tuple[T, ...]:
    """A tuple of `kind` from its JSON; nothing from None."""
    if text is None:
        return ()
    return tuple(_read(kind, item) for item in json.loads(text))


def _plain(value: Any) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is tuple or kind is list:
        items = cast("list[Any]", value)
        if set(map(type, items)) <= {str}:  # ids, of which there may be thousands
            return items
        return [_plain(item) for item in items]
    if kind is datetime:
        return micros(value)
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(kind):
        held = ((name, getattr(value, name)) for name in _field_names(kind))
        return {name: _plain(item) for name, item in held if item is not None and item != ()}
    return value


@cache
def _field_names(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


@cache
def _shape(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    hints = typing.get_type_hints(kind)
    return tuple(
        (f.name, hints[f.name], f.default is not MISSING or f.default_factory is not MISSING)
        for f in fields(kind)
    )


def _dataclass(kind: type, plain: dict[str, Any], known: dict[str, object]) -> Any:
    values = dict(known)
    for name, hint, has_default in _shape(kind):
        if name in plain:
            values[name] = _read(hint, plain[name])
        elif name not in values and not has_default:
            values[name] = _read(hint, None)
    return kind(**values)


def _read(hint: Any, plain: Any) -> Any:
    origin = typing.get_origin(hint)
    if origin is tuple:
        item = typing.get_args(hint)[0]
        return tuple(_read(item, each) for each in plain or ())
    if plain is None:
        return None
    if origin is types.UnionType or origin is typing.Union:
        return _read(_chosen(typing.get_args(hint), plain), plain)
    if hint is datetime:
        return moment(plain)
    if is_dataclass(hint):
        return _dataclass(cast("type", hint), plain, {})
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(plain)
    return plain


def _chosen(options: tuple[Any, ...], plain: Any) -> Any:
    if UserScope in options:
        return UserScope if "user" in plain else OrganizationScope
    return next(option for option in options if option is not type(None))
