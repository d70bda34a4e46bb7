"""Makes any text fit for the engine, and short enough for the time there is."""

import unicodedata

# A question is waited for. The engine takes about 2 ms a token, and a word is 1 to 2 tokens.
QUESTION_CHARACTERS = 400

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
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half].rsplit(' ', 1)[0]} … {text[-half:].split(' ', 1)[-1]}"


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
