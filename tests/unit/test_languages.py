"""Which language a text is in: told by small words, or not told."""

import pytest

from ricordo.memory.languages import language


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What did the landlord say about the stairwell?", "en"),
        ("Was hat der Vermieter über das Treppenhaus gesagt?", "de"),
        ("Qu'est-ce que le propriétaire a dit de l'escalier ?", "fr"),
        ("Che cosa ha detto il padrone di casa delle scale?", "it"),
        ("¿Qué dijo el dueño de la escalera?", "es"),
        ("O que ele disse em casa não é para você", "pt"),
        ("Wat zei hij over het trappenhuis?", "nl"),
        ("Typical!", None),
        ("Biscuit 🙄", None),
        ("", None),
        ("これは何ですか", None),
    ],
)
def test_small_words_tell(text: str, expected: str | None) -> None:
    assert language(text) == expected
