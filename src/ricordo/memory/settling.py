"""What a model's items come to together: repeats joined, and each thing in one cell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from ricordo.memory.grounding import Located
from ricordo.memory.phrases import unaccented
from ricordo.model import Kind, Turn, digest
from ricordo.ports import Candidate

_WORD = re.compile(r"\w+")
_STEM = 5
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Grounded:
    """An item whose quote was found.

    Args:
        verbatim: its text is its quote, for want of a better one.
    """

    candidate: Candidate
    turn: Turn
    quote: Located
    verbatim: bool = False


def settled(items: Sequence[Grounded]) -> list[Grounded]:
    """The items without those that others make needless.

    What is called both a preference and a fact is a preference: that is seen by fewer agents. An
    item whose words another one of its kind has all, from the same words of the user, is a repeat,
    and so is a verbatim one beside another; the other one takes over its relations.
    """
    private = {digest(each.candidate.text) for each in items if _is(each, Kind.PREFERENCE)}
    kept: list[Grounded] = []
    for item in items:
        if _is(item, Kind.FACT) and digest(item.candidate.text) in private:
            continue
        at = next((n for n, other in enumerate(kept) if _repeats(item, other)), None)
        if at is not None:
            kept[at] = _joined(kept[at], item)
            continue
        repeats = [other for other in kept if _repeats(other, item)]
        kept = [other for other in kept if other not in repeats]
        kept.append(reduce(_joined, repeats, item))
    return kept


def _is(item: Grounded, kind: Kind) -> bool:
    return item.candidate.kind == kind


def _repeats(one: Grounded, other: Grounded) -> bool:
    """Whether the other says all that the one says, and was taken from the same words."""
    if one.candidate.kind != other.candidate.kind or one.quote.message != other.quote.message:
        return False
    inside = one.quote.start >= other.quote.start and one.quote.end <= other.quote.end
    around = one.quote.start <= other.quote.start and one.quote.end >= other.quote.end
    if not (inside or around):
        return False
    words, others = _stems(one), _stems(other)
    longer = len(other.candidate.text) >= len(one.candidate.text)
    return one.verbatim or words < others or (words == others and longer)


def _stems(item: Grounded) -> set[str]:
    """The telling words: "Is a DS220" and "Has a DS220" say the same of one quote."""
    words = _WORD.findall(unaccented(item.candidate.text))
    return {word[:_STEM] for word in words if len(word) > _SHORT or word.isdigit()}


def _joined(kept: Grounded, repeat: Grounded) -> Grounded:
    one, other = kept.candidate, repeat.candidate
    relations = dict.fromkeys((*one.relations, *other.relations))
    replaces = dict.fromkeys((*one.replaces, *other.replaces))
    joined = replace(one, relations=tuple(relations), replaces=tuple(replaces))
    return replace(kept, candidate=joined)
