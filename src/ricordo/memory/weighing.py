"""Whether what the user said tells anything lasting about them: rules for what is often mistaken.

Small models take questions, tasks and suppositions for facts, and repeat what they were shown. The
rules look at the sentence around a quote, and know a few words of four languages by
`weighing.toml`; in another language they find less, and stand in nobody's way.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib.resources import files
from typing import Any

from ricordo.memory.grounding import Located
from ricordo.memory.phrases import unaccented
from ricordo.model import Kind
from ricordo.ports import Candidate

_ENDS = re.compile(r"(?<=[.!?？！。؟…])[\"'”»)\]]*\s+|\n+")
_ASKS = ("?", "？", "؟")
_EDGE = " .,:;!?\"'”»()"
_CLOSING = " \t\"'”»)]"
_WORD = re.compile(r"\w+")
_LEAST_LETTERS = 3
_STEM = 5


@dataclass(frozen=True, slots=True)
class _Lists:
    """What `weighing.toml` lists, as patterns."""

    own: re.Pattern[str]
    supposed: re.Pattern[str]
    supposed_asking: re.Pattern[str]
    tasks: re.Pattern[str]
    once: re.Pattern[str]
    lasting: re.Pattern[str]
    wishes: re.Pattern[str]


def doubt(kind: Kind, text: str, quote: Located, *, shown: Iterable[str] = ()) -> str | None:
    """Why a grounded item is no memory, in words for a person; None when nothing speaks against it.

    Args:
        text: what a model made of the quote.
        shown: texts that the model saw in examples and among what is known.
    """
    lists, sentences = _lists(), [_plain(each) for each in _around(quote)]
    if any(_plain(each) == _plain(text) for each in shown) and not _alike(text, sentences):
        return "it repeats what the model was shown, and its quote says something else"
    first = sentences[0] if sentences else ""
    if kind is Kind.FACT and _is_supposed(first):
        return "it is only supposed"
    if lists.own.search(_plain(quote.span)):
        return None
    if kind is Kind.FACT and _asks(quote):
        return "it is a question"
    once = lists.once.match(first) and not lists.lasting.search(first)
    if once or (kind is Kind.FACT and lists.tasks.match(first)):
        return "it is a task for this one time"
    return None


def _is_supposed(sentence: str) -> bool:
    lists = _lists()
    asked = lists.supposed_asking.match(sentence) and sentence.endswith(_ASKS)
    return bool(asked or lists.supposed.match(sentence))


def settled(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[Candidate]]:
    """The candidates without those that others make needless, and the ones that were mistaken.

    A fact whose words another one from the same words of the user has all, is a repeat; the other
    takes over its relations. A preference from words that also gave a fact, and that have nothing
    of a wish, is mistaken.
    """
    stated = {_plain(each.quote).strip(_EDGE) for each in candidates if each.kind == Kind.FACT}
    mistaken = [
        each
        for each in candidates
        if each.kind == Kind.PREFERENCE
        and _plain(each.quote).strip(_EDGE) in stated
        and _lists().wishes.search(_plain(each.quote)) is None
    ]
    kept: list[Candidate] = []
    for candidate in (each for each in candidates if each not in mistaken):
        at = next((n for n, other in enumerate(kept) if _repeats(candidate, other)), None)
        if at is not None:
            kept[at] = _joined(kept[at], candidate)
            continue
        repeats = [other for other in kept if _repeats(other, candidate)]
        kept = [other for other in kept if other not in repeats]
        kept.append(reduce(_joined, repeats, candidate))
    return kept, mistaken


def _repeats(one: Candidate, other: Candidate) -> bool:
    """Whether the other says all that the one says, and was taken from the same words."""
    if one.kind != other.kind:
        return False
    quotes = _plain(one.quote).strip(_EDGE), _plain(other.quote).strip(_EDGE)
    same = quotes[0] in quotes[1] or quotes[1] in quotes[0]
    return same and _stems(one.text) <= _stems(other.text)


def _joined(kept: Candidate, repeat: Candidate) -> Candidate:
    relations = dict.fromkeys((*kept.relations, *repeat.relations))
    replaces = dict.fromkeys((*kept.replaces, *repeat.replaces))
    return replace(kept, relations=tuple(relations), replaces=tuple(replaces))


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(_plain(text))}


def _asks(quote: Located) -> bool:
    """Whether all sentences that the quote touches are questions, up to their end.

    In "Since I moved to Basel, which tram do I take?" the part before the comma is none.
    """
    sentences = list(_around(quote))
    if not sentences or not all(each.endswith(_ASKS) for each in sentences):
        return False
    after = _rest(quote)
    return "," not in after


def _around(quote: Located) -> Iterator[str]:
    """The sentences that the quote touches, without white space and closing marks at their end."""
    for start, end in _sentences(quote.message.text):
        if start < quote.end and quote.start < end:
            yield quote.message.text[start:end].strip().rstrip(_CLOSING)


def _rest(quote: Located) -> str:
    """What follows the quote in its last sentence."""
    text = quote.message.text
    ends = (end for start, end in _sentences(text) if start < quote.end <= end)
    return text[quote.end : next(ends, quote.end)]


def _sentences(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _ENDS.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _alike(text: str, sentences: Sequence[str]) -> bool:
    """Whether they have a word in common, up to its ending."""
    said = {word[:_STEM] for sentence in sentences for word in _WORD.findall(sentence)}
    words = (word for word in _WORD.findall(_plain(text)) if len(word) > _LEAST_LETTERS)
    return any(word[:_STEM] in said for word in words)


def _plain(text: str) -> str:
    return " ".join(unaccented(text).replace("’", "'").split())


@cache
def _lists() -> _Lists:
    source = files("ricordo.memory").joinpath("weighing.toml").read_text(encoding="utf-8")
    lists: dict[str, Any] = tomllib.loads(source)
    tasks = lists["tasks"]
    polite = rf"(?:(?:{_either(tasks['polite'])})[\s,]+)*"
    return _Lists(
        own=_pattern(lists["own"]["words"]),
        supposed=_pattern(lists["supposed"]["always"]),
        supposed_asking=_pattern(lists["supposed"]["asked"]),
        tasks=_pattern([*tasks["verbs"], *tasks["once"]], before=polite),
        once=_pattern(tasks["once"], before=polite),
        lasting=_pattern(tasks["lasting"]),
        wishes=_pattern(lists["wishes"]["words"]),
    )


def _pattern(words: Iterable[str], *, before: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){before}(?:{_either(words)})(?!\w)")


def _either(words: Iterable[str]) -> str:
    forms = sorted({_plain(word) for word in words}, key=len, reverse=True)
    return "|".join(re.escape(form).replace(r"\*", r"\w*") for form in forms)
