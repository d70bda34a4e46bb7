"""Splits a text into words, and what is compound into its whole and its parts."""

import re
from collections.abc import Iterator
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

from ricordo.adapters.words.folding import lower

# Everything is part of a word unless it is a space or a known punctuation mark, so that scripts
# whose vowels are marks stay whole and an emoji can be found.
_APART = (
    r"\s\x00-/:-@\[-`{-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7"
    "\u037e\u0387\u055a-\u055f\u0589\u05be\u05c0\u05c3\u060c\u061b\u061f\u066a-\u066d\u06d4"
    "\u0964\u0965\u0e2f\u0e5a\u0e5b\u104a\u104b\u1361-\u1368\u17d4-\u17d6\u2000-\u206f"
    "\u20a0-\u20cf\u2190-\u23ff\u2500-\u25ff\u2e00-\u2e7f\u3000-\u3003\u3008-\u3020\u3030"
    "\u303d\u30fb\ufe30-\ufe6f\uff61-\uff65"
)
_JOINT = r"[-_./\\@:'&+=?%#~]"
_CHUNK = re.compile(rf"[^{_APART}]+(?:(?:{_JOINT}{{1,3}}|(?<=\d),(?=\d))[^{_APART}]+)*[+#]{{0,2}}")
_JOINTS = re.compile(rf"({_JOINT}+|,)")
_NEGATED = re.compile(r"n't$", re.IGNORECASE)
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u312f\u3130-\u318f"
    "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
_MOST_PIECES = 6
_MOST_PAIRED = 64


class Part(Enum):
    """What a token is of the text."""

    WORD = auto()
    """A plain word."""
    WHOLE = auto()
    """A compound, joined: ``iso27001``."""
    PAIR = auto()
    """Two neighbouring parts of a longer compound, joined: ``2.3`` of ``v2.3``."""
    PIECE = auto()
    """One part of a compound: ``iso``."""
    SIGN = auto()
    """One character of a script without spaces."""
    BIGRAM = auto()
    """Two neighbouring characters of a script without spaces."""


class Token(NamedTuple):
    """A lower-case word or part, accents kept; `alone` where a sign or pair stands for itself."""

    text: str
    part: Part
    alone: bool = False


def split(text: str) -> Iterator[Token]:
    """The tokens of a cleaned text, in order."""
    for match in _CHUNK.finditer(text):
        chunk = match.group()
        if chunk.isascii() and chunk.isalpha() and (chunk[1:].islower() or chunk.isupper()):
            yield Token(chunk.lower(), Part.WORD)
        else:
            yield from _compound(_NEGATED.sub("nt", chunk))


def _compound(chunk: str) -> Iterator[Token]:
    bare = chunk.rstrip("+#")
    fields = _JOINTS.split(bare)
    words = [_pieces(word) for word in fields[::2]]
    pieces = [piece for word in words for piece in word]
    if any(_UNSPACED.match(piece) for piece in pieces):
        for piece in pieces:
            yield from _unspaced(piece)
        return
    if len(pieces) == 1:
        yield Token(pieces[0], Part.WORD)
    else:
        glues = _glues(words, fields[1::2])
        yield from _joined(pieces, glues)
        if len(words) > 1:
            yield from (Token("".join(word), Part.WHOLE) for word in words if len(word) > 1)
        yield from (Token(piece, Part.PIECE) for piece in pieces)
    if bare != chunk:
        yield Token(lower(fields[-1]) + chunk[len(bare) :], Part.WHOLE)


def _pieces(word: str) -> list[str]:
    """The parts of a word without joints: at changes of case, of letters to digits, of script.

    A word of many short parts is an opaque id and stays whole.
    """
    if len(word) == 1 or (word.isascii() and word.isalpha() and word[1:].islower()):
        return [lower(word)]
    cuts = [at for at in range(1, len(word)) if _parts_at(word, at)]
    if len(cuts) >= _MOST_PIECES and _UNSPACED.search(word) is None:
        return [lower(word)]
    edges = [0, *cuts, len(word)]
    return [lower(word[a:b]) for a, b in pairwise(edges)]


def _parts_at(word: str, at: int) -> bool:
    before, here = word[at - 1], word[at]
    if here.isupper():
        after = word[at + 1 : at + 2]
        return before.islower() or before.isdigit() or (before.isupper() and after.islower())
    if before.isdigit() != here.isdigit():
        return True
    if before.isascii() and here.isascii():
        return False
    return (_UNSPACED.match(before) is None) != (_UNSPACED.match(here) is None)


def _glues(words: list[list[str]], joints: list[str]) -> list[str]:
    """What stands between two pieces once joined: nothing, or the point of a number."""
    glues: list[str] = []
    for index, word in enumerate(words):
        glues += [""] * (len(word) - 1)
        if index < len(joints):
            numbers = word[-1].isdigit() and words[index + 1][0].isdigit()
            thousands = joints[index] == "," and len(words[index + 1][0]) == 3
            glues.append("." if numbers and joints[index] in ".," and not thousands else "")
    return glues


def _joined(pieces: list[str], glues: list[str]) -> Iterator[Token]:
    text = pieces[0] + "".join(g + p for g, p in zip(glues, pieces[1:], strict=True))
    yield Token(text, Part.WHOLE)
    if 2 < len(pieces) <= _MOST_PAIRED:
        for left, glue, right in zip(pieces, glues, pieces[1:], strict=False):
            yield Token(left + glue + right, Part.PAIR, alone=1 in (len(left), len(right)))


def _unspaced(run: str) -> Iterator[Token]:
    if _UNSPACED.match(run) is None:
        yield Token(run, Part.WORD)
        return
    for sign in run:
        yield Token(sign, Part.SIGN, alone=len(run) == 1)
    for left, right in pairwise(run):
        yield Token(left + right, Part.BIGRAM)
