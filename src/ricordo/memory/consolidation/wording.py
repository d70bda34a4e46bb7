"""When two texts say the same: in the same words, or as nothing but the same relation.

What two texts may differ in is a closed list: case, white space, punctuation, articles, a few words
that carry no meaning, and how the person is named as subject ("I work", "The user works", "Works").
All other words must be equal, in the same order. So numbers, names, negations, tenses and who does
what to whom can never differ.
"""

import re
import unicodedata

from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import SELF, Relation

Words = tuple[str, ...]

LEAST = 2
"""Fewer words are too little to tell that two texts mean the same."""

_LEFT = "\"'“”„«»‹›‚‘’([{<*_`"
_RIGHT = _LEFT + ".,;:!…)]}>"
_BULLETS = frozenset("-–—•*·|")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
_BETWEEN_LETTERS = re.compile(r"(?<=[^\W\d_])[-‐‑](?=[^\W\d_])")
_CONTRACTED = (
    (re.compile(r"\bcan(?:'t|not)\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\bi'm\b"), "i am"),
    (re.compile(r"\bi've\b"), "i have"),
)
_ARTICLES = frozenset(
    "the a an der die das den dem ein eine einen einem einer le la les un une il lo gli uno "
    "una".split()
)
_EMPTY = frozenset(
    "also currently presently please auch aktuell derzeit aussi actuellement anche "
    "attualmente".split()
)
_NAMED_USER = frozenset("user benutzer benutzerin nutzer nutzerin utilisateur utente".split())
_ATTACHED = frozenset({"l'utilisateur", "l'utilisatrice", "l'utente"})
_OF_USER = frozenset({"my", "user's"})
_ADVERBS = frozenset("never always often usually sometimes still only rarely mostly not".split())
_UNCHANGED = frozenset(
    "can will would should must may might could shall was did had is has does".split()
)
_IRREGULAR = {"am": "is", "have": "has", "do": "does", "go": "goes"}
_VERBS = frozenset(
    "is has was does likes loves prefers hates dislikes enjoys wants needs uses lives works speaks "
    "owns plays reads writes eats studies knows thinks feels avoids travels manages leads builds "
    "learns teaches goes follows maintains develops believes expects asks belongs collaborates "
    "takes visits delivers gives gets makes buys sells pays sees meets keeps tries comes says "
    "would can will should must had did".split()
)
"""After a bare "user", which may also be part of a name ("User accounts ..."), one of these must
follow; nouns in the plural are left out."""

_THE_USER = "\0"
"""Stands for "the user" at the beginning; no stored text has it."""


def wording(text: str) -> Words:
    """The words that must be equal in two texts that say the same; `()` when there are too few."""
    words = _subject(_words(text))
    return words if len(words) >= LEAST else ()


def tells(text: str, relation: Relation, vocabulary: Vocabulary) -> bool:
    """Whether a text says this relation and nothing else: its ends, and a phrase that means it.

    "Works at Acme" and "Is employed by Acme" both do, by the vocabulary's own spellings.
    """
    words = _subject(_words(text))
    own = relation.source_name == SELF
    source = () if own else _words(relation.source_name)
    target = _words(relation.target_name)
    if _framed(words, source, target):
        return _means(
            words[len(source) : len(words) - len(target)], relation, vocabulary, turned=False
        )
    if not own and _framed(words, target, source):
        return _means(
            words[len(target) : len(words) - len(source)], relation, vocabulary, turned=True
        )
    return False


def _framed(words: Words, first: Words, last: Words) -> bool:
    whole = len(words) > len(first) + len(last) and bool(last)
    return whole and words[: len(first)] == first and words[len(words) - len(last) :] == last


def _means(phrase: Words, relation: Relation, vocabulary: Vocabulary, *, turned: bool) -> bool:
    meant = vocabulary.relation(" ".join(phrase))
    if meant is None or not meant.listed or meant.relation.name != relation.type:
        return False
    return meant.turned == turned or meant.relation.symmetric


def _words(text: str) -> Words:
    """The words of a text, without what carries no meaning."""
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES)
    plain = _BETWEEN_LETTERS.sub(" ", plain)
    found: list[str] = []
    parts = plain.split()
    for place, raw in enumerate(parts):
        # "Plan A" is a plan of its own: an article is small, except at the beginning.
        if raw in _ARTICLES or (place == 0 and raw.casefold() in _ARTICLES):
            if place == 0 and len(parts) > 1 and parts[1].casefold() in _NAMED_USER:
                parts[1] = _THE_USER
            continue
        bare = raw.lstrip(_LEFT).rstrip(_RIGHT)
        if bare and not _BULLETS.issuperset(bare):
            found += _spelled_out(bare.casefold())
    if found and found[-1] == "now":
        found.pop()
    return tuple("user's" if word in _OF_USER else word for word in found if word not in _EMPTY)


def _spelled_out(word: str) -> list[str]:
    if "'" in word or word == "cannot":
        for pattern, whole in _CONTRACTED:
            word = pattern.sub(whole, word)
    return word.split()


def _subject(words: Words) -> Words:
    """The words without the person as subject, the verb as it is said of a third person."""
    if not words:
        return words
    first, rest = words[0], words[1:]
    if first in ("i", "ich", "je", "io"):
        return _third_person(rest) if first == "i" else rest
    verb = next((word for word in rest if word not in _ADVERBS), None)
    if first == _THE_USER or first in _ATTACHED or (first == "user" and verb in _VERBS):
        return rest
    return words


def _third_person(words: Words) -> Words:
    """As it is said of a third person: "never eat meat" becomes "never eats meat"."""
    for place, word in enumerate(words):
        if word in _ADVERBS:
            continue
        return (*words[:place], _inflected(word), *words[place + 1 :])
    return words


def _inflected(verb: str) -> str:
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _UNCHANGED or not (verb.isascii() and verb.isalpha()) or verb.endswith("ed"):
        return verb
    if re.search(r"(?:s|x|z|ch|sh)$", verb):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"
