"""Letters: one form for all the ways in which the same letter is written."""

import re
import unicodedata
from typing import Literal

_INVISIBLE = (
    *(0xAD, 0x61C, 0x180E, 0xFEFF),
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
)
_HYPHENS = (*range(0x2010, 0x2014), 0x2212)
_APOSTROPHES = (0x2018, 0x2019, 0x201B, 0x2032, 0x2BC)
_CLEANED: dict[int, str | None] = (
    dict.fromkeys(_INVISIBLE, None)
    | dict.fromkeys(_HYPHENS, "-")
    | dict.fromkeys(_APOSTROPHES, "'")
)

# Marks that people leave out when they type: Latin, Greek and Cyrillic accents, Hebrew points,
# Arabic vowels. The vowel signs of Indic scripts and Thai are letters and stay.
_ACCENT = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670]+")
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_SPELT_OUT = re.compile("(?<=[b-df-hj-np-tv-z])([aou])e(?=[b-df-hj-np-tv-z])")
_SHORTEST_SPELT_OUT = 6

_AT_ONCE = 256


def clean(text: str) -> str:
    """`text` in compatibility form NFKC, without invisible characters, case kept."""
    if text.isascii():
        return text
    return _normal("NFKC", text.translate(_CLEANED))


def lower(word: str) -> str:
    """`word` without case (``ß`` becomes ``ss``), accents kept and composed."""
    return word.lower() if word.isascii() else _normal("NFC", word.casefold())


def fold(word: str) -> str:
    """A lower-case `word` without accents."""
    if word.isascii():
        return word
    apart = _normal("NFD", word.translate(_LETTERS))
    return _normal("NFC", _ACCENT.sub("", apart))


def spellings(word: str) -> tuple[str, ...]:
    """The folded forms of a lower-case `word`: plain first, then as German spells its umlauts.

    ``müller`` is both ``muller`` and ``mueller``, and ``mueller`` is ``muller`` too; in short
    words two vowels are mostly just that, and are left alone.
    """
    plain = fold(word)
    forms = [plain]
    if plain != word:
        forms.append(fold(word.translate(_UMLAUTS)))
    if len(plain) >= _SHORTEST_SPELT_OUT:
        forms.append(_SPELT_OUT.sub(r"\1", plain))
    return tuple(dict.fromkeys(forms))


def _normal(form: Literal["NFC", "NFD", "NFKC"], text: str) -> str:
    """`text` in a normal form; slice by slice, for a long run of marks takes quadratic time.

    A letter cut off from its accent by a slice of a text is joined again by `lower`.
    """
    if len(text) <= _AT_ONCE:
        return unicodedata.normalize(form, text)
    starts = range(0, len(text), _AT_ONCE)
    return "".join(unicodedata.normalize(form, text[at : at + _AT_ONCE]) for at in starts)
