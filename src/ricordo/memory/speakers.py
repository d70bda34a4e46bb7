"""Who said a memory, where its text tells, and whether a question asks about one of them."""

import re
from collections.abc import Iterable

_SPOKEN = re.compile(
    r"\s*(?:[\[(][^\])\n]{1,60}[\])]\s*)?(?P<name>[^\W\d_][\w .'’-]{0,39}?)\s*:\s", re.UNICODE
)


def speaker(text: str) -> str | None:
    """The name before a colon at the beginning of a text, perhaps after a date in brackets."""
    match = _SPOKEN.match(text)
    return match["name"] if match else None


def asked_about(question: str, names: Iterable[str]) -> str | None:
    """The one of these names that a question mentions; None when it mentions none or several."""
    folded = question.casefold()
    named = {name for name in names if _mentions(folded, name.casefold())}
    return named.pop() if len(named) == 1 else None


def _mentions(question: str, name: str) -> bool:
    if name not in question:  # most are not, and a pattern takes a while to compile
        return False
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question) is not None
