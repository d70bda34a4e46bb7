"""What a question names: entities, and the asker."""

import re
from collections.abc import Sequence

from ricordo.model import MAX_NAME, clean_text

_WORD = re.compile(r"[^\s,;:!?()\[\]{}\"“”„«»<>]+")
_EDGE = ".'’`*_-"

LONGEST_NAME = 5
"""Most words of an entity's name that are looked up."""

MOST_WORDS = 60
"""Words of a question that are looked up as names: its last ones."""

LONGEST_QUESTION = 4_000
"""Characters of a question that are used."""

FIRST_WORDS, LAST_WORDS = 32, 64
"""Words that are looked for in memories where a question has more: each costs a look at all."""

_ASKER = frozenset(
    """
    i me my mine myself we us our ours
    ich mich mir mein meine meinem meinen meiner meines wir uns unser unsere unserem unseren
    je moi me mon ma mes nous notre nos mien mienne
    io mi mio mia miei mie noi nostro nostra nostri nostre
    """.split()
)


def entity_names(question: str) -> tuple[str, ...]:
    """Every run of one to five words of a question, as a name that an entity might have.

    Whether one has is a single indexed look-up of them all, so guessing is cheaper than parsing.
    """
    words = [word.strip(_EDGE) for word in _WORD.findall(question)][-MOST_WORDS:]
    words = [word for word in words if word]
    names: dict[str, None] = {}
    for size in range(min(LONGEST_NAME, len(words)), 0, -1):
        for first in range(len(words) - size + 1):
            name = " ".join(words[first : first + size])
            if len(name) <= MAX_NAME:
                names[_bare(name)] = None
    return tuple(names)


def clamped(question: str, *, longest: int = LONGEST_QUESTION) -> str:
    """What is used of a question: all of it, or of a longer one a quarter from its beginning and
    the rest from its end; without what cannot be text."""
    if len(question) > longest:
        beginning = longest // 4
        question = f"{question[:beginning]}\n{question[beginning + 1 - longest :]}"
    return clean_text(question).strip()


def telling(words: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
    """The words of a question that are looked for: of a long one those where people ask."""
    if len(words) <= FIRST_WORDS + LAST_WORDS:
        return tuple(words)
    return (*words[:FIRST_WORDS], *words[-LAST_WORDS:])


def _bare(name: str) -> str:
    """Without a possessive, so that ``Falcon's`` names ``Falcon``."""
    for ending in ("'s", "’s"):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name


def names_the_asker(question: str) -> bool:
    """Whether the question speaks of the person who asks, in English, German, French or Italian."""
    words = {word.strip(_EDGE).casefold() for word in _WORD.findall(question)}
    elided = {part for word in words for part in re.split("['’]", word)}
    return bool(_ASKER & (words | elided))
