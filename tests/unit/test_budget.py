"""Issue point 7: oversized input is cut by token budget at sentence ends, and it says how much."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.memory.budget import cut, estimate

ENGLISH = "Alice works on Project Falcon, which uses microservices, and prefers concise examples."


def test_english_costs_about_a_token_per_four_letters() -> None:
    assert len(ENGLISH) / 4 <= estimate(ENGLISH) <= len(ENGLISH) / 3.5


def test_a_chinese_character_costs_a_token() -> None:
    assert estimate("我喜欢简洁的例子") == 8
    assert estimate("ありがとう") == 5


def test_there_are_as_many_tokens_as_words() -> None:
    assert estimate("a b c d") == 4
    assert estimate("") == 0


def test_accents_digits_and_signs_cost_more_than_letters() -> None:
    assert estimate("äöüéèà" * 10) == 2 * estimate("aoueea" * 10)
    assert estimate("1234567890") == 5
    assert estimate("🙂") == 2


def test_a_text_that_fits_is_unchanged() -> None:
    assert cut(ENGLISH, tokens=100) == (ENGLISH, 0)


def test_a_text_is_cut_where_a_sentence_ends() -> None:
    text = "First one. Second sentence is v2.3 here! Third?\nFourth line that is long"
    kept, dropped = cut(text, tokens=12)
    assert kept == "First one. Second sentence is v2.3 here!"
    assert dropped == estimate(text) - estimate(kept)
    assert cut(text, tokens=4).text == "First one."
    assert cut("你好。今天天气很好。我在家。", tokens=9).text == "你好。"


def test_without_a_sentence_end_it_is_cut_at_a_word_and_at_last_at_a_character() -> None:
    assert cut("one two three four", tokens=4).text == "one two three"
    assert cut("x" * 100, tokens=3).text == "x" * 12
    assert cut(ENGLISH, tokens=0) == ("", estimate(ENGLISH))


@given(st.text(max_size=200), st.integers(min_value=0, max_value=60))
def test_what_is_kept_is_a_beginning_within_the_budget(text: str, tokens: int) -> None:
    kept, dropped = cut(text, tokens=tokens)
    assert text.startswith(kept)
    assert estimate(kept) <= max(tokens, 0)
    assert dropped == estimate(text) - estimate(kept)


@pytest.mark.parametrize("piece", ["a", ".", "word ", "\n", '."', "你", "!? "])
def test_a_long_text_is_cut_in_time_proportional_to_its_length(piece: str) -> None:
    text = (piece * 300_000)[:300_000]
    began = time.perf_counter()
    cut(text, tokens=6_000)
    assert time.perf_counter() - began < 10
