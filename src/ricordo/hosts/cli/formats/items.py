"""What every format is read into: one item per exchange, memory or fault, in the file's order."""

import hashlib
import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from ricordo.errors import Invalid
from ricordo.model import Said, Speaker, Turn, check_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Something that a person said, to be stored word for word with ``--as memories``."""

    text: str
    message_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One piece of a file.

    Args:
        number: of the line, or of the exchange where a file has no lines.
        turn: an exchange, to be observed.
        lines: the person's words in it.
        record: a memory, an entity or a merge, to be restored.
        fault: what is wrong with it, where it can be neither.
    """

    number: int
    turn: Turn | None = None
    lines: tuple[Line, ...] = ()
    record: Mapping[str, Any] | None = None
    fault: str | None = None


@dataclass(slots=True, kw_only=True)
class Context:
    """What a file does not tell of itself.

    Args:
        name: names the conversation where the file does not.
        agent: took part, where the file names none.
        at: when it was said, where the file does not tell.
    """

    name: str
    agent: str
    at: datetime
    repeats: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def thread(self) -> str:
        """The conversation's id: the file's name where it may serve as one."""
        name = unicodedata.normalize("NFC", self.name.strip())
        try:
            return check_id(name, what="thread")
        except Invalid:
            return "import"

    def run(self, thread: str, messages: object) -> str:
        """An id for an exchange without one: the same content at the same place has the same."""
        text = json.dumps(messages, sort_keys=True, ensure_ascii=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:20]
        self.repeats[thread, digest] += 1
        count = self.repeats[thread, digest]
        return digest if count == 1 else f"{digest}-{count}"


def exchange(turn: Turn, *, number: int, lines: Sequence[Line] | None = None) -> Item:
    """An exchange; without `lines`, the person's own words are its lines."""
    if lines is None:
        lines = [
            Line(text=said.text, message_id=said.id)
            for said in turn.said
            if said.speaker is Speaker.USER and said.trusted and said.text.strip()
        ]
    return Item(number=number, turn=turn, lines=tuple(lines))


def as_object(value: object, *, what: str) -> dict[str, Any]:
    """`value` as a JSON object, or `Invalid`."""
    if not isinstance(value, dict):
        raise Invalid(f"{what} must be an object, not {type(value).__name__}")
    return cast("dict[str, Any]", value)


def as_list(value: object, *, what: str) -> list[Any]:
    """`value` as a JSON list, or `Invalid`."""
    if not isinstance(value, list):
        raise Invalid(f"{what} must be a list, not {type(value).__name__}")
    return cast("list[Any]", value)


def as_text(value: object, *, what: str) -> str:
    """`value` as a string, or `Invalid`."""
    if not isinstance(value, str):
        raise Invalid(f"{what} must be a string, not {type(value).__name__}")
    return value


def as_time(value: object, *, what: str, default: datetime) -> datetime:
    """An ISO 8601 string or seconds since 1970 as a time, or `Invalid`; without a zone UTC."""
    if value is None:
        return default
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        at = datetime.fromisoformat(as_text(value, what=what))
    except (ValueError, OverflowError, OSError) as error:
        raise Invalid(f"{what} must be an ISO 8601 time") from error
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def as_speaker(value: object) -> Speaker:
    """Who spoke: `user`, `assistant` or `tool`."""
    try:
        return Speaker(as_text(value, what="role"))
    except ValueError as error:
        raise Invalid("role is one of user, assistant, tool") from error


def said(message: Mapping[str, Any], *, text: str) -> Said:
    """A message with what most formats call the same."""
    speaker = as_speaker(message.get("role"))
    message_id = message.get("id")
    return Said(
        speaker=speaker,
        text=text,
        id=None if message_id is None else check_id(message_id, what="message id"),
        trusted=message.get("trusted", speaker is not Speaker.TOOL) is True,
    )
