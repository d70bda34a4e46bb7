"""A request's body, read field by field; what is there and not known is refused."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast

from ricordo.errors import Unreadable
from ricordo.model import EntityClaim, RelationClaim, Said, Speaker, check_text
from ricordo.wire import time_read

_MISSING = object()


class Fields:
    """The fields of an object from outside. Errors name fields, never their values.

    Use it as ``with Fields(body, what="body") as fields:``; at the end no field may be left.
    """

    def __init__(self, value: object, *, what: str) -> None:
        if not isinstance(value, Mapping):
            raise Unreadable(f"{what} is not an object")
        self._left = dict(cast("Mapping[str, Any]", value))
        self._what = what

    def __enter__(self) -> "Fields":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._left:
            raise Unreadable(f"{self._what} has {len(self._left)} fields that are not known")

    def has(self, name: str) -> bool:
        """Whether the field is there, be it null."""
        return name in self._left

    def text(self, name: str) -> str:
        """A field that must be there, and be text."""
        value = self._left.pop(name, _MISSING)
        if not isinstance(value, str):
            raise Unreadable(f"{self._what} has no {name}, which is text")
        return value

    def text_or_none(self, name: str) -> str | None:
        """Text, or nothing."""
        return None if self._absent(name) else self.text(name)

    def whole(self, name: str) -> int | None:
        """A whole number, or nothing."""
        value = None if self._absent(name) else self._left.pop(name)
        if value is not None and type(value) is not int:
            raise Unreadable(f"{name} is not a whole number")
        return value

    def number(self, name: str, *, default: float) -> float:
        """A number, or the default."""
        value = default if self._absent(name) else self._left.pop(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unreadable(f"{name} is not a number")
        try:
            return float(value)
        except OverflowError as error:
            raise Unreadable(f"{name} is a number beyond all measure") from error

    def flag(self, name: str, *, default: bool) -> bool:
        """True, false, or the default."""
        value = default if self._absent(name) else self._left.pop(name)
        if not isinstance(value, bool):
            raise Unreadable(f"{name} is neither true nor false")
        return value

    def time(self, name: str) -> datetime | None:
        """A time with its zone, or nothing."""
        return None if self._absent(name) else time_read(self._left.pop(name), what=name)

    def items(self, name: str) -> list[object]:
        """A list; empty where there is none."""
        value: object = [] if self._absent(name) else self._left.pop(name)
        if not isinstance(value, list):
            raise Unreadable(f"{name} is not a list")
        return cast("list[object]", value)

    def _absent(self, name: str) -> bool:
        if self._left.get(name) is None:
            self._left.pop(name, None)
            return True
        return False


def said(value: object) -> Said:
    """One message of a turn, as an export has it."""
    with Fields(value, what="a message") as fields:
        role = fields.text("role")
        if role not in tuple(Speaker):
            raise Unreadable(f"a message's role is one of {', '.join(Speaker)}")
        return Said(
            speaker=Speaker(role),
            text=fields.text("text"),
            id=fields.text_or_none("id"),
            trusted=fields.flag("trusted", default=True),
        )


def claim(value: object) -> RelationClaim:
    """A relation: two ends by name, each with a type if that is known."""
    with Fields(value, what="a relation") as fields:
        return RelationClaim(
            source=_end(fields, "source"),
            relation=fields.text("relation"),
            target=_end(fields, "target"),
        )


def names(values: list[object]) -> list[str | None]:
    """Namespaces; null is the common one."""
    for value in values:
        if value is not None and not isinstance(value, str):
            raise Unreadable("a namespace is text, or null for the common one")
    return cast("list[str | None]", values)


def question(fields: Fields) -> str:
    """What is looked for: of any length, and not blank."""
    asked = fields.text("question")
    if not asked.strip():
        raise Unreadable("question is empty")
    return asked


def stored_text(fields: Fields) -> str:
    """A text that may be stored."""
    return check_text(fields.text("text"))


def _end(fields: Fields, name: str) -> EntityClaim:
    return EntityClaim(name=fields.text(name), type=fields.text_or_none(f"{name}_type"))
