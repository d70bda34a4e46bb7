"""Tokens without a tokenizer: an estimate on the safe side, and cutting a text to a budget.

The estimate adds a weight per character, because subword vocabularies differ but agree on the
order of size: about four letters of Latin script to a token, one token per Chinese or Japanese
character or Korean syllable, two letters of other alphabets, and more for what is rare. A text has
at least as many tokens as words.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

_QUARTER, _HALF, _WHOLE, _RARE = 1, 2, 4, 8
_LIGHT = bytes(code for code in range(0x80) if chr(code).isalpha() or chr(code).isspace())
# Looks behind and never gives back, so that a long row of dots is read once only.
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？]++[”’」』）]*+|\n++")
_WORD_END = re.compile(r"\s+")


class Cut(NamedTuple):
    """A text within its budget, and how many tokens of it (estimated) were left out."""

    text: str
    dropped: int


def estimate(text: str) -> int:
    """About how many tokens a model counts in the text; rather too many than too few."""
    if not text:
        return 0
    return max(-(-_quarters(text) // 4), len(text.split()))


def cut(text: str, *, tokens: int) -> Cut:
    """The beginning of the text within `tokens`, ended where a sentence ends.

    Where not even one sentence fits it ends at a word, and where no word fits at a character. A
    text that fits is returned unchanged. Takes time in proportion to the text's length.
    """
    whole = estimate(text)
    if whole <= tokens:
        return Cut(text, 0)
    longest = _longest(text, tokens)
    end = _last(_ends(_SENTENCE_END, text, longest)) or _last(_ends(_WORD_END, text, longest))
    kept = text[: end or longest].rstrip()
    return Cut(kept, whole - estimate(kept))


def _quarters(text: str) -> int:
    """Quarters of tokens. ASCII is counted in bulk, for a recall weighs dozens of texts."""
    plain = text.encode("ascii", "ignore")
    quarters = len(plain) * _QUARTER + len(plain.translate(None, _LIGHT)) * (_HALF - _QUARTER)
    if len(plain) < len(text):
        quarters += sum(_weight(each) for each in text if not each.isascii())
    return quarters


def _weight(character: str) -> int:
    """Quarters of a token."""
    code = ord(character)
    if code < 0x80:
        return _QUARTER if character.isalpha() or character.isspace() else _HALF
    if code < 0x1100 or 0x1E00 <= code < 0x2100:
        return _HALF
    if code < 0x2E80:
        return _WHOLE
    return _WHOLE if code < 0xFFF0 else _RARE


def _longest(text: str, tokens: int) -> int:
    """How many characters fit by weight and by number of words."""
    by_weight = bisect_right(list(accumulate(map(_weight, text))), tokens * 4)
    for count, word in enumerate(re.finditer(r"\S+", text)):
        if word.start() >= by_weight:
            break
        if count == tokens:
            return word.start()
    return by_weight


def _ends(pattern: re.Pattern[str], text: str, longest: int) -> Iterator[int]:
    """Where a piece ends, up to `longest`; what follows it is looked at, not kept."""
    for match in pattern.finditer(text, 0, min(longest + 1, len(text))):
        end = match.start() if match.group().isspace() else match.end()
        if end <= longest:
            yield end


def _last(ends: Iterator[int]) -> int:
    last = 0
    for end in ends:
        last = end
    return last
