"""Ids for messages, so that what was said twice is kept twice, and what is handed over once.

The framework's histories recognise a message that they have by its id or, without one, by its
words. By its words alone, a second "Yes." with the same answer as the first would be dropped.
"""

from collections.abc import Sequence

from agent_framework import Message

from ricordo.model import new_id


def stamp(messages: Sequence[Message]) -> None:
    """Give an id to each message that has none, in place: whoever hands it on hands on the id."""
    for message in messages:
        if not message.message_id:
            message.message_id = new_id("msg")


def recognise(messages: Sequence[Message], *, history: Sequence[Message]) -> None:
    """Give messages that repeat the end of `history` the ids that they have there, in place.

    Workflows hand conversations over as copies without ids. Only a repetition with an answer in it
    counts: a person may well say the same thing again.
    """
    for length in range(min(len(messages), len(history)), 0, -1):
        known, given = history[-length:], messages[:length]
        if not any(str(message.role) == "assistant" for message in given):
            continue
        if all(_same(a, b) for a, b in zip(known, given, strict=True)):
            for old, new in zip(known, given, strict=True):
                new.message_id = new.message_id or old.message_id
            return


def _same(known: Message, given: Message) -> bool:
    if given.message_id:
        return given.message_id == known.message_id
    return str(known.role) == str(given.role) and known.text == given.text and bool(given.text)
