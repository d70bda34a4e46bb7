"""What the platform asks of memory: to keep what was said in a run, and to recall."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ricordo.errors import Invalid, UnknownVersion, Unreadable
from ricordo.hosts.swiss.payload import an_object, created_at, maybe, of, read_json, read_payload
from ricordo.hosts.swiss.subject import Subject, agent_of, token
from ricordo.memory.rendering import marks_memory
from ricordo.model import MAX_ID, Said, Speaker, check_id, clean_text

STORAGE_REQUESTED = "MemoryStorageRequestedEvent"
"""An agent asks for what was said in its run to be kept; it wraps the next one."""
STORE_REQUESTED = "StoreUserMemoryRequestedEvent"
"""The same as the platform's dispatcher hands it to a writer, in a run of the writer's own."""
RECALL = "RecallMemoryEvent"

MOST_MESSAGES = 1_000
"""Of one request; one with more is refused."""

_SPEAKERS = {
    "user": Speaker.USER,
    "assistant": Speaker.ASSISTANT,
    "chatbot": Speaker.ASSISTANT,
    "model": Speaker.ASSISTANT,
    "tool": Speaker.TOOL,
    "function": Speaker.TOOL,
}
"""By role; what others say, such as ``system``, is no part of a conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Whom an event names: a claim, until somebody vouches for it."""

    id: str
    tenant: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """To keep what was said in a run; all ids are those of that run, not of a writer's.

    Args:
        handed_over: whether it comes from a run of the writer's own.
    """

    person: Person | None
    agent: str
    thread_id: str
    display_id: str
    run_id: str
    said: tuple[Said, ...]
    created_at: int
    handed_over: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """To recall for a question.

    Args:
        namespaces: of the organization, to which it is narrowed; none means all that are granted.
        tool_call_id: of the tool call that this answers, where a model chose it.
    """

    question: str
    namespaces: tuple[str | None, ...] = ()
    tool_call_id: str | None = None
    person: Person | None = None


def read_store(payload: bytes, *, subject: Subject, writer: str | None) -> StoreRequest:
    """A request to keep, from either event.

    Args:
        writer: class of the agents to which the platform hands such requests of other runs; None
            takes a request only from the run that it is about.

    Raises:
        UnknownVersion: what is wrapped is not the event that is known.
        Unreadable: it is no such request, or speaks for a run that it is not from.
    """
    data = read_payload(payload, subject=subject)
    wrapped = subject.event_name == STORAGE_REQUESTED
    request = an_object(data.get("start_event"), what="start_event") if wrapped else data
    name = of(str, request, "_event_name")
    if name != STORE_REQUESTED:
        raise UnknownVersion("start_event is another event than StoreUserMemoryRequestedEvent")
    for what in ("origin_agent_name", "origin_agent_description"):
        _words(request, what)
    maybe(str, request, "locale")
    maybe(str, request, "origin_memory_llm")
    found = StoreRequest(
        person=read_person(request),
        agent=_agent(request),
        thread_id=token(request.get("origin_thread_id"), what="origin_thread_id"),
        display_id=token(request.get("origin_display_id"), what="origin_display_id"),
        run_id=token(request.get("origin_run_id"), what="origin_run_id"),
        said=_said(request),
        created_at=created_at(request),
        handed_over=not wrapped and subject.agent_class == writer,
    )
    _check_origin(found, subject=subject)
    return found


def read_said(payload: bytes) -> tuple[Said, ...]:
    """What was said, of an event that asks to keep it. Raises `Unreadable`."""
    return _said(an_object(read_json(payload).get("start_event"), what="start_event"))


def read_recall(payload: bytes, *, subject: Subject) -> RecallRequest:
    """A request to recall. Raises `Unreadable`."""
    data = read_payload(payload, subject=subject)
    namespaces = _list(data.get("org_memory_namespaces") or [], what="org_memory_namespaces")
    return RecallRequest(
        question=of(str, data, "query"),
        namespaces=tuple(_namespace(name) for name in namespaces),
        tool_call_id=_call(maybe(str, data, "tool_call_id")),
        person=read_person(data),
    )


def read_person(data: Mapping[str, Any]) -> Person | None:
    """Whom the field ``user`` names; None where there is none. Raises `Unreadable`."""
    if data.get("user") is None:
        return None
    user = an_object(data["user"], what="user")
    within = user.get("acting_within_tenant")
    tenant = None if within is None else an_object(within, what="acting_within_tenant").get("id")
    return Person(
        id=_id(user.get("id"), what="user.id"),
        tenant=None if within is None else _id(tenant, what="acting_within_tenant.id"),
    )


def _check_origin(request: StoreRequest, *, subject: Subject) -> None:
    own = (subject.agent, subject.thread_id, subject.display_id, subject.run_id)
    claimed = (request.agent, request.thread_id, request.display_id, request.run_id)
    if not request.handed_over and own != claimed:
        raise Unreadable("the origin is another run than the one that the subject names")


def _agent(request: Mapping[str, Any]) -> str:
    agent_class = token(request.get("origin_agent_class"), what="origin_agent_class")
    if "/" in agent_class:
        raise Unreadable("origin_agent_class holds a slash")
    agent_id = token(request.get("origin_agent_id"), what="origin_agent_id")
    return _id(agent_of(agent_class, agent_id), what="origin agent class and id together")


def _said(request: Mapping[str, Any]) -> tuple[Said, ...]:
    messages = _list(request.get("messages"), what="messages")
    if len(messages) > MOST_MESSAGES:
        raise Unreadable(
            f"there are {len(messages):,} messages; at most {MOST_MESSAGES:,} are read"
        )
    said: list[Said] = []
    for each in messages:
        message = an_object(each, what="a message")
        speaker = _SPEAKERS.get(of(str, message, "role"))
        text = _text(message)
        if speaker is None or not text.strip():
            continue
        # What was recalled before is no news, whoever repeats it.
        own = speaker is not Speaker.TOOL and not marks_memory(text)
        said.append(Said(speaker=speaker, text=text, trusted=own))
    return tuple(said)


def _text(message: Mapping[str, Any]) -> str:
    """The words of a message: its text blocks, or in the older form its content."""
    if message.get("blocks") is None:
        return maybe(str, message, "content") or ""
    blocks = [an_object(b, what="a block") for b in _list(message["blocks"], what="blocks")]
    texts = [of(str, b, "text") for b in blocks if of(str, b, "block_type") == "text"]
    return "\n".join(texts)


def _words(request: Mapping[str, Any], name: str) -> None:
    """A name in several languages, or in one; nothing is done with it."""
    value = request.get(name)
    if value is not None and not isinstance(value, str):
        for word in an_object(value, what=name).values():
            if word is not None and not isinstance(word, str):
                raise Unreadable(f"{name} holds something else than words")


def _namespace(value: object) -> str | None:
    return None if value == "" else _id(value, what="a namespace")


def _call(value: str | None) -> str | None:
    """The id of a tool's call, which goes back as it came."""
    if value is not None and (len(value) > MAX_ID or clean_text(value) != value):
        raise Unreadable(f"tool_call_id has more than {MAX_ID} characters, or one that is none")
    return value


def _id(value: object, *, what: str) -> str:
    try:
        return check_id(value, what=what)
    except Invalid as error:
        raise Unreadable(f"{what} cannot serve as an id") from error


def _list(value: object, *, what: str) -> list[object]:
    if not isinstance(value, list):
        raise Unreadable(f"{what} is no list")
    return cast("list[object]", value)
