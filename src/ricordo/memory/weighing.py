"""Whether what the user said tells anything lasting about them: rules for what is often mistaken.

Small models take questions, tasks and suppositions for facts, and repeat what they were shown. The
rules look at the sentence around a quote, and know a few words of four languages by
`weighing.toml`; in another language they find less, and stand in nobody's way.
"""

import re
import tomllib
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ricordo.memory.grounding import Located
from ricordo.memory.phrases import unaccented
from ricordo.model import Kind

_ENDS = re.compile(r"(?<=[.!?？！。؟…])[\"'”»)\]]*\s+|\n+")
_ASKS = ("?", "？", "؟")
_CLOSING = " \t\"'”»)]"
_WORD = re.compile(r"\w+")
_CLAUSE = re.compile(r"[^,.;:!?]*")
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
    stated: re.Pattern[str]
    polite: re.Pattern[str]
    manner: re.Pattern[str]
    addressed: re.Pattern[str]
    over: re.Pattern[str]
    told: re.Pattern[str]


def echo(text: str, quote: Located, *, shown: Iterable[str]) -> bool:
    """Whether the text is one that the model was shown, with no word of the quote's sentence.

    Args:
        shown: texts of memories in the examples and among what is known.
    """
    return any(_plain(each) == _plain(text) for each in shown) and not alike(text, _around(quote))


def doubt(kind: Kind, text: str, quote: Located) -> str | None:
    """Why a grounded item is no memory, in words for a person; None when nothing speaks against it.

    Args:
        text: what a model made of the quote.
    """
    lists, sentences = _lists(), [_plain(each) for each in _around(quote)]
    if kind is Kind.PREFERENCE and _states_no_wish(quote):
        return "its quote states something, and no wish"
    if kind is Kind.PREFERENCE and _asks(quote) and not _asks_for_manner(quote):
        return "it is a question"
    if kind is Kind.FACT and _denied(text, quote.span):
        return "its quote says that this is not so, or over"
    first = sentences[0] if sentences else ""
    if _is_supposed(first) and not lists.manner.search(_plain(quote.span)):
        return "it is only supposed"
    if kind is Kind.FACT and _asks(quote) and not lists.own.search(_plain(quote.span)):
        return "it is a question"
    if _of_the_user(quote):
        return None
    begins = (first, _plain(quote.span))
    once = any(map(lists.once.match, begins)) and not lists.lasting.search(first)
    if once or (kind is Kind.FACT and any(map(lists.tasks.match, begins))):
        return "it is a task for this one time"
    return None


def _asks_for_manner(quote: Located) -> bool:
    """Whether a question is a polite request how to answer: "Could you keep it short?"."""
    lists, span = _lists(), _plain(quote.span)
    ways = (lists.manner, lists.lasting, lists.polite, lists.own)
    return any(each.search(span) for each in ways)


def _of_the_user(quote: Located) -> bool:
    """Whether the quote states something in the first person, or names something of the user's."""
    lists, span = _lists(), _plain(quote.span)
    return bool(lists.own.search(span) or lists.stated.search(span))


def _states_no_wish(quote: Located) -> bool:
    return _of_the_user(quote) and not _has_wish(quote)


def _is_supposed(sentence: str) -> bool:
    lists = _lists()
    asked = lists.supposed_asking.match(sentence) and sentence.endswith(_ASKS)
    return bool(asked or lists.supposed.match(sentence))


def foreign_name(text: str, *, shown: str, heard: Container[str]) -> bool:
    """Whether the text names something that stands in the prompt's examples and nowhere else.

    Args:
        shown: the examples, as the model saw them.
        heard: the words of all that was said, and of what is known; see `words_of`.
    """
    names = {word for word in _WORD.findall(text)[1:] if word[0].isupper()}
    lent = names & set(_WORD.findall(shown))
    return any(_plain(word) not in heard for word in lent)


def words_of(texts: Iterable[str]) -> frozenset[str]:
    """Every word of the texts, as `foreign_name` compares them."""
    return frozenset(word for each in texts for word in _WORD.findall(_plain(each)))


def wish(quote: Located) -> bool:
    """Whether the quote wishes something, and states nothing about the user."""
    return _has_wish(quote) and not _of_the_user(quote)


def _has_wish(quote: Located) -> bool:
    lists, span = _lists(), _plain(quote.span)
    wishes = (lists.wishes, lists.polite, lists.lasting, lists.manner)
    return any(each.search(span) for each in wishes)


def request(quote: Located) -> bool:
    """Whether the quote says how to be answered: to last, politely, or as a wish about "you".

    What states something in the first person, or names something of the user's, is no mere request.
    """
    lists, span = _lists(), _plain(quote.span)
    if _of_the_user(quote) or _asks(quote):
        return False
    wishful = lists.addressed.search(span) and lists.wishes.search(lists.polite.sub("", span))
    if wishful and not lists.tasks.match(span):
        return True
    first = next((_plain(each) for each in _around(quote)), "")
    polite = lists.polite.search(first) and lists.manner.search(span)
    return bool(lists.lasting.search(span) or polite)


def alike(text: str, sentences: Iterable[str]) -> bool:
    """Whether the text and the sentences have a longer word in common, up to its ending."""
    said = {word[:_STEM] for sentence in sentences for word in _WORD.findall(_plain(sentence))}
    words = (word for word in _WORD.findall(_plain(text)) if len(word) > _LEAST_LETTERS)
    return any(word[:_STEM] in said for word in words)


def _denied(text: str, quote: str) -> bool:
    """Whether the text says of something what its quote denies: "I left Leeds" → "Lives in Leeds".

    Denied is the first long word after a denial, and where it is no name the next one as well;
    what the quote has elsewhere too is not.
    """
    lists, said = _lists(), _plain(quote)
    if lists.told.search(_plain(text)):
        return False
    words, names = _stems(text), {_plain(w)[:_STEM] for w in _WORD.findall(quote) if w[0].isupper()}
    for denial in lists.over.finditer(said):
        clause = _CLAUSE.match(said, denial.end())
        long = [w[:_STEM] for w in _WORD.findall(clause[0] if clause else "") if len(w) >= _STEM]
        denied = long[:1] if long[:1] and long[0] in names else long[:2]
        if any(w in words and len(re.findall(rf"\b{w}", said)) == 1 for w in denied):
            return True
    return False


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
        if start >= quote.end:
            return
        if quote.start < end:
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
        stated=_pattern(lists["wishes"]["stated"]),
        polite=_pattern(lists["answers"]["polite"]),
        manner=_pattern(lists["answers"]["verbs"]),
        addressed=_pattern(lists["answers"]["addressed"]),
        over=_pattern(lists["over"]["words"]),
        told=_pattern(lists["over"]["told"]),
    )


def _pattern(words: Iterable[str], *, before: str = "") -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){before}(?:{_either(words)})")


def _either(words: Iterable[str]) -> str:
    """The words as alternatives, the longest first; elided ones need no end."""
    forms = sorted({_plain(word) for word in words}, key=len, reverse=True)
    return "|".join(_form(form) for form in forms)


def _form(form: str) -> str:
    pattern = re.escape(form).replace(r"\*", r"\w*")
    return pattern if form.endswith("'") else rf"{pattern}(?!\w)"
