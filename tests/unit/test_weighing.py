"""What the user said is not yet a memory: questions, tasks, suppositions and echoes are none."""

import pytest

from ricordo.memory.grounding import find_quote
from ricordo.memory.weighing import doubt, settled
from ricordo.model import Kind, Said, Speaker
from ricordo.ports import Candidate, StatedRelation


def _doubt(message: str, quote: str = "", *, text: str = "x", kind: Kind = Kind.FACT, shown=()):
    located = find_quote(quote or message, [Said(speaker=Speaker.USER, text=message)])
    assert located is not None
    return doubt(kind, text, located, shown=shown)


@pytest.mark.parametrize(
    ("message", "quote"),
    [
        ("Do you like Russian novels?", "like Russian novels"),
        ("Ok. Magst du lieber Bach oder Mozart?", "lieber Bach oder Mozart?"),
        ("Tu aimes les films de Tati ?", "les films de Tati"),
        ("Ti piace il jazz? Grazie.", "Ti piace il jazz?"),
    ],
)
def test_a_question_is_no_fact(message: str, quote: str) -> None:
    assert _doubt(message, quote) == "it is a question"


@pytest.mark.parametrize(
    ("message", "quote"),
    [
        ("Since I moved to Basel, which tram do I take?", "I moved to Basel"),
        ("I moved to Basel. Which tram do I take?", "I moved to Basel. Which tram"),
        ("I live in Basel! Right?", "I live in Basel"),
        ("Wenn ich arbeite, trinke ich Tee.", "trinke ich Tee"),
        ("Si possible je prends le train.", "je prends le train"),
        ("I write novels and I read a lot.", "I write novels"),
        ("Does my dog Rex need a new shot?", "my dog Rex"),
        ("Schreib einen Brief an meine Vermieterin Frau Lüthi.", "meine Vermieterin Frau Lüthi"),
    ],
)
def test_what_stands_beside_a_question_or_condition_may_be_one(message: str, quote: str) -> None:
    assert _doubt(message, quote) is None


@pytest.mark.parametrize(
    "message",
    [
        "Suppose I were a vegan living in Tokyo.",
        "If I lived in Oslo, would I pay more?",
        "Wenn ich in Norwegen leben würde, bräuchte ich einen Ausweis?",
        "Stell dir vor, ich wäre Kapitän.",
        "Si j'avais un restaurant à Marseille, ce serait beau.",
        "Se fossi un pilota, quante tasse pagherei?",
        "Facciamo finta che io sia un astronauta.",
    ],
)
def test_what_is_only_supposed_is_no_fact(message: str) -> None:
    assert _doubt(message) is not None


@pytest.mark.parametrize(
    "message",
    [
        "Write me a function that parses CSV.",
        "Could you please write a haiku about rain.",
        "Schreib mir eine Funktion für Primzahlen.",
        "Donne-moi trois synonymes de rapide.",
        "Scrivimi una mail di auguri.",
    ],
)
def test_a_task_is_no_fact(message: str) -> None:
    assert _doubt(message) == "it is a task for this one time"


def test_a_task_is_no_preference_unless_it_is_to_last() -> None:
    once = "Can you summarise this mail for me?"
    assert _doubt(once, kind=Kind.PREFERENCE) == "it is a task for this one time"
    assert _doubt("Always summarise mails in two lines.", kind=Kind.PREFERENCE) is None
    assert _doubt("Fass Mails immer in zwei Zeilen zusammen.", kind=Kind.PREFERENCE) is None
    assert _doubt("Could you keep answers short?", kind=Kind.PREFERENCE) is None
    assert _doubt("Write short answers.", kind=Kind.PREFERENCE) is None


def test_an_echo_of_what_the_model_was_shown_needs_the_users_words() -> None:
    shown = ("Lives in Basel", "Plays the cello")
    echo = _doubt("We moved to Bristol.", text="Plays the cello", shown=shown)
    assert echo is not None
    assert _doubt("Now I live in Basel.", text="Lives in Basel", shown=shown) is None
    assert _doubt("I still play my cello.", text="Plays the cello", shown=shown) is None


def _fact(text: str, quote: str, *relations: tuple[str, str]) -> Candidate:
    stated = tuple(StatedRelation(source="user", relation=r, target=t) for r, t in relations)
    return Candidate(kind="fact", text=text, quote=quote, relations=stated)


def test_a_repeat_gives_its_relations_to_the_one_that_says_more() -> None:
    bare = _fact("Synology DS220", "Synology DS220", ("uses", "Synology DS220"))
    full = _fact("Has a Synology DS220", "My NAS is a Synology DS220", ("owns", "Synology DS220"))
    for order in ([bare, full], [full, bare]):
        [kept], mistaken = settled(order)
        assert kept.text == full.text
        assert {each.relation for each in kept.relations} == {"uses", "owns"}
        assert not mistaken


def test_different_facts_of_one_sentence_stay() -> None:
    quote = "I work in Basel and live in Bern"
    facts = [_fact("Works in Basel", quote), _fact("Lives in Bern", quote)]
    assert settled(facts) == (facts, [])


def test_a_plain_statement_is_no_preference_beside_the_fact() -> None:
    quote = "My NAS is a Synology DS220"
    wrong = Candidate(kind="preference", text="Prefers answers about Synology", quote=quote)
    fact = _fact("Has a Synology DS220", f"{quote}.")
    assert settled([wrong, fact]) == ([fact], [wrong])
    wish = Candidate(kind="preference", text="Prefers tea", quote="I like tea")
    taste = _fact("Likes tea a lot", "I like tea")
    assert settled([wish, taste]) == ([wish, taste], [])
