"""Finds and blanks secrets: keys, tokens, passwords said as such, and payment card numbers.

Every pattern is bounded, so that a long text takes time in proportion to its length.
"""

import re
from collections.abc import Iterator

from ricordo.memory.voices import BLANK

_ALNUM = r"(?<![A-Za-z0-9])"

_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("secret:private-key", re.compile(r"-----BEGIN (?:[A-Z]{2,12} ){0,3}PRIVATE KEY")),
    (
        "secret:api-key",
        re.compile(
            _ALNUM + r"(?:A[KS]IA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9_]{22}"
            r"|gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20}|xox[abeoprs]-[A-Za-z0-9-]{10}"
            r"|sk-(?:[a-z]{2,6}-)?[A-Za-z0-9_-]{20}|[rsp]k_(?:live|test)_[A-Za-z0-9]{16}"
            r"|AIza[0-9A-Za-z_-]{35}|hf_[A-Za-z0-9]{30}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{30}"
            r"|SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16}|[0-9]{8,10}:[A-Za-z0-9_-]{35}"
            r"|dop_v1_[a-f0-9]{32}|shpat_[a-f0-9]{32}|AGE-SECRET-KEY-1[0-9A-Z]{20})"
        ),
    ),
    (
        "secret:token",
        re.compile(
            r"(?<![A-Za-z0-9])eyJ[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{10}"
            r"|\b[Bb]earer\s{1,3}(?=[^\s]{0,80}\d)[A-Za-z0-9._~+/-]{20}"
        ),
    ),
    (
        "secret:url-credentials",
        re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,80}:[^\s/@]{2,80}@"),
    ),
    (
        "secret:connection-string",
        re.compile(r"(?i)\b(?:AccountKey|SharedAccessKey|AccessKey|Pwd|Password)=[^\s;]{6}"),
    ),
)

_WORDS = (
    "pass ?words?|pass ?phrase|pass ?code|pwd|passwd|pin(?: code)?|passwort|kennwort|zugangscode|"
    "geheimzahl|mot de passe|code (?:secret|pin)|parola d'ordine|codice (?:segreto|pin)|"
    "(?:api|access|secret|private|client|geheimer|privater)[ _-](?:key|token|secret|schlüssel)|"
    "api-?schlüssel|zugriffsschlüssel|clé (?:d'api|api|secrète|privée)|jeton d'accès|"
    "chiave (?:api|segreta|privata)|token"
)
_VERBS = "is|was|are|ist|lautet|heisst|heißt|war|est|était|è|era|equals"
_STATED = re.compile(
    rf"(?P<whose>\b(?:my|our|mein|meine|unser|unsere|mon|ma|notre|mio|mia|la mia|il mio)\s+)?"
    rf"(?:\b[\w-]{{1,30}}\s+){{0,2}}?\b(?P<word>{_WORDS})\b"
    r"(?:\s+(?:wi-?fi|wlan|vpn|ssh|root|admin|router|e?-?mail|konto|account|compte|conto))?"
    r"(?:\s+(?:for|to|of|für|zum|zur|von|vom|der|des|meine[rs]|unsere[rs]|pour|du|de|des|per|di|del"
    r"|della|dello)(?:\s+[\w.-]{1,30}){1,4}?)?"
    rf"\s*(?:[:=]|\s(?:{_VERBS})\b\s*:?)\s*(?P<value>[^\s]{{3,200}})"
    r"(?P<rest>[^\n]?)",
    re.IGNORECASE,
)
_QUOTES = "\"'`“”„«»‘’"
_TAIL = ".,;:!?)" + _QUOTES
_DESCRIBES = re.compile(
    r"(?i)^(?:[\w-]*(?:encoded|based|digit|digits|stellig|hashed|encrypted|protected|chiffré|long"
    r"|hour|hours|day|days|minute|minutes|second|seconds)|https?:.*|v?\d+(?:\.\d+)+|<.*>|\$?\{.*\}"
    r"|\[.*\]|\*+|x+|\.+)$"
)
_NO_SECRET = frozenset(
    "required mandatory optional wrong incorrect correct right valid invalid weak strong long "
    "short secret unknown empty missing expired reset changed rotated stored saved forgotten lost "
    "safe needed hidden encrypted hashed the not too very set never always case difficult easy new "
    "old gespeichert vergessen falsch richtig nötig erforderlich abgelaufen geheim leer neu alt "
    "sicher unsicher schwach stark lang kurz verloren geändert oublié perdu faux correct requis "
    "nécessaire expiré secret vide nouveau faible fort long court dimenticata sbagliata corretta "
    "richiesta scaduta segreta vuota nuova debole forte lunga corta persa".split()
)
_CARD = re.compile(r"(?<![\w.,-])(?:\d[ -]?){12,18}\d(?![\w-])")
_ISSUERS = re.compile(r"^(?:4|5[1-5]|2[2-7]|3[4-7]|6(?:011|4|5|2))")


_PIECE = 10_000
_OVERLAP = 2_000  # longer than anything that states a password
_KEY = re.compile(r"-----END [A-Z ]{0,40}-----|\Z")
_REST = re.compile(r"\S*")
_SEEN = re.compile(r"\S")


def secret_in(text: str) -> str | None:
    """A stable name of the first sort of secret found, such as ``secret:password``; else None."""
    return next((name for name, _, _ in _found(text)), None)


def without_secrets(text: str) -> str:
    """The text with every secret in it blanked out; places stay the same.

    So that a model cannot give away a part of it that by itself looks like any other word.
    """
    characters = list(text)
    for name, start, end in _found(text):
        whole = (_KEY if name == "secret:private-key" else _REST).search(text, end)
        until = start + len(text[start : whole.end() if whole else end].rstrip(_TAIL))
        characters[start:until] = _SEEN.sub(BLANK, text[start:until])
    return "".join(characters)


def _found(text: str) -> Iterator[tuple[str, int, int]]:
    for name, pattern in _FORMATS:
        for match in pattern.finditer(text):
            yield name, *match.span()
    for match in _stated(text):
        if _tells(match):
            yield "secret:password", *match.span("value")
    for match in _CARD.finditer(text):
        if _is_card(match.group()):
            yield "secret:card-number", *match.span()


def _stated(text: str) -> Iterator[re.Match[str]]:
    """Where a password is stated. Piece by piece: while one search goes on, no other thread does,
    and through a long text this one takes a while."""
    done = 0
    for begin in range(0, len(text), _PIECE):
        end = begin + _PIECE
        for match in _STATED.finditer(text, max(begin, done), end + _OVERLAP):
            if match.start() >= end:
                break
            done = match.end()
            yield match


def _tells(match: re.Match[str]) -> bool:
    """Whether what follows "password is" is the password, and not a remark about it."""
    raw = match.group("value")
    value = raw.strip(_TAIL)
    if len(value) < 3 or _DESCRIBES.match(value) or value.casefold() in _NO_SECRET:
        return False
    if raw[0] in _QUOTES:
        return True
    digits = sum(character.isdigit() for character in value)
    if digits == len(value):
        return digits >= 4 and match.group("word").casefold() != "token"  # a number of tokens
    if digits or any(character in "!@#$%^&*+=_~" for character in value):
        return len(value) >= 4
    mixed = not value.islower() and not value.istitle() and len(value) >= 6
    alone = match.group("whose") is not None and _ends_here(raw, match.group("rest"))
    return mixed or alone


def _ends_here(raw: str, rest: str) -> bool:
    return not rest or raw[-1] in ".,;!"


def _is_card(written: str) -> bool:
    digits = [int(character) for character in written if character.isdigit()]
    number = "".join(map(str, digits))
    if len(set(digits)) < 2 or not _ISSUERS.match(number):
        return False
    doubled = [d if i % 2 == 0 else d * 2 - 9 * (d > 4) for i, d in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0
