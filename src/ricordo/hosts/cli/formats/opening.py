"""Opens a file to import, and finds out what it is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ricordo.errors import Invalid
from ricordo.hosts.cli.formats import locomo, openai, ours
from ricordo.hosts.cli.formats.items import Context, Item, as_object
from ricordo.hosts.cli.formats.names import Format
from ricordo.hosts.cli.reading import read_stdin


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file whose items are ready to be read; `total` counts its lines or pieces."""

    format: Format
    total: int
    items: Iterator[Item]


def open_file(
    path: str,
    *,
    format: Format,  # noqa: A002
    context: Context,
    sample: str | None = None,
    speaker: str | None = None,
) -> Opened:
    """Read a file, or standard input where it is ``-``.

    Args:
        sample, speaker: of LoCoMo: the one conversation to take, and who in it is the user.

    Raises:
        Invalid: it cannot be read, or is none of the known formats.
    """
    text = _text(path)
    whole = _whole(text)
    found = _recognise(whole, text) if format is Format.AUTO else format
    if found is Format.LOCOMO:
        samples = [value for _, value in _values(whole, text)]
        items = list(locomo.read_samples(samples, sample=sample, speaker=speaker, context=context))
        return Opened(format=found, total=len(items), items=iter(items))
    if found is Format.OPENAI:
        items = list(_openai(whole, text, context))
        return Opened(format=found, total=len(items), items=iter(items))
    return Opened(
        format=found,
        total=text.count("\n") + 1,
        items=(item for item in map(_ours(context), _lines(text)) if item is not None),
    )


def _text(path: str) -> str:
    if path == "-":
        return read_stdin(what="the import")
    try:
        raw = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from error
    return raw.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff")


def _whole(text: str) -> Any:
    """The file as one JSON value; None where it is lines."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _recognise(whole: Any, text: str) -> Format:
    for _, value in _values(whole, text):
        if isinstance(value, dict):
            return _of(cast("dict[str, Any]", value))
    raise Invalid("the file is neither JSONL nor a list of messages nor LoCoMo; see --format")


def _values(whole: Any, text: str) -> Iterator[tuple[int, Any]]:
    """The file's JSON values, numbered: a list's elements, the one value, or one a line."""
    if isinstance(whole, list):
        yield from enumerate(cast("list[Any]", whole), start=1)
    elif whole is not None:
        yield 1, whole
    else:
        yield from _lines(text)


def _of(first: dict[str, Any]) -> Format:
    if "conversation" in first:
        return Format.LOCOMO
    if "role" in first:
        return Format.OPENAI
    messages = first.get("messages")
    if isinstance(messages, list) and messages:
        message = cast("list[Any]", messages)[0]
        if isinstance(message, dict) and "content" in message:
            return Format.OPENAI
    return Format.JSONL


def _lines(text: str) -> Iterator[tuple[int, Any]]:
    """Numbered lines as JSON values; an unreadable one is an `Invalid`, blank ones are left out."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            yield number, Invalid(f"not JSON: {reason}")


def _ours(context: Context) -> Any:
    def read(line: tuple[int, Any]) -> Item | None:
        number, value = line
        try:
            if isinstance(value, Invalid):
                raise value
            record = as_object(value, what="a line")
            return ours.read_line(record, number=number, context=context)
        except Invalid as error:
            return Item(number=number, fault=str(error))

    return read


def _openai(whole: Any, text: str, context: Context) -> Iterator[Item]:
    values = list(_values(whole, text))
    if any(isinstance(value, dict) and "role" in value for _, value in values):
        everything = [value for _, value in values]
        yield from openai.read_messages(everything, thread=context.thread, context=context)
        return
    for position, (number, value) in enumerate(values, start=1):
        try:
            if isinstance(value, Invalid):
                raise value
            conversation = as_object(value, what="a conversation")
            yield from openai.read_conversation(
                conversation, number=number, position=position, context=context
            )
        except Invalid as error:
            yield Item(number=number, fault=str(error))
