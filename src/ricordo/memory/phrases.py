"""Spellings of relations: one key for a phrase, whichever case, accent or auxiliary it has."""

import re
import unicodedata

LONGEST = 60
"""Longest name of a relation, in characters."""

_MOST_WORDS = 7
_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-zà-ÿ])(?=[A-Z])")

# Present-tense auxiliaries only: "was" or "used to" would turn a past state into a present one.
_AUXILIARIES = frozenset(
    "is are am be being been has currently now also ist sind bin wird derzeit jetzt aktuell "
    "est sont suis actuellement è sono attualmente".split()
)
_NEGATIONS = frozenset(
    "not no never don't doesn't isn't aren't can't cannot won't without nicht nie niemals kein "
    "keine keinen ohne ne pas plus jamais aucun non mai nessun nessuna senza".split()
)
_NEGATIVE = re.compile(r"\b(?:\w+n['’]t|n['’]\w+)\b")


def snake(phrase: str) -> str:
    """The phrase in snake_case: ``"Works  on"``, ``"works-on"`` and ``"worksOn"`` → ``works_on``.

    Letters of every script are kept; everything else parts words. Empty when nothing is left.
    """
    spaced = _CAMEL.sub(" ", unicodedata.normalize("NFKC", phrase))
    return "_".join(_PARTS.findall(spaced.casefold()))


def unaccented(text: str) -> str:
    """The text case-folded and without accents, for comparing what people type either way."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def spelling(phrase: str) -> str:
    """The key under which a phrase is looked up: snake_case without accents."""
    return unaccented(snake(phrase))


def shortened(phrase: str) -> str:
    """The phrase's key without leading present-tense auxiliaries: ``is working on`` → working_on.

    Empty when there was none, or nothing else.
    """
    words = snake(phrase).split("_")
    rest = list(words)
    while rest and rest[0] in _AUXILIARIES:
        rest.pop(0)
    return unaccented("_".join(rest)) if 0 < len(rest) < len(words) else ""


def negated(phrase: str) -> bool:
    """Whether the phrase says that something is not so; an absence is no edge."""
    folded = unicodedata.normalize("NFKC", phrase).casefold().replace("’", "'")
    words = re.split(r"[\s_\-]+", folded)
    return bool(_NEGATIVE.search(folded)) or not _NEGATIONS.isdisjoint(words)


def fits_as_name(name: str) -> bool:
    """Whether a snake_case name may become a new relation: some letters, not a sentence."""
    return (
        0 < len(name) <= LONGEST
        and name.count("_") < _MOST_WORDS
        and any(character.isalpha() for character in name)
    )
