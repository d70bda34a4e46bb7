"""The analyzer: surface forms and stems of four languages, without guessing the language."""

from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from threading import Lock
from typing import Protocol, cast

import Stemmer  # type: ignore[import-untyped]

from ricordo.adapters.words.folding import clean, fold, spellings
from ricordo.adapters.words.function_words import FUNCTION_WORDS
from ricordo.adapters.words.splitting import Part, Token, split

_LANGUAGES = ("english", "german", "french", "italian")
_LATIN_END = "\u0250"
_STEMMED = range(3, 41)
_COUNTED = frozenset({Part.WORD, Part.PIECE, Part.SIGN})
_MOST_COUNT = 0xFFFF
_LONGEST = 32_768
_MOST_WORDS = 256


class _Stems(Protocol):
    def stemWords(self, words: list[str], /) -> list[str]: ...  # noqa: N802


class SnowballAnalyzer:
    """Finds a word by its surface form, by its stems in four languages, and by its parts.

    1. Case, width, accents and German umlaut spelling make no difference.
    2. A compound is found whole, however it is joined, and by each of its parts.
    3. Surface forms, parts and stems share one name space on purpose: a word that looks like
       another one's stem is nearly always its base form.
    4. Work is linear in the text; texts are read up to 32,768 characters, and a question's first
       256 telling words count.

    May be used from several threads.
    """

    name = "words-1"

    def __init__(self) -> None:
        # A stemmer's own cache would keep words of texts that were forgotten since.
        self._stemmers = [_stemmer(language) for language in _LANGUAGES]
        self._stemming = Lock()

    def terms(self, text: str) -> tuple[dict[int, int], int]:
        """Of a text to store: counts by 64-bit term hash, and the number of words."""
        tokens = list(split(_cut(text)))
        counts = Counter(token.text for token in tokens)
        terms: dict[int, int] = {}
        for word, forms in self._forms(counts).items():
            for term in map(_hash, forms):
                terms[term] = min(terms.get(term, 0) + counts[word], _MOST_COUNT)
        return terms, sum(token.part in _COUNTED for token in tokens)

    def words(self, question: str) -> tuple[tuple[int, ...], ...]:
        """Of a question: per telling word its alternative term hashes.

        A compound counts as a whole and once more by each part. Function words are left out unless
        nothing else is left.
        """
        tokens = [token for token in split(_cut(question)) if _asked(token)]
        words = dict.fromkeys(token.text for token in tokens)
        telling = [word for word in words if fold(word) not in FUNCTION_WORDS]
        forms = self._forms((telling or list(words))[:_MOST_WORDS])
        groups = (tuple(map(_hash, alternatives)) for alternatives in forms.values())
        return tuple(dict.fromkeys(groups))

    def _forms(self, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Per word its distinct forms, the surface first."""
        forms = {word: dict.fromkeys(spellings(word)) for word in words}
        stemmed = [word for word, found in forms.items() if _has_stems(word, next(iter(found)))]
        accented = [word for word in stemmed if not word.isascii()]
        for asked, source in ((stemmed, stemmed), (accented, [fold(word) for word in accented])):
            for stems in self._stems(source):
                for word, stem in zip(asked, stems, strict=True):
                    if len(stem) > 1:
                        forms[word][fold(stem)] = None
        return {word: tuple(found) for word, found in forms.items()}

    def _stems(self, words: list[str]) -> list[list[str]]:
        if not words:
            return []
        with self._stemming:  # a stemmer keeps its state in one buffer
            return [stemmer.stemWords(words) for stemmer in self._stemmers]


def _stemmer(language: str) -> _Stems:
    return cast("_Stems", Stemmer.Stemmer(language, 0))  # type: ignore[attr-defined]


def _cut(text: str) -> str:
    # Cut again: one character may stand for eighteen.
    return clean(text[:_LONGEST])[:_LONGEST]


def _asked(token: Token) -> bool:
    """Whether a token of a question is looked for by itself."""
    if token.part is Part.PIECE:
        return len(token.text) > 1
    return token.alone or token.part not in (Part.PAIR, Part.SIGN)


def _has_stems(word: str, folded: str) -> bool:
    return (
        len(word) in _STEMMED
        and word.isalpha()
        and max(word) < _LATIN_END
        and folded not in FUNCTION_WORDS
    )


def _hash(form: str) -> int:
    raw = form.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8, person=b"ricordo-words-1").digest(), "little")
