"""Grounding: an inferred memory needs a quote that is a literal span of the user's own words.

Compared are the words, not how they were typed: case, white space, composed or decomposed accents,
and the typographic form of quotes, apostrophes, dashes and ellipses make no difference.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ricordo.model import Said, Speaker

_SAME = str.maketrans(
    dict.fromkeys("‘’‚‛`´ʼ′＇", "'")
    | dict.fromkeys("“”„‟«»″＂", '"')
    | dict.fromkeys("‐‑‒–—―−﹣－", "-")
    | {"…": "...", "‹": "'", "›": "'"}
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")
)
_EDGE = " .,:;!?¡¿'\"-()[]{}*_"
_WORD = re.compile(r"\w+")
_LETTERS_FOR_WORDS = 5
_LETTERS_FOR_TOKEN = 12
_LETTERS_UNSPACED = 4
_TRIES = 1_000  # places looked at per message, so that "aaaa…" costs no more than other texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where a quote was said.

    Args:
        index: of the message among those searched.
        message: that message.
        start, end: the span in its text.
        span: the span itself, as typed.
    """

    index: int
    message: Said
    start: int
    end: int
    span: str


class Ungrounded(StrEnum):
    """Why a quote is no ground for a memory; the values are stable."""

    TOO_SHORT = "quote-too-short"
    """So little that it could come from anywhere."""
    NOT_SAID = "quote-not-said"
    """It occurs in no message."""
    ASSISTANT = "quote-by-assistant"
    """Only the assistant said it."""
    TOOL = "quote-by-tool"
    """Only a tool said it."""
    UNTRUSTED = "quote-untrusted"
    """It occurs only in what the user did not say themselves, such as a pasted document."""


class Folds:
    """Texts as they are compared: each is folded once, however many quotes are looked for in it."""

    def __init__(self) -> None:
        self._folded: dict[str, str] = {}
        self._mapped: dict[str, tuple[str, list[int]]] = {}

    def of(self, text: str) -> str:
        """The text as it is compared."""
        found = self._folded.get(text)
        if found is None:
            found = self._folded[text] = _folded(text)
        return found

    def mapped(self, text: str) -> tuple[str, list[int]]:
        """The same, and for each of its characters (and its end) the place in the original."""
        found = self._mapped.get(text)
        if found is None:
            found = self._mapped[text] = _mapped(text)
        return found


def find_quote(quote: str, said: Sequence[Said], *, folds: Folds | None = None) -> Located | None:
    """The first place where the user said the quote themselves, or None; see `ground`."""
    found = ground(quote, said, folds=folds)
    return found if isinstance(found, Located) else None


def ground(quote: str, said: Sequence[Said], *, folds: Folds | None = None) -> Located | Ungrounded:
    """The first place where the user said the quote themselves, or why there is none.

    The quote must be whole words, and enough of them: two words, a whole message, or one telling
    token such as ``ISO-27001``. Takes time in proportion to the length of the messages.

    Args:
        folds: kept by a caller who looks for many quotes in the same messages.
    """
    folds = folds or Folds()
    wanted = _folded(quote).strip(_EDGE)
    if not wanted:
        return Ungrounded.TOO_SHORT
    telling = _telling(quote, wanted)
    short = False
    for index, message in enumerate(said):
        if message.speaker is not Speaker.USER or not message.trusted:
            continue
        text = folds.of(message.text)
        if wanted not in text:
            continue
        if not telling and text.strip(_EDGE) != wanted:
            short = True
            continue
        located = _locate(wanted, message, index, folds)
        if located is not None:
            return located
    return Ungrounded.TOO_SHORT if short else _elsewhere(wanted, said, folds)


def _elsewhere(wanted: str, said: Sequence[Said], folds: Folds) -> Ungrounded:
    """Who said it, if the user did not."""
    for message in said:
        if message.speaker is Speaker.USER and message.trusted:
            continue
        if wanted in folds.of(message.text):
            if not message.trusted:
                return Ungrounded.UNTRUSTED
            by_tool = message.speaker is Speaker.TOOL
            return Ungrounded.TOOL if by_tool else Ungrounded.ASSISTANT
    return Ungrounded.NOT_SAID


def _telling(quote: str, wanted: str) -> bool:
    """Whether the quote is enough to tell where it comes from."""
    letters = sum(character.isalnum() for character in wanted)
    if any(_unspaced(character) for character in wanted):
        return letters >= _LETTERS_UNSPACED
    words = _WORD.findall(wanted)
    if len(wanted.split()) > 1:
        return len(words) > 1 and letters >= _LETTERS_FOR_WORDS
    token = quote.strip().strip(_EDGE)
    marked = (
        any(character.isdigit() for character in token)
        or any(character in "@-_./+#" for character in token)
        or any(character.isupper() for character in token[1:])
    )
    return letters >= _LETTERS_FOR_TOKEN or (marked and letters >= _LETTERS_UNSPACED)


def _locate(wanted: str, message: Said, index: int, folds: Folds) -> Located | None:
    folded, places = folds.mapped(message.text)
    at = folded.find(wanted)
    for _ in range(_TRIES):
        if at < 0:
            break
        end = at + len(wanted)
        if _is_edge(folded, at - 1, at) and _is_edge(folded, end - 1, end):
            start, stop = places[at], places[end]
            span = message.text[start:stop].rstrip()
            return Located(
                index=index, message=message, start=start, end=start + len(span), span=span
            )
        at = folded.find(wanted, at + 1)
    return None


def _is_edge(text: str, before: int, after: int) -> bool:
    """Whether no word runs across: ``art`` is not said in ``artichokes``."""
    if before < 0 or after >= len(text):
        return True
    left, right = text[before], text[after]
    return not (left.isalnum() and right.isalnum()) or _unspaced(left) or _unspaced(right)


def _unspaced(character: str) -> bool:
    """Whether the character is of a script that puts no spaces between words."""
    code = ord(character)
    return 0x0E00 <= code < 0x1000 or 0x2E80 <= code < 0xAC00 or 0xF900 <= code < 0xFB00


def _folded(text: str) -> str:
    """The text as it is compared."""
    composed = unicodedata.normalize("NFC", text).translate(_SAME)
    return " ".join(composed.casefold().split())


def _mapped(text: str) -> tuple[str, list[int]]:
    """The folded text, and for each of its characters (and its end) the place in the original.

    Folds cluster by cluster: a letter together with the marks that compose with it.
    """
    folded: list[str] = []
    places: list[int] = []
    for start, cluster in _clusters(text):
        piece = _folded(cluster)
        if not piece and cluster.isspace():
            piece = " " if folded and folded[-1] != " " else ""
        for character in piece:
            folded.append(character)
            places.append(start)
    places.append(len(text))
    return "".join(folded), places


def _clusters(text: str) -> list[tuple[int, str]]:
    starts = [
        at
        for at, character in enumerate(text)
        if at == 0 or not _joins(character) or text[at - 1].isspace()
    ]
    ends = [*starts[1:], len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def _joins(character: str) -> bool:
    """Whether it composes with what stands before: a mark, or a vowel or tail of Hangul."""
    if character.isascii():
        return False
    return unicodedata.category(character)[0] == "M" or 0x1160 <= ord(character) < 0x1200
