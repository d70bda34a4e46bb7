"""What must not become memory, and what a person must see before it does.

Names of reasons are stable identifiers: ``secret:…`` refuses; ``special-category:…``,
``instruction-like``, ``untrusted`` and ``low-confidence`` ask for a person.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

from ricordo.memory.credentials import secret_in
from ricordo.memory.phrases import unaccented
from ricordo.model import Sensitivity

INSTRUCTION_LIKE = "instruction-like"
UNTRUSTED = "untrusted"
LOW_CONFIDENCE = "low-confidence"
SPECIAL_CATEGORY = "special-category:"
"""How the reason for each special category begins; its name follows."""


def _lexicon(words: Iterable[str]) -> re.Pattern[str]:
    """One pattern for all words, whole words only; ``*`` stands for the rest of a word."""
    forms = sorted({_folded(word) for word in words}, key=len, reverse=True)
    either = "|".join(re.escape(form).replace(r"\*", r"\w*") for form in forms)
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)")


def _folded(text: str) -> str:
    """Without case, accents, typographic apostrophes and characters that cannot be seen."""
    plain = unaccented(unicodedata.normalize("NFKC", text)).replace("’", "'")
    return "".join(c for c in plain if c.isascii() or unicodedata.category(c) != "Cf")


@cache
def _lexicons() -> tuple[dict[str, re.Pattern[str]], tuple[re.Pattern[str], ...]]:
    """What `screening.toml` lists: words by special category, and patterns of orders."""
    source = files("ricordo.memory").joinpath("screening.toml").read_text(encoding="utf-8")
    lists = tomllib.loads(source)
    special = {name: _lexicon(words) for name, words in lists["special"].items()}
    patterns = (pattern.replace("{gap}", _GAP) for p in lists["orders"].values() for pattern in p)
    return special, tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)


_GAP = r"\b(?:\W{1,3}\w{1,40}){0,6}?\W{1,3}"
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_PERSONAL = (
    re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{2,63}"),
    re.compile(r"(?<![\w+])(?:\+|00)\d{1,3}[ ()/.-]{0,2}\d(?:[ ()/.-]{0,2}\d){6,12}(?!\w)"),
    re.compile(r"(?<!\d)756\.?\d{4}\.?\d{4}\.?\d{2}(?!\d)|(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])"),
    re.compile(
        r"(?<!\w)(?:date of birth|birthday|born on|geboren am|geburtstag|geburtsdatum|nee? le|"
        r"anniversaire|date de naissance|nat[oa] il|compleanno|data di nascita|salary|gehalt|lohn|"
        r"salaire|stipendio|passport number|passnummer|numero de passeport|numero di passaporto|"
        r"lives at|wohnhaft|home address|wohnadresse|adresse privee|indirizzo di casa|iban)(?!\w)"
    ),
)


def refuse_reason(text: str) -> str | None:
    """Why the text must not be remembered, or None: it holds a secret, such as a password.

    Returns a stable name such as ``secret:api-key``, never the secret.
    """
    return secret_in(unicodedata.normalize("NFKC", text))


def review_reasons(
    text: str, *, confidence: float, trusted: bool, min_confidence: float = 0.5
) -> tuple[str, ...]:
    """Why a person must look at a memory before it is recalled; empty when nobody needs to.

    Args:
        text: the memory, or what it was taken from.
        confidence: of whoever proposed it, from 0 to 1.
        trusted: False when it comes from what the user did not say themselves.
        min_confidence: below it a person decides.
    """
    folded = _folded(text)
    reasons = [SPECIAL_CATEGORY + name for name in _categories(folded)]
    if _orders(folded):
        reasons.append(INSTRUCTION_LIKE)
    if not trusted:
        reasons.append(UNTRUSTED)
    if not confidence >= min_confidence:  # so that NaN is low as well
        reasons.append(LOW_CONFIDENCE)
    return tuple(reasons)


def sensitivity_of(text: str) -> Sensitivity:
    """How carefully the text must be handled, by the words in it."""
    folded = _folded(text)
    if _categories(folded):
        return Sensitivity.SPECIAL
    personal = any(pattern.search(folded) for pattern in _PERSONAL)
    if personal or any(_is_iban(match.group()) for match in _IBAN.finditer(text.upper())):
        return Sensitivity.PERSONAL
    return Sensitivity.NORMAL


def instruction_like(text: str) -> bool:
    """Whether the text gives orders to a model instead of telling something."""
    return _orders(_folded(text))


def _categories(folded: str) -> list[str]:
    return [name for name, pattern in _lexicons()[0].items() if pattern.search(folded)]


def _orders(folded: str) -> bool:
    return any(pattern.search(folded) for pattern in _lexicons()[1])


def _is_iban(written: str) -> bool:
    """Whether the check digits of an account number are right."""
    compact = written.replace(" ", "")
    if not 15 <= len(compact) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1
