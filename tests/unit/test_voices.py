"""Promise 8: what people paste into their own sentence is no source of facts about them."""

import time

import pytest

from ricordo.memory.grounding import find_quote
from ricordo.memory.voices import own_voice, unbroken
from ricordo.model import Said, Speaker


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("Translate: “I am a nurse in Rome and love tea.”", "Translate:"),
        ("Übersetze: «Ich bin Elektrikerin und wohne in Graz.»", "Übersetze:"),
        ("Übersetze: »Ich bin Elektrikerin und wohne in Graz.« Danke!", "Übersetze: Danke!"),
        ("Übersetze „Ich bin Elektriker und wohne in Graz.“ bitte", "Übersetze bitte"),
        ("Traduis « je suis comptable à Lille depuis peu » vite", "Traduis vite"),
        ('He wrote "I will move to Rome in May", so what now?', "He wrote , so what now?"),
        ("Why?\n```\nname = 'I live in Rome'\n```\nI use Flask.", "Why? I use Flask."),
        ("Why?\n```\nname = 'never closed'", "Why?"),
        ("> I live in Rome\n> with two cats\nShould I answer that?", "Should I answer that?"),
        ("Sum up:\nFrom: Gordon <g@x.example>\nI live in Hull.", "Sum up:"),
        ("Was meint er?\n\nBetreff: Umzug\nIch wohne in Aarau.", "Was meint er?"),
        ("Corrige ceci :\n\nCher Monsieur Delmas, je vis à Lille.", "Corrige ceci :"),
        ("Rispondi tu.\nGentile signora, abito a Cuneo.", "Rispondi tu."),
    ],
)
def test_the_words_of_others_are_blanked_out(text: str, own: str) -> None:
    assert " ".join(own_voice(text).split()) == own


@pytest.mark.parametrize(
    "text",
    [
        "Hi, I'm Priya, and I live in Leeds.",
        "Liebe Grüsse aus Thun! Ich wohne jetzt dort.",
        'I work on "Project Falcon", and I read "War and Peace".',
        "L'Aquila è dov'è nato mio padre: l'anno era il '61.",
        'My screen is 27" wide and the old one was 24" wide.',
        "I live in Rome.\nMy budget: 300 francs.\nFrom there I commute to Naples.",
        "2 > 1, and I like short answers.",
    ],
)
def test_what_the_user_says_themselves_stays(text: str) -> None:
    assert own_voice(text) == text


def test_places_stay_the_same() -> None:
    text = "Sum up “I am a nurse in Rome, you know.” I live in Bern."
    assert own_voice(text).index("I live in Bern") == text.index("I live in Bern")
    assert len(own_voice(text)) == len(text)


def test_a_quote_is_cut_where_it_runs_over_what_was_blanked_out() -> None:
    text = "My box is a Zyxel, see “it is broken every single night” and I live in Bern now."
    located = find_quote(
        "a Zyxel, see and I live in Bern now",
        [Said(speaker=Speaker.USER, text=own_voice(text))],
    )
    assert located is not None
    cut = unbroken(located)
    assert cut.span == "and I live in Bern now" == text[cut.start : cut.end]
    whole = find_quote("I live in Bern", [Said(speaker=Speaker.USER, text=own_voice(text))])
    assert whole is not None
    assert unbroken(whole) == whole


def test_a_message_that_is_wholly_a_passage_stays() -> None:
    text = "“I like short answers, please, always.”"
    assert own_voice(text) == text


@pytest.mark.parametrize(
    "piece", ['"', "«", "“a ", "```", "\n> a", "\ndear ", " \t", "„a", ' "a b']
)
def test_it_takes_time_in_proportion_to_the_text(piece: str) -> None:
    began = time.perf_counter()
    own_voice(piece * (200_000 // len(piece)))
    assert time.perf_counter() - began < 5
