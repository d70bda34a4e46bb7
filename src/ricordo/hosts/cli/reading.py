"""What a person typed, read and checked: texts, ids, names, times, relations."""

import sys
from collections.abc import Iterable
from datetime import datetime

from ricordo.errors import Invalid
from ricordo.model import MAX_NAME, EntityClaim, RelationClaim, check_id, check_text

_MOST = 16 * 1024 * 1024


def read_text(value: str, *, what: str = "text") -> str:
    """The text itself, or all of standard input where it is ``-``.

    Raises:
        Invalid: blank, too long, or with a NUL or bytes that are not UTF-8.
    """
    return check_text(read_stdin(what=what) if value == "-" else value, what=what)


def read_question(value: str) -> str:
    """The question itself, or all of standard input where it is ``-``.

    It is looked for and not kept, so it may be of any length, and what cannot be text is no fault.

    Raises:
        Invalid: blank.
    """
    question = read_stdin(what="question") if value == "-" else value
    if not question.strip():
        raise Invalid("question is empty")
    return question


def read_stdin(*, what: str) -> str:
    """Standard input as text, without its last line end; bytes that are not UTF-8 stay marked."""
    raw = sys.stdin.buffer.read(_MOST + 1)
    if len(raw) > _MOST:
        raise Invalid(f"{what} on standard input is larger than {_MOST:,} bytes")
    text = raw.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")
    return text.removesuffix("\n").removesuffix("\r")


def read_ids(values: Iterable[str], *, what: str = "memory id") -> list[str]:
    """Ids as given, each checked."""
    return [check_id(value, what=what) for value in values]


def read_name(value: str) -> str:
    """The name of an entity."""
    return check_text(value, what="name", longest=MAX_NAME)


def read_time(value: str | None, *, option: str) -> datetime | None:
    """An ISO 8601 date or time; without a time zone it is local time."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise Invalid(
            f"{option} {value[:40]!a} is no date; write 2026-01-31 or 2026-01-31T18:00+01:00"
        ) from error


def read_relations(values: Iterable[str]) -> tuple[RelationClaim, ...]:
    """Relations written ``source|relation|target``; an end may carry a type, ``Name:Type``.

    Raises:
        Invalid: not three parts, or one of them is empty.
    """
    return tuple(_relation(value) for value in values)


def _relation(value: str) -> RelationClaim:
    parts = [part.strip() for part in check_text(value, what="--relation").split("|")]
    if len(parts) != 3 or not all(parts):
        raise Invalid(
            "--relation is written 'source|relation|target', for example "
            "'Project Falcon|uses|microservices' or 'Falcon:Project|uses|Kafka:Technology'"
        )
    source, relation, target = parts
    return RelationClaim(source=_end(source), relation=relation, target=_end(target))


def _end(value: str) -> EntityClaim:
    """A colon parts name and type only where a plain word follows it directly: not in a time of
    day, an address or an identifier such as ``urn:x``."""
    name, colon, kind = value.rpartition(":")
    if colon and name and kind.isidentifier() and kind[0].isupper():
        return EntityClaim(name=name.strip(), type=kind)
    return EntityClaim(name=value)
