"""Makes any text fit for the engine, and short enough for the time there is."""

import unicodedata
from bisect import bisect_right
from itertools import accumulate

# A question is waited for. The engine takes about 2 ms a token, and a word is 1 to 2 tokens: so
# this is of plain words, and fewer of what takes more tokens, such as signs and other scripts.
QUESTION_CHARACTERS = 400

_IDEOGRAMS = 0x2E80
_SYMBOLS = 0x2000
_COMMON = frozenset(" .,;:?!'’\"()-–…")

# About 300 tokens, so that one piece never holds the thread for much longer than half a second.
PIECE_CHARACTERS = 1_200

# Enough for the longest memory, even when each piece ends half way.
PIECES = 16


def legible(text: str) -> str:
    """The text in NFKC, without NULs and lone surrogates, each run of white space one space.

    The engine reads C strings, so a NUL would end the text. Its own NFKC step composes nothing
    and reserves too little room for a few characters that become eighteen, hence NFKC here.
    """
    safe = text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
    return " ".join(unicodedata.normalize("NFKC", safe).split())


def gist(question: str, *, longest: int = QUESTION_CHARACTERS) -> str:
    """A question no longer than that: its beginning and its end, where people ask."""
    text = legible(question)
    costs = [_cost(character) for character in text[: longest + 1]]
    if len(text) <= longest and sum(costs) <= longest:
        return text
    half = longest / 2
    head = text[: bisect_right(list(accumulate(costs)), half)]
    behind = accumulate(_cost(character) for character in text[: -longest - 1 : -1])
    fitting = bisect_right(list(behind), half)
    tail = text[len(text) - fitting :]
    return f"{head.rsplit(' ', 1)[0]} … {tail.split(' ', 1)[-1]}"


def _cost(character: str) -> float:
    """What it costs the engine, where a letter of a plain word costs 1."""
    if character.isalpha():
        return 1.0 if ord(character) < _IDEOGRAMS else 3.0
    if character in _COMMON:
        return 1.0
    return 4.0 if ord(character) < _SYMBOLS else 6.0


def pieces(document: str, *, longest: int = PIECE_CHARACTERS) -> list[str]:
    """A document cut at sentence ends, or else at spaces; what follows piece 16 is left out."""
    rest = legible(document)
    cut: list[str] = []
    while len(rest) > longest and len(cut) < PIECES - 1:
        end = _end(rest[:longest])
        cut.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*cut, rest[:longest]]


def _end(window: str) -> int:
    least = len(window) // 2
    for mark in (". ", "? ", "! ", " "):
        at = window.rfind(mark, least)
        if at > 0:
            return at + len(mark)
    return len(window)
