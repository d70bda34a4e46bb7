"""Which entities are proposed to be one; a person decides."""

from datetime import timedelta

import pytest

from ricordo.memory.consolidation.pairing import MOST, pairs
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import SELF, Entity
from ricordo.testing.ledger.making import START, entity

VOCABULARY = Vocabulary.load()


def found(*entities: Entity, related: tuple[tuple[Entity, Entity], ...] = ()):
    ids = {frozenset((one.id, other.id)) for one, other in related}
    return [
        (pair.source_name, pair.target_name, pair.reason)
        for pair in pairs(entities, related=ids, vocabulary=VOCABULARY)
    ]


def thing(name: str, kind: str = "Thing", *, days: float = 0, **more: object) -> Entity:
    return entity(name, type=kind, recorded_at=START + timedelta(days=days), **more)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("k8s", "Kubernetes", ("k8s", "Kubernetes", "alias")),
        ("Kubernetes", "k8s", ("k8s", "Kubernetes", "alias")),
        ("Postgres", "PostgreSQL", ("Postgres", "PostgreSQL", "alias")),
        ("i18n", "internationalization", ("i18n", "internationalization", "initials")),
        ("WHO", "World Health Organization", ("WHO", "World Health Organization", "initials")),
        ("Project-Falcon", "Project Falcon", ("Project Falcon", "Project-Falcon", "spelling")),
        ("ProjectFalcon", "Project Falcon", ("ProjectFalcon", "Project Falcon", "spelling")),
        ("Zürich", "Zurich", ("Zurich", "Zürich", "spelling")),
        ("Acme", "Acme Inc.", ("Acme", "Acme Inc.", "spelling")),
    ],
)
def test_names_of_one_thing(one: str, other: str, expected: tuple[str, str, str]) -> None:
    assert found(thing(one), thing(other, days=1)) == [expected]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Falcon 1", "Falcon 2"),
        ("Falcon 1.2", "Falcon 12"),
        ("C", "C++"),
        ("Anna", "Anna Müller"),
        ("it", "Information Technology"),
        ("Bern", "Basel"),
        ("k8s", "Kuba"),
        ("Blue Fox", "Big Falcon"),
    ],
)
def test_names_of_two_things(one: str, other: str) -> None:
    assert found(thing(one), thing(other)) == []


def test_a_project_may_be_named_with_and_without_its_kind() -> None:
    assert found(thing("Project Falcon", "Project"), thing("Falcon", "Project", days=1)) == [
        ("Falcon", "Project Falcon", "spelling")
    ]
    assert found(thing("Project Falcon", "Project"), thing("Falcon", "Animal")) == []


def test_two_that_are_related_are_two() -> None:
    one, other = thing("Acme"), thing("Acme AG")
    assert found(one, other, related=((one, other),)) == []


def test_the_user_and_what_was_merged_are_never_proposed() -> None:
    assert found(thing(SELF), thing("Us-er")) == []
    assert found(thing("Acme", merged_into="n_1"), thing("Acme AG")) == []


def test_a_pass_proposes_no_more_than_a_person_will_look_at() -> None:
    many = [thing(f"Thing {n}{end}") for n in range(30) for end in ("x", "-x")]
    assert len(found(*many)) == MOST
