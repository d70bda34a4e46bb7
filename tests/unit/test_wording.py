"""When two texts say the same: in what they may differ, and in what never."""

import pytest

from ricordo.memory.consolidation.wording import tells, wording
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import SELF
from ricordo.testing.ledger.making import entity, memory, relation

VOCABULARY = Vocabulary.load()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Bern", "lives  in Bern."),
        ("Lives in Bern", "I live in Bern"),
        ("Lives in Bern", "The user lives in Bern"),
        ("Lives in Bern", "User lives in Bern now"),
        ("User never eats meat", "I never eat meat!"),
        ("I have a dog", "Has a dog"),
        ("The user takes cello lessons", "Takes cello lessons"),
        ("User takes cello lessons", "I take cello lessons"),
        ("I go to the gym", "Goes to gym"),
        ("I'm allergic to nuts", "The user is allergic to nuts"),
        ("I don't drink coffee", "Does not drink coffee"),
        ("My dog is called Rex", "The user's dog is called Rex"),
        ("I study law", "Studies law"),
        ("Prefers “concise” examples", 'prefers "concise" examples'),
        ("Uses the service-mesh", "Uses a service mesh"),
        ("Ich wohne in Bern", "ich wohne in Bern."),
        ("L’utente abita a Roma", "Abita a Roma"),
        ("Der Benutzer wohnt in Bern", "Wohnt derzeit in Bern"),
    ],
)
def test_the_same_in_other_dress(one: str, other: str) -> None:
    """Case, punctuation, articles and the person as subject make no difference."""
    assert wording(one) == wording(other) != ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Has room 41", "Has room 42"),
        ("Pays 3.5 %", "Pays 35 %"),
        ("Uses version v2.3", "Uses version v2"),
        ("Lives in Bern", "Lives in Basel"),
        ("Likes coffee", "Does not like coffee"),
        ("Likes coffee", "Doesn't like coffee"),
        ("Can swim well", "Cannot swim well"),
        ("Eats meat always", "Eats meat never"),
        ("Works at Acme", "Worked at Acme"),
        ("Lives in Bern", "Lived in Bern"),
        ("Anna manages Bert", "Bert manages Anna"),
        ("Flies from Bern to Rome", "Flies from Rome to Bern"),
        ("Uses plan A daily", "Uses plan B daily"),
        ("Uses plan A", "Uses plan"),
        ("Codes in C", "Codes in C++"),
        ("Has a dog", "Has dogs"),
        ("Has one dog", "Has two dogs"),
        ("Lives in Bern", "Lives in Bern?"),
        ("User accounts are deleted", "Accounts are deleted"),
        ("User plans are kept", "Plans are kept"),
        ("Tells the user everything", "Tells everything"),
        ("Her dog is called Rex", "My dog is called Rex"),
        ("Prefers short examples", "Prefers long examples"),
        ("Starts before noon", "Starts after noon"),
        ("Owes more than 5 francs", "Owes less than 5 francs"),
        ("Wohnt in Bern", "Wohnt nicht in Bern"),
        ("Abita a Roma", "Non abita a Roma"),
        ("Plans for 2025", "Plan for 2025"),
        ("Uses .NET", "Uses NET"),
        ("Lives in Bern", "Lives in Bern with Anna"),
        ("Is happy", "Is unhappy"),
    ],
)
def test_what_differs_in_meaning_is_never_the_same(one: str, other: str) -> None:
    """A number, a name, a negation, a tense, who does what to whom."""
    assert wording(one) != wording(other)


@pytest.mark.parametrize("text", ["", "Yes", "the", "I", "?!", "–", "\x00"])
def test_too_little_says_nothing(text: str) -> None:
    assert wording(text) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Works at Acme", True),
        ("I am employed by Acme", True),
        ("The user works for Acme.", True),
        ("Arbeitet bei Acme", True),
        ("Acme employs user", False),
        ("Worked at Acme", False),
        ("Does not work at Acme", False),
        ("Works at Acme in Bern", False),
        ("Works at Acme since 2020", False),
        ("Works at Acne", False),
        ("Acme", False),
    ],
)
def test_nothing_but_a_relation(text: str, says: bool) -> None:
    """By the vocabulary's spellings; whatever else is in the text makes it another one."""
    user, acme = entity(SELF, type="Person"), entity("Acme", type="Organization")
    held = relation(user, acme, memory(), type="works_for")
    assert tells(text, held, VOCABULARY) is says


def test_a_relation_between_others_may_be_told_from_either_end() -> None:
    shop, base = entity("Web Shop"), entity("PostgreSQL")
    held = relation(shop, base, memory(), type="uses")
    assert tells("The web shop uses PostgreSQL", held, VOCABULARY)
    assert not tells("PostgreSQL uses the web shop", held, VOCABULARY)
    part, whole = entity("Billing"), entity("Web Shop")
    held = relation(part, whole, memory(), type="part_of")
    assert tells("Billing is part of the web shop", held, VOCABULARY)
    assert tells("The web shop contains Billing", held, VOCABULARY)
    assert not tells("Billing contains the web shop", held, VOCABULARY)
