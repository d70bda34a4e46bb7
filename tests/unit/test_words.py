"""The analyzer: what a question's word meets in a text (issue, "Words"; bad input)."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.adapters.words import SnowballAnalyzer
from ricordo.adapters.words.function_words import FUNCTION_WORDS

ANALYZER = SnowballAnalyzer()


def share(question: str, text: str) -> float:
    """Which part of the question's words the text holds."""
    terms, _ = ANALYZER.terms(text)
    words = ANALYZER.words(question)
    return sum(any(term in terms for term in word) for word in words) / len(words)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        # case, width, accents, invisible characters
        ("FALCON", "falcon"),
        ("ｆａｌｃｏｎ", "Falcon"),
        ("resume", "Résumé"),
        ("Café", "Cafe\u0301"),
        ("fal\u200bcon", "fal\u00adcon"),
        ("İstanbul", "istanbul"),
        ("Straße", "STRASSE"),
        ("Łódź", "lodz"),
        ("Œuvre", "oeuvre"),
        # the three spellings of an umlaut, every way round
        ("Müller", "Mueller"),
        ("Mueller", "Müller"),
        ("Muller", "Müller"),
        ("Müller", "Muller"),
        ("Muller", "Mueller"),
        ("mueller", "muller"),
        ("Koeln", "Köln"),
        # inflection in four languages
        ("examples", "an example"),
        ("preferred", "She prefers tea"),
        ("Häuser", "Das Haus"),
        ("Projekte", "im Projekt"),
        ("maisons", "la maison"),
        ("préférences", "une preference"),
        ("progetti", "il progetto"),
        ("microservizi", "un microservizio"),
        # identifiers and compounds: whole, in parts, and however joined
        ("ISO-27001", "certified to ISO-27001."),
        ("27001", "certified to ISO-27001."),
        ("iso27001", "ISO 27001 and ISO-27001"),
        ("4471", "order AX-4471"),
        ("AX4471", "order AX-4471"),
        ("v2.3", "since v2.3!"),
        ("2.3", "since v2.3!"),
        ("alice@example.com", "<alice@example.com>"),
        ("example.com", "write to alice@example.com"),
        ("alice", "write to alice@example.com"),
        ("camel", "CamelCase"),
        ("camelCase", "camel_case"),
        ("snake-case", "snake_case"),
        ("HTTPServer", "the http server, an HTTPServer"),
        ("server", "HTTPServer"),
        ("ports.py", "see src/ricordo/ports.py"),
        ("email", "e-mail"),
        ("emails", "e-mail"),
        ("C++", "written in C++ and C#"),
        ("C#", "written in C++ and C#"),
        ("amico", "l'amico"),
        ("Brien", "O’Brien"),
        ("2026-11-29", "due 2026-11-29"),
        ("3,5", "3.5 percent"),
        ("1000", "1,000 users"),
        # scripts without spaces
        ("東京", "東京都に住んでいます"),
        ("住", "東京都に住んでいます"),
        ("ทำงาน", "ฉันทำงานที่ธนาคาร"),
        ("서울", "서울에서"),
        # other scripts, and signs
        ("Ёлка", "елка"),
        ("हिन्दी", "हिन्दी भाषा"),
        ("🚀", "launch 🚀 today"),
    ],
)
def test_a_word_is_found(question: str, text: str) -> None:
    """Words: folding, stemming, compounds and identifiers, whole and in parts."""
    assert share(question, text) == 1.0


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("C++", "the letter c"),
        ("4471", "14471 or 44710"),
        ("27001", "ISO-9001"),
        ("京都", "東京"),
        ("Bern", "Bernd"),
        ("his", "this"),
    ],
)
def test_another_word_is_not_found(question: str, text: str) -> None:
    """What is a different word stays one."""
    assert share(question, text) == 0.0


def test_a_whole_identifier_beats_its_parts() -> None:
    """A compound counts as a whole and once more by each part."""
    assert share("ISO-27001", "ISO-27001") > share("ISO-27001", "27001 by ISO") > 0.5
    assert share("ISO-27001", "ISO-9001") < 0.5


@pytest.mark.parametrize(
    ("question", "telling"),
    [
        ("What does the project depend on?", "project depend"),
        ("Wovon hängt das Projekt ab und wer ist dabei?", "Wovon hängt Projekt ab"),
        ("De quoi dépend le projet ?", "quoi dépend projet"),
        ("Da che cosa dipende il progetto?", "dipende progetto"),
        ("Who doesn't like tests?", "like tests"),
    ],
)
def test_function_words_carry_no_weight(question: str, telling: str) -> None:
    """Function words of all four languages are left out of a question."""
    kept = ANALYZER.words(question)
    assert set(kept) <= set(ANALYZER.words(telling))
    assert len(kept) >= 2


def test_function_words_are_asked_when_nothing_else_is() -> None:
    """Unless nothing else is left, and then every one counts."""
    assert share("to be or not to be", "To be, or not to be") == 1.0
    assert ANALYZER.words("The the THE") == ANALYZER.words("the")
    assert len(ANALYZER.words("the")) == 1


def test_the_lists_are_folded() -> None:
    """A function word that is not in folded form would never match."""
    assert all(word.isascii() and word == word.lower() for word in FUNCTION_WORDS)


def test_counts_and_length() -> None:
    """Terms count occurrences of any form; the length is the number of words."""
    terms, length = ANALYZER.terms("Tests test testing, a test")
    assert length == 5
    assert max(terms.values()) == 4
    assert ANALYZER.terms("") == ({}, 0)
    assert ANALYZER.words(" \u200b…!? ") == ()


def test_terms_fit_what_is_stored() -> None:
    """Hashes are unsigned 64-bit and counts 16-bit, whatever the text."""
    terms, _ = ANALYZER.terms("a " * 100_000)
    assert all(0 <= term < 2**64 and 0 < count < 2**16 for term, count in terms.items())


def test_the_name_is_versioned_and_the_hashes_stay() -> None:
    """Stored terms stay findable: a change of the hashes must come with a new name."""
    assert ANALYZER.name == "words-1"
    (words,) = ANALYZER.words("Falcon")
    assert words == (12143970612503873823,)


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_finds_itself(text: str) -> None:
    """Bad input: any Unicode, surrogates and controls included, is accepted and finds itself."""
    terms, length = ANALYZER.terms(text)
    words = ANALYZER.words(text)
    assert all(any(term in terms for term in word) for word in words)
    assert bool(words) == bool(terms) == (length > 0)


HUGE = {
    "one word": "a" * 8_192,
    "changes of case": "aB" * 4_096,
    "letters and digits": "a1" * 4_096,
    "accents": "e" + "\u0301\u0316" * 4_095,
    "Hebrew points": "א" + "\u05b0\u0591" * 4_095,
    "Arabic vowels": "\u064b\u0651" * 4_096,
    "ligatures of eighteen letters": "\ufdfa" * 8_192,
    "no spaces": "東京" * 4_096,
    "joints": "a-" * 4_096,
    "dots": "a." * 4_096,
    "numbers": "1," * 4_096,
    "only joints": "-_./" * 2_048,
    "apostrophes": "'" * 8_192,
    "surrogates": "\ud800" * 8_192,
    "NUL": "\0" * 8_192,
    "odd marks": "\u0bcd\u0c4d\u302a\u3099" * 2_048,
    "a megabyte": "word " * 200_000,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_input_is_bounded(name: str) -> None:
    """Bad input: 8,192 characters of anything take a fraction of a second, as does a megabyte."""
    started = time.process_time()
    ANALYZER.terms(HUGE[name])
    ANALYZER.words(HUGE[name])
    assert time.process_time() - started < 1.5


def test_a_long_question_is_cut() -> None:
    """A question's first 256 telling words count."""
    assert len(ANALYZER.words(" ".join(str(number) for number in range(1_000, 2_000)))) == 256


def test_threads_share_an_analyzer() -> None:
    """Stemmers are not thread-safe; the analyzer is."""
    texts = [f"Runners running in houses number {i} prefer préférences" for i in range(200)]
    expected = [ANALYZER.terms(text) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(ANALYZER.terms, texts)) == expected
