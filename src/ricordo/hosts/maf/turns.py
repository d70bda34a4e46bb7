"""What of a run is a person's own words: the question to recall by, and the turn to learn from.

Only plain text of a user-role message counts as said by the person. Whatever a provider injected,
a tool returned, a document holds, another author wrote or a policy labelled untrusted does not.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from agent_framework import AgentResponse, Content, Message

from ricordo.errors import Invalid
from ricordo.memory.asking import clamped
from ricordo.memory.rendering import marks_memory
from ricordo.model import Principal, Said, Speaker, check_id, clean_text

LONGEST_QUESTION = 2_000
"""Characters of a question that are recalled by; most of them from its end, where people ask."""

LONGEST_HEARD = 200
"""Messages of a session that are recognised when a workflow hands them over again."""


def question_of(messages: Sequence[Message], *, principal: Principal) -> str:
    """The person's own words since the last answer; ``""`` without any."""
    since = next((n for n in range(len(messages), 0, -1) if _role(messages[n - 1]) != "user"), 0)
    own = _own_words(messages[since:], principal=principal)
    if not own:
        own = _own_words(messages, principal=principal)[-1:]
    return clamped("\n".join(own), longest=LONGEST_QUESTION)


def said_by_user(messages: Iterable[Message], *, principal: Principal) -> list[Said]:
    """What the user-role messages say, injected memory left out."""
    said: list[Said] = []
    for message in messages:
        if _role(message) != "user" or _injected(message):
            continue
        for trusted, text in _texts(message, principal=principal):
            said.append(_said(Speaker.USER, text, message=message, trusted=trusted))
    return said


def without_injected(messages: Iterable[Message], *, principal: Principal) -> list[Message]:
    """The messages that another memory may learn from: nothing injected, returned or untrusted."""
    return [
        message
        for message in messages
        if _said_by_assistant(message)
        or any(said.trusted for said in said_by_user([message], principal=principal))
    ]


def said_in_run(
    messages: Iterable[Message], response: AgentResponse[Any] | None, *, principal: Principal
) -> tuple[Said, ...]:
    """A run as a turn: the person's words, and the assistants' as context.

    What tools returned and what was injected is left out: it is no source of memories, and a copy
    of it would outlive its deletion at the source.
    """
    said: list[Said] = []
    for message in messages:
        said += said_by_user([message], principal=principal)
        said += _said_by_assistant(message)
    for message in response.messages if response is not None else ():
        said += _said_by_assistant(message)
    return tuple(said)


def unheard(messages: Sequence[Message], *, heard: Sequence[str]) -> list[Message]:
    """The messages after those that this session has heard before, in the same order.

    Workflows hand a whole conversation over again with every run; only its end is new. A sentence
    said twice is heard twice, unless it comes again with everything around it.
    """
    marked = [(mark, n) for n, mark in enumerate(map(_mark, messages)) if mark is not None]
    marks = [mark for mark, _ in marked]
    for length in range(min(len(marks), len(heard)), 1, -1):
        if _ends_with(heard, marks[:length]):
            return list(messages[marked[length - 1][1] + 1 :])
    return list(messages)


def marks_of(messages: Iterable[Message], *, heard: Sequence[str]) -> list[str]:
    """`heard` with these messages added, bounded."""
    new = [mark for mark in map(_mark, messages) if mark is not None]
    return [*heard, *new][-LONGEST_HEARD:]


def _own_words(messages: Iterable[Message], *, principal: Principal) -> list[str]:
    return [said.text for said in said_by_user(messages, principal=principal) if said.trusted]


def _ends_with(heard: Sequence[str], marks: Sequence[str]) -> bool:
    return list(heard[-len(marks) :]) == list(marks)


def _mark(message: Message) -> str | None:
    """A short fingerprint of a message's text, or None where a hand-over would drop it."""
    text = "\n".join(content.text or "" for content in message.contents if content.type == "text")
    if not text.strip() or _injected(message):
        return None
    spoken = f"{_role(message)}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(spoken).hexdigest()[:16]


def _said_by_assistant(message: Message) -> list[Said]:
    if _role(message) != "assistant" or _injected(message):
        return []
    texts = [c.text for c in message.contents if c.type == "text" and c.text and c.text.strip()]
    return [_said(Speaker.ASSISTANT, text, message=message, trusted=True) for text in texts]


def _texts(message: Message, *, principal: Principal) -> list[tuple[bool, str]]:
    own = message.author_name in (None, "", "user", principal.user)
    labelled = _untrusted(message.additional_properties)
    return [
        (own and not labelled and not content.annotations and not _untrusted_content(content), text)
        for content in message.contents
        if content.type == "text" and (text := content.text) and text.strip()
    ]


def _said(speaker: Speaker, text: str, *, message: Message, trusted: bool) -> Said:
    return Said(speaker=speaker, text=clean_text(text), id=_id_of(message), trusted=trusted)


def _id_of(message: Message) -> str | None:
    try:
        return check_id(message.message_id, what="message id")
    except Invalid:
        return None


def _injected(message: Message) -> bool:
    """Whether a provider put the message there; the delimiter also gives a rewritten copy away."""
    if "_attribution" in message.additional_properties:
        return True
    return any(c.type == "text" and marks_memory(c.text or "") for c in message.contents)


def _untrusted_content(content: Content) -> bool:
    return "_attribution" in content.additional_properties or _untrusted(
        content.additional_properties
    )


def _untrusted(properties: Mapping[str, Any]) -> bool:
    """Whether the framework's information-flow label says that the text is not to be trusted."""
    label = properties.get("security_label")
    if not isinstance(label, Mapping):
        return False
    return cast("Mapping[str, Any]", label).get("integrity") == "untrusted"


def _role(message: Message) -> str:
    return str(message.role)
