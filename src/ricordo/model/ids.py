"""Ids and texts from outside: checked once, compared exactly, interpreted never."""

import hashlib
import re
import secrets
import unicodedata

from ricordo.errors import Invalid

MAX_ID = 256
"""Longest id, in characters."""

MAX_TEXT = 8_192
"""Longest text of one memory, in characters."""

MAX_NAME = 200
"""Longest name of an entity, in characters."""

MAX_RELATIONS = 200
"""Most relations stated with one memory: admitting them holds up every other writer."""

MAX_LISTED = 10_000
"""Most things of one sort that are listed at once, where there are no pages."""

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_UNSTORABLE = re.compile("[\\x00\\ud800-\\udfff]")


def new_id(kind: str) -> str:
    """A fresh random id such as ``m_3f…``; `kind` is its short prefix."""
    return f"{kind}_{secrets.token_hex(10)}"


def check_limit(value: int, *, most: int = MAX_LISTED) -> int:
    """Return how many things to list at most, when that many may be. Raises `Invalid`."""
    if not 1 <= value <= most:
        raise Invalid(f"limit is {value}; it lies between 1 and {most:,}")
    return value


def check_id(value: object, *, what: str) -> str:
    """Return `value` when it may serve as an id, unchanged.

    Args:
        value: what the caller gave; any string of 1 to 256 characters in NFC form, without control,
            format or surrogate characters and without spaces at its ends.
        what: the id's role, for the message, for example ``"user"``.

    Raises:
        Invalid: it may not. The message shows the value escaped and cut.
    """
    if not isinstance(value, str):
        raise Invalid(f"{what} must be a string, not {type(value).__name__}")
    if not value:
        raise Invalid(f"{what} is empty; give an id of 1 to {MAX_ID} characters")
    if len(value) > MAX_ID:
        raise Invalid(f"{what} has {len(value)} characters; at most {MAX_ID} are allowed")
    if value.isascii() and value.isprintable() and value[0] != " " != value[-1]:
        return value  # nearly all; a recall checks hundreds
    shown = ascii(value[:40])
    for character in value:
        if unicodedata.category(character) in _UNSEEN:
            raise Invalid(
                f"{what} {shown} contains the invisible or control character "
                f"U+{ord(character):04X}; remove it"
            )
    if value != value.strip():
        raise Invalid(f"{what} {shown} begins or ends with a space; remove it")
    if unicodedata.normalize("NFC", value) != value:
        raise Invalid(f"{what} {shown} is not in Unicode normal form NFC; normalise it")
    return value


def check_text(value: object, *, what: str = "text", longest: int = MAX_TEXT) -> str:
    """Return `value` when it may be stored as text, unchanged.

    Raises:
        Invalid: not a string, blank, too long, or with a NUL or a lone surrogate. The message
            gives lengths and positions, never the text.
    """
    if not isinstance(value, str):
        raise Invalid(f"{what} must be a string, not {type(value).__name__}")
    if len(value) > longest:
        raise Invalid(
            f"{what} has {len(value):,} characters; at most {longest:,} are allowed. "
            "Split it, or store a summary"
        )
    if not value.strip():
        raise Invalid(f"{what} is empty")
    unusable = _UNSTORABLE.search(value)
    if unusable is None:
        return value
    position = unusable.start()
    if unusable[0] == "\x00":
        raise Invalid(f"{what} contains a NUL character at position {position}; remove it")
    raise Invalid(f"{what} contains a lone surrogate at position {position}; decode it anew")


def clean_text(value: str) -> str:
    """`value` with each NUL and lone surrogate replaced by U+FFFD, for what must not be lost."""
    return _UNSTORABLE.sub("\ufffd", value)


def name_key(name: str) -> str:
    """The form under which two spellings of an entity's name are the same entity.

    Compatibility-normalised (NFKC), case-folded, inner white space single, outer removed; so
    ``"Project  FALCON"`` and ``"project falcon"`` meet, while ``"C"`` and ``"C++"`` stay apart.
    """
    folded = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", " ".join(folded.split()))


def digest(text: str) -> str:
    """The key under which two texts say the same: SHA-256 of the normalised words, in hex."""
    normal = name_key(text).rstrip(".!… ")
    return hashlib.sha256(normal.encode()).hexdigest()
