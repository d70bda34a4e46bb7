"""Dates that a question names; whether it asks for one."""

import pytest

from ricordo.memory.dates import asks_for_time, dates_in, tells_time
from ricordo.model import Dates


@pytest.mark.parametrize(
    ("question", "dates"),
    [
        ("What did she do in May 2023?", Dates(years=(2023,), months=(5,))),
        ("Was war am 8. Mai 2023?", Dates(years=(2023,), months=(5,), days=(8,))),
        ("Que s'est-il passé le 3 août ?", Dates(months=(8,), days=(3,))),
        ("Cosa ha fatto nel marzo 2024?", Dates(years=(2024,), months=(3,))),
        ("What is due March 5?", Dates(months=(3,), days=(5,))),
        ("the 1st of June", Dates(months=(6,), days=(1,))),
        ("log of 2023-05-08", Dates(years=(2023,), months=(5,), days=(8,))),
        ("am 3.4.2024", Dates(years=(2024,), months=(4,), days=(3,))),
        ("anything in 2022?", Dates(years=(2022,))),
        ("between June and July", Dates(months=(6, 7))),
    ],
)
def test_dates_are_read_in_four_languages(question: str, dates: Dates) -> None:
    assert dates_in(question) == dates


@pytest.mark.parametrize(
    "question",
    [
        "May I ask you something?",
        "They march on",
        "Tu mets le mars dans quel ordre ?",
        "error 20231",
        "version 2023.1",
        "port 1999,5",
        "",
    ],
)
def test_what_only_looks_like_a_date_is_none(question: str) -> None:
    assert dates_in(question) == Dates()


def test_questions_for_a_time_are_known() -> None:
    asking = (
        "When did he go?",
        "Wie lange dauert es?",
        "Quand part-elle ?",
        "Da quanto tempo?",
        "In welchem Jahr war das?",
    )
    assert all(asks_for_time(question) for question in asking)
    assert not any(asks_for_time(question) for question in ("Who whenever?", "Was ist los?"))


def test_texts_that_tell_a_time_are_known() -> None:
    telling = ("I went yesterday", "vor einer Woche", "la semaine dernière", "tre anni fa", "at 7")
    assert all(tells_time(text) for text in telling)
    assert not tells_time("I like it")


@pytest.mark.parametrize("text", ["in " * 5_000, "1 " * 5_000, "2023 " * 2_000, "may " * 5_000])
def test_long_questions_take_no_longer_than_they_are(text: str) -> None:
    """A hostile question costs linear time."""
    dates_in(text)
    asks_for_time(text)
    tells_time(text.replace("1", "x"))
