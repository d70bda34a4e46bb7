"""LoCoMo's conversations between two people: one of them is the user, the other the agent."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ricordo.errors import Invalid
from ricordo.hosts.cli.formats.items import (
    Context,
    Item,
    Line,
    as_list,
    as_object,
    as_text,
    exchange,
)
from ricordo.model import Said, Speaker, Turn, check_id

_SESSION = re.compile(r"session_(\d+)")
_DATE = "%I:%M %p on %d %B, %Y"


def read_samples(
    samples: Sequence[object], *, sample: str | None, speaker: str | None, context: Context
) -> Iterator[Item]:
    """The exchanges of all conversations, or of the one called `sample`, numbered in order.

    Args:
        speaker: the name of the one who is the user; without it the first named speaker.
    """
    number = 0
    found = False
    for position, value in enumerate(samples, start=1):
        each = as_object(value, what="a sample")
        name = str(each.get("sample_id", position))
        if sample is not None and name != sample:
            continue
        found = True
        conversation = as_object(each.get("conversation"), what="conversation")
        for item in _conversation(conversation, name=name, speaker=speaker, context=context):
            number += 1
            yield Item(number=number, turn=item.turn, lines=item.lines, fault=item.fault)
    if not found:
        raise Invalid(f"the file has no sample {sample!a}")


def _conversation(
    conversation: Mapping[str, Any], *, name: str, speaker: str | None, context: Context
) -> Iterator[Item]:
    people = [as_text(conversation.get(k), what=k) for k in ("speaker_a", "speaker_b")]
    user = people[0] if speaker is None else speaker
    if user not in people:
        raise Invalid(f"nobody in sample {name} is called {user!a}")
    sessions = sorted(
        int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)) is not None
    )
    for session in sessions:
        key = f"session_{session}"
        at = _date(conversation.get(f"{key}_date_time"), default=context.at)
        messages = [as_object(m, what="a message") for m in as_list(conversation[key], what=key)]
        thread = check_id(f"{name}/{key}", what="sample_id")
        yield from _session(messages, thread=thread, at=at, user=user, agent=context.agent)


def _session(
    messages: Sequence[Mapping[str, Any]], *, thread: str, at: datetime, user: str, agent: str
) -> Iterator[Item]:
    group: list[Mapping[str, Any]] = []
    for message in messages:
        begins = message.get("speaker") == user
        if begins and any(earlier.get("speaker") != user for earlier in group):
            yield _exchange(group, thread=thread, at=at, user=user, agent=agent)
            group = []
        group.append(message)
    if group:
        yield _exchange(group, thread=thread, at=at, user=user, agent=agent)


def _exchange(
    group: Sequence[Mapping[str, Any]], *, thread: str, at: datetime, user: str, agent: str
) -> Item:
    try:
        said = tuple(_said(message, user=user) for message in group)
        turn = Turn(
            thread_id=thread,
            run_id=as_text(group[0].get("dia_id"), what="dia_id"),
            agent=agent,
            at=at,
            said=said,
        )
        names = [as_text(message.get("speaker"), what="speaker") for message in group]
    except Invalid as error:
        return Item(number=0, fault=str(error))
    lines = [
        Line(text=f"{name}: {each.text}", message_id=each.id)
        for name, each in zip(names, said, strict=True)
    ]
    return exchange(turn, number=0, lines=lines)


def _said(message: Mapping[str, Any], *, user: str) -> Said:
    text = as_text(message.get("text"), what="text")
    caption = message.get("blip_caption")
    if isinstance(caption, str):
        text = f"{text} [shares a picture: {caption}]"
    speaker = Speaker.USER if message.get("speaker") == user else Speaker.ASSISTANT
    return Said(speaker=speaker, text=text, id=message.get("dia_id"))


def _date(value: object, *, default: datetime) -> datetime:
    """``1:56 pm on 8 May, 2023``, which LoCoMo writes without a time zone; read as UTC."""
    if value is None:
        return default
    try:
        return datetime.strptime(as_text(value, what="date_time"), _DATE).replace(tzinfo=UTC)
    except ValueError as error:
        raise Invalid(f"a session's date {value!a} is not like '1:56 pm on 8 May, 2023'") from error
