"""Which parts of a message are somebody else's words, although the user sent them.

What a host marks as a document never gets here. This is about what people paste into their own
sentence: a mail to be answered, a passage in quotation marks to be translated, code, a quoted
reply. Told by form, and by the few words of `voices.toml` that begin a mail.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from ricordo.memory.grounding import Located

PASSAGE = 5
"""Words from which on something in quotation marks is a passage; less is a name or a term."""

BLANK = "\u2003"
"""What takes the place of a letter that was blanked out: white space that nobody types."""

_LONGEST = 20_000
_GAP = re.compile(rf"\s*{BLANK}\s*")
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_REPLY = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_STRAIGHT = re.compile(rf'(?<!\w)"([^"]{{1,{_LONGEST}}})"(?!\w)')
_PAIRS = tuple(
    re.compile(rf"{opening}([^{opening}{closing}]{{1,{_LONGEST}}})[{closing}]")
    for opening, closing in (("«", "»"), ("„", "“”"), ("“", "”"), ("»", "«"))
)
_SWISS, _GERMAN = _PAIRS[0], _PAIRS[3]
_SEEN = re.compile(r"\S")


def own_voice(text: str) -> str:
    """The text with every part that is not the user's own blanked out; places stay the same.

    A message that is such a part as a whole stays: there, the marks mean nothing.
    """
    characters = list(text)
    for start, end in _foreign(text):
        characters[start:end] = _SEEN.sub(BLANK, text[start:end])
    blanked = "".join(characters)
    return blanked if blanked.strip() else text


def unbroken(quote: Located) -> Located:
    """The longest part of a quote that runs over nothing blanked out, so that it is literal."""
    if BLANK not in quote.span:
        return quote
    gaps = [match.span() for match in _GAP.finditer(quote.span)]
    starts = (0, *(end for _, end in gaps))
    ends = (*(start for start, _ in gaps), len(quote.span))
    start, end = max(zip(starts, ends, strict=True), key=lambda part: part[1] - part[0])
    return replace(
        quote,
        start=quote.start + start,
        end=quote.start + end,
        span=quote.span[start:end],
    )


def _foreign(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_FENCE, _REPLY):
        yield from (match.span() for match in pattern.finditer(text))
    for pattern in (_STRAIGHT, *_pairs(text)):
        for match in pattern.finditer(text):
            if len(match[1].split()) >= PASSAGE:
                yield match.span()
    mail = _mail().search(text)
    if mail is not None:
        yield mail.start(), len(text)


def _pairs(text: str) -> list[re.Pattern[str]]:
    """The pairs of marks; ``»…«`` only where that is how the first passage opens."""
    opens, closes = text.find("«"), text.find("»")
    turned = 0 <= closes < opens
    return [pattern for pattern in _PAIRS if pattern is not (_SWISS if turned else _GERMAN)]


@cache
def _mail() -> re.Pattern[str]:
    """The beginning of a mail: a header, or a greeting on a line of its own after other text."""
    source = files("ricordo.memory").joinpath("voices.toml").read_text(encoding="utf-8")
    lists: dict[str, Any] = tomllib.loads(source)
    headers = "|".join(re.escape(word) for word in lists["mail"]["headers"])
    greetings = "|".join(re.escape(word) for word in lists["mail"]["greetings"])
    header = rf"^[ \t]*(?:{headers})[ \t\u00a0]?:[ \t]\S"
    greeting = rf"(?<=\n)[ \t]*(?:{greetings})\b[^\n,:]{{0,60}}[,:]"
    return re.compile(f"{header}|{greeting}", re.MULTILINE | re.IGNORECASE)
