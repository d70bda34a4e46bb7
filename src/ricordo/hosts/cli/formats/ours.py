"""Our own JSONL: a turn or a memory a line, as docs/reference/import-format.md describes it."""

from collections.abc import Mapping
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
from ricordo.hosts.cli.reading import read_relations
from ricordo.memory.portable import claim_record
from ricordo.model import Turn

_ONLY_TOLD = ("refusal", "dead_letter")
"""Records of an export that say what did not become memory; they are not imported."""

_OF_THE_GRAPH = ("entity", "merge")


def read_line(record: Mapping[str, Any], *, number: int, context: Context) -> Item | None:
    """The item of one line; None where an export only tells of something.

    Raises:
        Invalid: a field of the wrong type; the message names it.
    """
    kind = record.get("record", "turn" if "messages" in record else "memory")
    if kind in _ONLY_TOLD:
        return None
    if kind == "turn":
        return exchange(_turn(record, context), number=number)
    if kind in _OF_THE_GRAPH:
        return Item(number=number, record=record)
    if kind == "memory":
        if "text" not in record:
            raise Invalid("a line has either messages (a turn) or text (a memory)")
        return Item(number=number, record=_with_claims(record))
    raise Invalid("record is one of turn, memory, entity, merge, refusal, dead_letter")


def _turn(record: Mapping[str, Any], context: Context) -> Turn:
    messages = as_list(record.get("messages"), what="messages")
    objects = [as_object(message, what="a message") for message in messages]
    thread = as_text(record.get("thread_id", context.thread), what="thread_id")
    return Turn(
        thread_id=thread,
        run_id=as_text(record.get("run_id") or context.run(thread, messages), what="run_id"),
        agent=as_text(record.get("agent", context.agent), what="agent"),
        at=as_time(record.get("at"), what="at", default=context.at),
        display_id=record.get("display_id"),
        said=tuple(said(m, text=as_text(m.get("text"), what="text")) for m in objects),
    )


def _with_claims(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Relations that a person typed as ``A|relation|B`` in the form that an export has."""
    relations = record.get("relations")
    if not isinstance(relations, list):
        return record
    typed = [
        claim_record(read_relations([item])[0]) if isinstance(item, str) else item
        for item in as_list(record["relations"], what="relations")
    ]
    return {**record, "relations": typed}
