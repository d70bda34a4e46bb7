"""OpenAI messages: one conversation as a list, or a conversation or message a line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ricordo.errors import Invalid
from ricordo.hosts.cli.formats.items import (
    Context,
    Item,
    as_list,
    as_object,
    as_text,
    as_time,
    exchange,
    said,
)
from ricordo.model import Said, Turn, check_id

_ROLES = {"user": "user", "assistant": "assistant", "tool": "tool", "function": "tool"}
_INSTRUCTIONS = ("system", "developer")


def read_conversation(
    conversation: Mapping[str, Any], *, number: int, position: int, context: Context
) -> Iterator[Item]:
    """The exchanges of ``{"messages": […]}``, numbered as the line that it stands on.

    Args:
        position: of the conversation in the file, from 1; names its thread where it has no id.
    """
    named = conversation.get("id") or conversation.get("thread_id")
    thread = f"{context.thread}-{position}" if named is None else check_id(named, what="id")
    messages = as_list(conversation.get("messages"), what="messages")
    at = as_time(
        conversation.get("created_at", conversation.get("created")),
        what="created_at",
        default=context.at,
    )
    for item in read_messages(messages, thread=thread, context=context, first=number, at=at):
        yield Item(number=number, turn=item.turn, lines=item.lines, fault=item.fault)


def read_messages(
    messages: Sequence[object],
    *,
    thread: str,
    context: Context,
    first: int = 1,
    at: Any = None,
) -> Iterator[Item]:
    """The exchanges of a list of messages; each begins with what the user says.

    A message that cannot be read is a fault of its own; the others of its exchange are kept.
    """
    group: list[Said] = []
    began = first
    for number, value in enumerate(messages, start=first):
        try:
            if isinstance(value, Invalid):
                raise value
            message = _message(value)
        except Invalid as error:
            yield Item(number=number, fault=str(error))
            continue
        if message is None:
            continue
        if message.speaker == "user" and any(said.speaker != "user" for said in group):
            yield _exchange(group, thread=thread, number=began, context=context, at=at)
            group = []
        if not group:
            began = number
        group.append(message)
    if group:
        yield _exchange(group, thread=thread, number=began, context=context, at=at)


def _exchange(
    group: Sequence[Said], *, thread: str, number: int, context: Context, at: Any
) -> Item:
    run = context.run(thread, [[said.speaker.value, said.text] for said in group])
    turn = Turn(
        thread_id=thread,
        run_id=run,
        agent=context.agent,
        at=at or context.at,
        said=tuple(group),
    )
    return exchange(turn, number=number)


def _message(value: object) -> Said | None:
    """A message, or None for instructions and for calls of tools without words."""
    message = as_object(value, what="a message")
    role = as_text(message.get("role"), what="role")
    if role in _INSTRUCTIONS:
        return None
    text = _content(message.get("content"))
    if not text.strip():
        return None
    if role not in _ROLES:
        raise Invalid("role is one of system, developer, user, assistant, tool")
    return said({**message, "role": _ROLES[role]}, text=text)


def _content(content: object) -> str:
    """The words of a content, which may come in parts; pictures and sounds have none."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = [as_object(part, what="a part") for part in as_list(content, what="content")]
    return "\n".join(as_text(part["text"], what="text") for part in parts if "text" in part)
