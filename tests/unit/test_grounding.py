"""Promise 8: the quote of an inferred memory is a literal span of what the user said."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.memory.grounding import Located, Ungrounded, find_quote, ground
from ricordo.model import Said, Speaker


def user(text: str, *, trusted: bool = True) -> Said:
    return Said(speaker=Speaker.USER, text=text, trusted=trusted)


def assistant(text: str) -> Said:
    return Said(speaker=Speaker.ASSISTANT, text=text)


def found(quote: str, *said: Said) -> Located:
    located = find_quote(quote, said)
    assert located is not None
    return located


def test_a_literal_span_is_found_with_its_message_and_place() -> None:
    said = [assistant("Where do you live?"), user("Well, I live in Bern now.")]
    located = found("I live in Bern", *said)
    assert (located.index, located.message, located.span) == (1, said[1], "I live in Bern")
    assert said[1].text[located.start : located.end] == located.span


@pytest.mark.parametrize(
    ("quote", "text", "span"),
    [
        ("i LIKE concise Examples", "Yes, I like concise examples", "I like concise examples"),
        ("I  like\nconcise", "I like \t concise examples", "I like \t concise"),
        ('"I like it concise..."', "So I like it concise, always", "I like it concise"),
        ("… works on Falcon …", "Bob works on Falcon.", "works on Falcon"),
        ("don't like it", "I don’t like it", "don’t like it"),
        ("a well-known rule", "a well‑known rule", "a well‑known rule"),
        ('the "big" one', "the „big“ one here", "the „big“ one"),
        ("Straße in Zürich", "Die STRASSE in ZÜRICH", "STRASSE in ZÜRICH"),
        (unicodedata.normalize("NFD", "à Genève"), "J'habite à Genève.", "à Genève"),
        ("à Genève", unicodedata.normalize("NFD", "J'habite à Genève."), None),
        ("mag knappe", "Ich mag kna\u00adppe Beispiele", "mag kna\u00adppe"),
        ("我喜欢简洁", "因为我喜欢简洁的例子", "我喜欢简洁"),
        ("한국어를 좋아", unicodedata.normalize("NFD", "저는 한국어를 좋아 해요"), None),
    ],
)
def test_only_the_words_are_compared_not_how_they_were_typed(
    quote: str, text: str, span: str | None
) -> None:
    located = found(quote, user(text))
    wanted = unicodedata.normalize("NFD", quote) if span is None else span
    assert located.span == wanted
    assert text[located.start : located.end] == located.span


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("I work for Beta", "I work for Alpha"),
        ("I like art", "I like artichokes"),
        ("live in Bern", "olive in Bern"),
        ("I live ... Bern", "I live in Bern"),
        ("I live in Bern", "I live, in Bern"),
    ],
)
def test_what_was_not_said_word_for_word_is_not_found(quote: str, text: str) -> None:
    assert ground(quote, [user(text)]) is Ungrounded.NOT_SAID


@pytest.mark.parametrize("quote", ["", " ", "...", "„“", "the", "Bern", "I am"])
def test_a_quote_that_could_come_from_anywhere_is_too_short(quote: str) -> None:
    assert ground(quote, [user("I am in the city of Bern ...")]) is Ungrounded.TOO_SHORT


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("Bern", "Bern."),
        ("I do", "„I do!“"),
        ("ISO-27001", "We follow ISO-27001 here"),
        ("a.b@example.org", "mail a.b@example.org please"),
        ("GraphQL", "We like GraphQL best"),
        ("Softwareentwicklerin", "Ich bin Softwareentwicklerin bei uns"),
    ],
)
def test_a_whole_message_or_one_telling_token_is_enough(quote: str, text: str) -> None:
    assert find_quote(quote, [user(text)]) is not None


def test_a_quote_of_the_assistant_a_tool_or_a_pasted_text_grounds_nothing() -> None:
    words = "Alice lives in Bern"
    tool = Said(speaker=Speaker.TOOL, text=words)
    assert ground(words, [user("Hello there"), assistant(words)]) is Ungrounded.ASSISTANT
    assert ground(words, [user("Hello there"), tool]) is Ungrounded.TOOL
    assert ground(words, [user(words, trusted=False)]) is Ungrounded.UNTRUSTED
    assert find_quote(words, [assistant(words), tool, user(words, trusted=False)]) is None


def test_the_users_own_words_count_even_if_the_assistant_said_them_first() -> None:
    words = "Alice lives in Bern"
    assert found(words, assistant(words), user(words, trusted=False), user(words)).index == 2


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_span_that_is_found_folds_to_the_quote(before: str, quote: str, after: str) -> None:
    message = user(f"{before} {quote} {after}")
    located = find_quote(quote, [message])
    if located is not None:
        assert message.text[located.start : located.end] == located.span
        assert find_quote(located.span, [user(located.span)]) is not None


@pytest.mark.parametrize("piece", ["a", "a ", "…", "\u0301", "works on "])
def test_a_long_message_is_searched_in_time_proportional_to_its_length(piece: str) -> None:
    text = (piece * 500_000)[:500_000]
    began = time.perf_counter()
    for quote in ("a" * 8_000, "works on " * 900 + "Falcon"):
        find_quote(quote, [user(text)])
    assert time.perf_counter() - began < 20
