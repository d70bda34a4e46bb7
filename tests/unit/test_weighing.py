"""What the user said is not yet a memory: questions, tasks, suppositions and echoes are none."""

from datetime import UTC, datetime

import pytest

from ricordo.memory.grounding import Located, find_quote
from ricordo.memory.settling import Grounded, settled
from ricordo.memory.weighing import doubt, echo, foreign_name, request, words_of
from ricordo.model import Kind, Said, Speaker, Turn
from ricordo.ports import Candidate, StatedRelation

TURN = Turn(
    thread_id="t",
    run_id="r",
    agent="coder",
    at=datetime(2026, 3, 2, tzinfo=UTC),
    said=(
        Said(speaker=Speaker.USER, text="My NAS is a Synology DS220. I like tea."),
        Said(speaker=Speaker.USER, text="I work in Basel and live in Bern."),
    ),
)


def _quote(message: str, quote: str = "") -> Located:
    located = find_quote(quote or message, [Said(speaker=Speaker.USER, text=message)])
    assert located is not None
    return located


def _doubt(message: str, quote: str = "", *, text: str = "x", kind: Kind = Kind.FACT):
    return doubt(kind, text, _quote(message, quote))


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
        ("Remember that I moved to Basel.", "I moved to Basel"),
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
        "Erinnere mich bitte morgen daran.",
        "Write me a function that parses CSV.",
        "Could you please write a haiku about rain.",
        "Schreib mir eine Funktion für Primzahlen.",
        "Donne-moi trois synonymes de rapide.",
        "Scrivimi una mail di auguri.",
    ],
)
def test_a_task_is_no_fact(message: str) -> None:
    assert _doubt(message) == "it is a task for this one time"


@pytest.mark.parametrize(
    "message",
    [
        "Remember that Project Falcon uses microservices.",
        "Please note: the standup is at half past nine.",
        "Merk dir bitte, dass das Büro montags zu ist.",
        "Retiens que le bureau ferme le lundi.",
        "Ricorda che l'ufficio chiude il lunedì.",
    ],
)
def test_a_wish_to_remember_something_is_one(message: str) -> None:
    assert _doubt(message) is None


def test_a_task_is_no_preference_unless_it_is_to_last() -> None:
    once = "Summarise this mail for me."
    assert _doubt(once, kind=Kind.PREFERENCE) == "it is a task for this one time"
    assert _doubt("Always summarise mails in two lines.", kind=Kind.PREFERENCE) is None
    assert _doubt("Fass Mails immer in zwei Zeilen zusammen.", kind=Kind.PREFERENCE) is None
    assert _doubt("Could you keep answers short?", kind=Kind.PREFERENCE) is None
    assert _doubt("Write short answers.", kind=Kind.PREFERENCE) is None


def test_an_echo_of_what_the_model_was_shown_needs_the_users_words() -> None:
    shown = ("Lives in Basel", "Plays the cello")
    assert echo("Plays the cello", _quote("We moved to Bristol."), shown=shown)
    assert not echo("Lives in Basel", _quote("Now I live in Basel."), shown=shown)
    assert not echo("Plays the cello", _quote("I still play my cello."), shown=shown)


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("Ho buttato il vecchio telefono, adesso uso un Fairphone.", True),
        ("Hallo, ich heisse Reto und arbeite bei der Bank.", True),
        ("We finally moved to Bristol, I am happy.", True),
        ("Ich mag keine langen Herleitungen.", False),
        ("Je préfère des réponses courtes.", False),
        ("Potresti scrivermi i nomi in inglese?", False),
        ("Prefiero respuestas cortas.", False),
        ("My key is in the bucket.", True),
        ("Call me by my first name.", False),
    ],
)
def test_a_statement_without_a_wish_is_no_preference(message: str, refused: bool) -> None:
    assert bool(_doubt(message, kind=Kind.PREFERENCE)) is refused


@pytest.mark.parametrize(
    ("message", "text", "refused"),
    [
        ("J'ai quitté Nantes.", "Habite à Nantes", True),
        ("Ich arbeite nicht mehr bei Lindmatt.", "Arbeitet bei Lindmatt", True),
        ("Je ne travaille plus pour Vallotec.", "Travaille pour Vallotec", True),
        ("Non usiamo Trello.", "Usa Trello", True),
        ("I don't live in Berlin.", "Lives in Berlin", True),
        ("I don't live in Berlin.", "Does not live in Berlin", False),
        ("I left Leeds for Bristol.", "Lives in Bristol", False),
        ("Ich trinke keinen Kaffee.", "Trinkt keinen Kaffee", False),
        ("Not only Berlin: I live in Berlin and Rome.", "Lives in Berlin", False),
        ("I do not work in Basel, I work in Bern.", "Works in Bern", False),
    ],
)
def test_what_the_quote_denies_is_no_fact(message: str, text: str, refused: bool) -> None:
    assert bool(_doubt(message, text=text)) is refused


@pytest.mark.parametrize(
    ("message", "quote", "asked"),
    [
        ("Réponds-moi toujours en français.", "", True),
        ("Bitte duze mich und schreib ohne Anrede.", "schreib ohne Anrede", True),
        ("Usa elenchi numerati, per favore.", "Usa elenchi numerati", True),
        ("Please answer in French.", "", True),
        ("I like it when you ask me before you rewrite code.", "", True),
        ("I want you to know that I moved to Basel.", "", False),
        ("Please note that I moved to Basel.", "", False),
        ("I work in Basel, as always.", "", False),
        ("Je travaille toujours à Sion.", "", False),
        ("Please use my name, Alice.", "", False),
        ("Please book a table.", "", False),
        ("Merk dir bitte, dass das Büro montags zu ist.", "", False),
    ],
)
def test_a_request_how_to_answer_is_told_from_a_statement(
    message: str, quote: str, asked: bool
) -> None:
    assert request(_quote(message, quote)) is asked


@pytest.mark.parametrize(
    ("message", "refused"),
    [
        ("Tu aimes les films de Jacques Tati ?", True),
        ("Do you like short poems?", True),
        ("Wenn ich in Norwegen leben würde, bräuchte ich dann ein Boot?", True),
        ("Könntest du mir künftig zuerst das Ergebnis nennen?", False),
        ("Tu peux me vouvoyer ?", False),
        ("Could you please keep it short?", False),
        ("If you write code, could you keep it short?", False),
    ],
)
def test_a_question_is_a_preference_only_where_it_asks_how_to_answer(
    message: str, refused: bool
) -> None:
    assert bool(_doubt(message, kind=Kind.PREFERENCE)) is refused


def test_a_name_from_the_examples_must_have_been_said() -> None:
    shown = "1. Lives in Bern\nU1> I moved to Basel."
    assert foreign_name("Lives in Bern", shown=shown, heard=words_of(["My team mate is ill."]))
    assert not foreign_name(
        "Lives in Bern", shown=shown, heard=words_of(["Since May I live in Bern."])
    )
    assert not foreign_name("Lives in Rome", shown=shown, heard=words_of(["Ich wohne in Rom."]))


def _item(text: str, quote: str, *relations: str, kind: str = "fact") -> Grounded:
    stated = tuple(StatedRelation(source="user", relation=r, target="x") for r in relations)
    candidate = Candidate(kind=kind, text=text, quote=quote, relations=stated)
    located = find_quote(quote, TURN.said)
    assert located is not None
    return Grounded(candidate, TURN, located)


def _texts(items: list[Grounded]) -> list[str]:
    return [item.candidate.text for item in settled(items)]


def test_a_repeat_gives_its_relations_to_the_one_that_says_more() -> None:
    bare = _item("Synology DS220", "Synology DS220", "uses")
    full = _item("Has a Synology DS220", "My NAS is a Synology DS220", "owns")
    for order in ([bare, full], [full, bare]):
        [kept] = settled(order)
        assert kept.candidate.text == full.candidate.text
        assert {each.relation for each in kept.candidate.relations} == {"uses", "owns"}


def test_different_facts_of_one_sentence_stay() -> None:
    quote = "I work in Basel and live in Bern"
    assert len(_texts([_item("Works in Basel", quote), _item("Lives in Bern", quote)])) == 2


def test_what_is_called_both_is_a_preference() -> None:
    """Promise 2: what a model files under both kinds must not reach every agent."""
    fact = _item("Likes tea", "I like tea")
    wish = _item("likes tea", "like tea", kind="preference")
    assert [each.candidate.kind for each in settled([fact, wish])] == ["preference"]
