"""Ids as one token of a subject: whatever they hold, they are neither parted nor a wildcard."""

import hashlib
import re

from ricordo.errors import Unreadable

COMMON = "="
"""The token of no id: an organization's common namespace."""

LONGEST = 96
"""Characters of a token that still can be read back."""

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_TOKEN = re.compile(r"(?:[A-Za-z0-9_-]|=[0-9a-f]{2})+")


def token(value: str | None) -> str:
    """An id as a token: letters, digits, `_` and `-` stay, any other byte is `=` and two digits.

    Two ids never share a token. One that would be too long is `==` and its SHA-256, which cannot be
    read back.
    """
    if not value:
        return COMMON
    if len(value) <= LONGEST and _PLAIN.fullmatch(value):
        return value  # nearly all
    written = "".join(
        character
        if _PLAIN.fullmatch(character)
        else "".join(f"={byte:02x}" for byte in character.encode())
        for character in value
    )
    if len(written) <= LONGEST:
        return written
    return f"=={hashlib.sha256(value.encode()).hexdigest()}"


def value_of(written: str) -> str | None:
    """The id that a token stands for; None for the common namespace.

    Raises:
        Unreadable: it is no token of ours, or one too long to be read back.
    """
    if written == COMMON:
        return None
    if not _TOKEN.fullmatch(written) or len(written) > LONGEST:
        raise Unreadable(f"{written[:40]!a} is no token of an id")
    parts = re.split(r"=([0-9a-f]{2})", written)
    found = b"".join(
        bytes.fromhex(part) if number % 2 else part.encode() for number, part in enumerate(parts)
    )
    try:
        value = found.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{written[:40]!a} is no token of an id") from error
    if token(value) != written:
        raise Unreadable(f"{written[:40]!a} is not how its id is written")
    return value
