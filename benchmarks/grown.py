"""A store as it grows over years: what was said again, otherwise, wrongly, and never asked for.

Everything is generated from a seed, with the truth beside it: which memories say the same, which
only look alike, which value is outdated, what is asked.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ricordo import EntityClaim, RelationClaim

BEGUN = datetime(2024, 1, 1, tzinfo=UTC)
YEARS = 2

NAMES = (
    "Rex Luna Milo Nala Bruno Coco Simba Lola Rocky Mia Balu Kira Oskar Emma Felix Bella".split()
)
ANIMALS = "dog cat horse parrot rabbit tortoise hamster goat".split()
CITIES = "Bern Basel Rome Paris Oslo Vienna Lyon Turin Geneva Porto Gdansk Ghent".split()
COMPANIES = "Acme Globex Initech Umbra Vandelay Hooli Soylent Tyrell".split()
PROJECTS = "Falcon Heron Osprey Kestrel Merlin Condor Swift Raven Plover Egret".split()
TOOLS = "PostgreSQL Redis Kafka Terraform Grafana Blender Figma Ansible Vim Emacs".split()
INSTRUMENTS = "piano cello flute drums guitar oboe".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
FOODS = "peanuts shellfish gluten lactose sesame mustard".split()
COLOURS = "red blue green yellow white black".split()
THINGS = "bicycle kayak van tent lamp suitcase".split()
STYLES = "concise formal colourful annotated minimal detailed".split()
ITEMS = "code examples|meeting notes|charts|status reports|slides|summaries".split("|")


@dataclass(frozen=True)
class Statement:
    """Something that can be remembered.

    Args:
        truth: the same for statements that say the same, and for no others.
        sort: "plain" (said first), "variant" (the same in other dress), "relation" (the same by a
            relation's other name), "paraphrase" (the same in words that no rule knows), "twin"
            (looks alike and is not the same), "value" (of a single-valued relation), "stale"
            (old, not sure, never used), "used" (as "plain", and given to an agent lately).
    """

    truth: str
    text: str
    sort: str = "plain"
    preference: bool = False
    claim: tuple[str, str] | None = None
    confidence: float = 1.0

    @property
    def relations(self) -> tuple[RelationClaim, ...]:
        if self.claim is None:
            return ()
        relation, target = self.claim
        source = EntityClaim(name="user")
        return (RelationClaim(source=source, relation=relation, target=EntityClaim(name=target)),)


@dataclass(frozen=True)
class Asked:
    """A question, and the truth that answers it."""

    text: str
    truth: str


@dataclass(frozen=True)
class Person:
    """One person's memories in the order in which they were said, and what is asked."""

    name: str
    said: Sequence[tuple[datetime, Statement]]
    asked: Sequence[Asked]


def people(count: int, *, facts: int, seed: int = 7) -> list[Person]:
    """Persons, each with about `facts` different facts, and half as many duplicates again."""
    pool = list(_pool(random.Random(seed)))
    return [_person(f"person-{n}", random.Random(seed + n + 1), pool, facts) for n in range(count)]


def _person(
    name: str, chance: random.Random, pool: Sequence[tuple[Statement, str]], facts: int
) -> Person:
    chosen = chance.sample(pool, min(facts, len(pool)))
    said: list[tuple[datetime, Statement]] = []
    asked: list[Asked] = []
    for base, question in chosen:
        stale = chance.random() < 0.2
        sort = "stale" if stale else "used" if chance.random() < 0.7 else base.sort
        at = BEGUN + timedelta(days=chance.uniform(0, 200 if stale else 365 * YEARS))
        confidence = 0.6 if stale else base.confidence
        said.append((at, _like(base, base.text, sort, confidence)))
        asked.append(Asked(question, base.truth))
        if not stale:
            said += _again(base, at, chance)
    said += _values(chance)
    said.sort(key=lambda one: (one[0], one[1].text))
    return Person(name, said, asked)


def _again(
    base: Statement, at: datetime, chance: random.Random
) -> Iterator[tuple[datetime, Statement]]:
    """What is said once more: in other dress, in other words, or almost."""

    def later() -> datetime:
        return at + timedelta(days=chance.uniform(1, 60))

    if chance.random() < 0.45:
        for text in chance.sample(_variants(base.text), chance.randint(1, 2)):
            yield later(), _like(base, text, "variant", 1.0)
    if base.claim is not None and chance.random() < 0.4:
        for text in _by_relation(base.claim):
            yield later(), _like(base, text, "relation", 1.0)
    if chance.random() < 0.15:
        yield later(), _like(base, _paraphrase(base.text), "paraphrase", 1.0)
    if chance.random() < 0.3:
        twin = _twin(base.text)
        yield later(), Statement(twin, twin, "twin", base.preference)


def _like(base: Statement, text: str, sort: str, confidence: float) -> Statement:
    return Statement(base.truth, text, sort, base.preference, base.claim, confidence)


def _variants(text: str) -> list[str]:
    """The same in other dress."""
    verb, rest = text.split(" ", 1)
    first = {"Is": "I am", "Has": "I have"}.get(verb, f"I {verb[:-1].lower()}")
    return [
        f"The user {verb.lower()} {rest}.",
        f"{first} {rest}",
        f"User {verb.lower()} {rest}!" if verb != "Takes" else f"The user {verb.lower()} {rest}!",
        f"“{text}”",
    ]


def _by_relation(claim: tuple[str, str]) -> Sequence[str]:
    relation, target = claim
    return {
        "works for": (f"Is employed by {target}", f"I am working at {target}"),
        "works on": (f"Contributes to {target}",),
    }.get(relation, ())


def _paraphrase(text: str) -> str:
    """The same in words that no rule knows; only a model could tell."""
    return f"It was mentioned that, as for the person, this is so: {text[0].lower()}{text[1:]}"


def _twin(text: str) -> str:
    """What looks alike and is not the same: a negation, or another number or name."""
    for names in (NAMES, DAYS, COMPANIES, PROJECTS, TOOLS, COLOURS, STYLES):
        for name in names:
            if name in text.split() or f"{name}s" in text.split():
                return text.replace(name, names[(names.index(name) + 1) % len(names)])
    verb, rest = text.split(" ", 1)
    return f"Is not {rest}" if verb == "Is" else f"Does not {verb[:-1].lower()} {rest}"


def _pool(chance: random.Random) -> Iterator[tuple[Statement, str]]:
    """Facts and preferences, each with its question."""
    for place, name in enumerate(NAMES):
        animal = ANIMALS[place % len(ANIMALS)]
        yield _fact(f"Has a {animal} named {name}"), f"Which animal is called {name}?"
    for place, instrument in enumerate(INSTRUMENTS):
        day = DAYS[place % len(DAYS)]
        yield _fact(f"Takes {instrument} lessons on {day}"), f"When is the {instrument} lesson?"
    for food in FOODS:
        yield _fact(f"Is allergic to {food}"), f"Does {food} cause an allergy?"
    for colour in COLOURS:
        for thing in THINGS:
            price = chance.randrange(50, 900)
            yield (
                _fact(f"Owns a {colour} {thing} bought for {price} francs"),
                f"What did the {colour} {thing} cost?",
            )
    for place, company in enumerate(COMPANIES):
        yield (
            _fact(f"Works for {company}", ("works for", company)),
            f"Is {company} an employer?",
        )
        city = CITIES[place % len(CITIES)]
        yield _fact(f"Visits the {company} office in {city} quarterly"), f"Where is {company}?"
    for project in PROJECTS:
        name = f"Project {project}"
        yield _fact(f"Works on {name}", ("works on", name)), f"Who works on {name}?"
        tool = TOOLS[PROJECTS.index(project)]
        yield _fact(f"Uses {tool} in {name}"), f"Which tool is used in {name}?"
        due = chance.randrange(1, 28)
        yield _fact(f"Delivers {name} on day {due} of May"), f"When is {name} delivered?"
    for item in ITEMS:
        for style in STYLES[:3]:
            text = f"Prefers {style} {item} about {PROJECTS[STYLES.index(style)]}"
            truth = Statement(text, text, "plain", True)
            yield truth, f"How should {item} about {PROJECTS[STYLES.index(style)]} be?"


def _fact(text: str, claim: tuple[str, str] | None = None) -> Statement:
    return Statement(text, text, "plain", False, claim)


def _values(chance: random.Random) -> Iterator[tuple[datetime, Statement]]:
    """Values of single-valued relations, said in any order; the last one holds."""
    for relation, phrase, values in (
        ("lives in", "Lives in", CITIES),
        ("reports to", "Reports to", ("Anna Berg", "Bert Zog", "Cleo Ott", "Dora Lenz")),
    ):
        for place, value in enumerate(chance.sample(list(values), 3)):
            at = BEGUN + timedelta(days=100 + 200 * place + chance.uniform(0, 50))
            truth = f"{phrase} {value}"
            yield at, Statement(truth, truth, "value", False, (relation, value))
