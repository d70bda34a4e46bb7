"""Messages as bytes for a cache, and back; what is not ours, or damaged, is told from what is."""

import json
from collections.abc import Sequence
from hashlib import sha256

from agent_framework import Message

FORMAT = "ricordo-history-1"
"""First word of the bytes; a copy of another format is no copy."""


def pack(messages: Sequence[Message], *, key: str) -> bytes:
    """A conversation as bytes that name it."""
    body = json.dumps([message.to_dict() for message in messages]).encode()
    return _header(body, key=key) + body


def unpack(payload: bytes, *, key: str) -> list[Message] | None:
    """The messages; None when the bytes are no copy of this conversation in this format."""
    start = payload.find(b"\n") + 1
    body = payload[start:]
    if start == 0 or payload[:start] != _header(body, key=key):
        return None
    try:
        return [Message.from_dict(item) for item in json.loads(body)]
    except (ValueError, TypeError, KeyError, AttributeError):  # of another version of the framework
        return None


def _header(body: bytes, *, key: str) -> bytes:
    """Format, conversation and digest: against accidents, not against whoever may write here."""
    return f"{FORMAT} {key} {sha256(body).hexdigest()}\n".encode()
