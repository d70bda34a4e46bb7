"""Who said a memory, and whom a question asks about."""

import pytest

from ricordo.memory.speakers import asked_about, speaker


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Caroline: I went hiking", "Caroline"),
        ("[8 May, 2023] Jean-Luc: oui", "Jean-Luc"),
        ("(10:31) Anna Maria : ciao", "Anna Maria"),
        ("Müller: ja", "Müller"),
        ("No colon here", None),
        ("https://example.org is down", None),
        ("12:30 is too late", None),
        ("", None),
    ],
)
def test_a_name_before_a_colon_speaks(text: str, name: str | None) -> None:
    assert speaker(text) == name


def test_only_one_named_speaker_is_asked_about() -> None:
    names = ["Ann", "Bob"]
    assert asked_about("What does ann like?", names) == "Ann"
    assert asked_about("What do Ann and Bob like?", names) is None
    assert asked_about("What does Anna like?", names) is None
    assert asked_about("Who is it?", names) is None
