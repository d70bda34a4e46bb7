"""Promise 7: the vocabulary says which relations there are, and is checked when it is read."""

from pathlib import Path

import pytest

from ricordo.errors import Invalid
from ricordo.memory.vocabulary import Cardinality, Vocabulary


@pytest.fixture(scope="module")
def default() -> Vocabulary:
    return Vocabulary.load()


def written(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("phrase", "name", "turned"),
    [
        ("works on", "works_on", False),
        ("Works  On", "works_on", False),
        ("works-on", "works_on", False),
        ("worksOn", "works_on", False),
        ("is working on", "works_on", False),
        ("arbeitet an", "works_on", False),
        ("travaille sur", "works_on", False),
        ("lavora su", "works_on", False),
        ("benötigt", "requires", False),
        ("benotigt", "requires", False),
        ("NÉCESSITE", "requires", False),
        ("richiede", "requires", False),
        ("employs", "works_for", True),
        ("beschäftigt", "works_for", True),
        ("is led by", "leads", True),
        ("contient", "part_of", True),
        ("è sposata con", "married_to", False),
        ("wohnt in", "lives_in", False),
        ("doesn't like", "dislikes", False),
    ],
)
def test_spellings_in_four_languages_mean_one_relation(
    default: Vocabulary, phrase: str, name: str, turned: bool
) -> None:
    meant = default.relation(phrase)
    assert meant is not None
    assert (meant.relation.name, meant.turned, meant.listed) == (name, turned, True)


def test_every_listed_spelling_is_found_again(default: Vocabulary) -> None:
    for relation in default.relations.values():
        for phrase in (relation.name, *relation.aliases):
            meant = default.relation(phrase)
            assert meant is not None
            assert (meant.relation, meant.turned) == (relation, False)
        for phrase in (*filter(None, [relation.inverse]), *relation.inverse_aliases):
            meant = default.relation(phrase)
            assert meant is not None
            assert (meant.relation, meant.turned) == (relation, True)


def test_a_past_state_is_not_taken_for_the_present(default: Vocabulary) -> None:
    for phrase, name in {"worked at": "worked_for", "used to live in": "lived_in"}.items():
        meant = default.relation(phrase)
        assert meant is not None
        assert meant.relation.name == name


def test_open_mode_admits_a_new_relation_in_snake_case(default: Vocabulary) -> None:
    meant = default.relation("Plays Chess-with")
    assert meant is not None
    assert not meant.listed
    assert meant.relation.name == "plays_chess_with"
    assert meant.relation.domain == meant.relation.range == ("Thing",)
    assert meant.relation.cardinality is Cardinality.MANY


@pytest.mark.parametrize(
    "phrase",
    ["", "  ", "→", "123", "does not use", "no longer works for", "verwendet nicht",
     "n'utilise pas", "non usa", "a b c d e f g h i j", "x" * 61],
)  # fmt: skip
def test_open_mode_admits_no_negation_no_sentence_and_no_sign(
    default: Vocabulary, phrase: str
) -> None:
    assert default.relation(phrase) is None


def test_strict_mode_refuses_what_is_not_listed() -> None:
    strict = Vocabulary.load(mode="strict")
    assert strict.relation("plays chess with") is None
    assert strict.type("Gizmo") is None
    assert strict.relation("works on") is not None
    assert strict.type("Person") == "Person"
    assert strict.type(None) == "Thing"


def test_types_are_known_by_their_aliases_in_any_case(default: Vocabulary) -> None:
    assert [default.type(t) for t in ("person", "Firma", "citta", "programming language")] == [
        "Person",
        "Organization",
        "Place",
        "Technology",
    ]
    assert default.type("Gizmo") == "Thing"


def test_types_have_a_hierarchy(default: Vocabulary) -> None:
    assert default.is_a("Team", "Group")
    assert default.is_a("Team", "Thing")
    assert not default.is_a("Group", "Team")


@pytest.mark.parametrize(
    ("kind", "allowed", "expected"),
    [
        ("Team", ("Group",), "Team"),
        ("Thing", ("Place",), "Place"),
        ("Thing", ("Organization", "Team"), "Group"),
        ("Thing", ("Person", "Place"), "Thing"),
        ("Agent", ("Person", "Place"), "Person"),
        ("Place", ("Person",), None),
        ("Person", ("Thing",), "Person"),
    ],
)
def test_a_missing_type_is_inferred_only_as_far_as_it_is_sure(
    default: Vocabulary, kind: str, allowed: tuple[str, ...], expected: str | None
) -> None:
    assert default.narrowed(kind, allowed) == expected


def test_the_default_covers_people_work_software_places_and_life(default: Vocabulary) -> None:
    wanted = {
        "works_for", "works_on", "member_of", "leads", "reports_to", "has_role", "owns", "uses",
        "requires", "depends_on", "written_in", "deployed_on", "part_of", "located_in", "lives_in",
        "born_on", "married_to", "parent_of", "speaks", "likes", "related_to",
    }  # fmt: skip
    assert wanted <= set(default.relation_names)
    assert 35 <= len(default.relation_names) <= 45
    single = {n for n, r in default.relations.items() if r.cardinality is Cardinality.ONE}
    assert {"lives_in", "reports_to", "married_to"} <= single
    above = {n for n, r in default.relations.items() if r.hierarchical}
    assert {"part_of", "reports_to", "located_in"} <= above


def test_an_own_file_replaces_the_default_as_a_whole(tmp_path: Path) -> None:
    own = Vocabulary.load(
        written(
            tmp_path,
            """
            mode = "strict"
            [entities.Ship]
            [entities.Port]
            [relations.sails_to]
            domain = ["Ship"]
            range = ["Port"]
            reflexive = true
            """,
        )
    )
    assert own.relation_names == ("sails_to",)
    assert own.type_names == ("thing", "ship", "port")
    assert not own.open


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mode = 'loose'", r'own.toml: the file.mode: must be "strict" or "open"'),
        ("mood = 'open'", r"own.toml: the file: unknown key 'mood'"),
        ("[relations.a_b]\nreflexiv = true", r"\[relations.a_b\]: unknown key 'reflexiv'"),
        ("[relations.a_b]\ndomain = ['Nix']", r"\[relations.a_b\].domain: .* no .* type 'Nix'"),
        ("[relations.a_b]\ndomain = 'Thing'", r"\[relations.a_b\].domain: must be a list"),
        ("[relations.a_b]\naliases = ['→']", r"\[relations.a_b\].aliases: each item"),
        ("[relations.a_b]\nsymmetric = 'yes'", r"\[relations.a_b\].symmetric: must be true or"),
        ("[relations.a_b]\ncardinality = 2", r'\.cardinality: must be "one" or "many"'),
        ("[relations.'A b']", r"\[relations.A b\]: 'A b' is no snake_case name, such as 'a_b'"),
        ("[relations.a_b]\ninverse = 'a_b'", r"\.inverse: is the relation itself"),
        ("[relations.a_b]\ninverse = 'B a'", r"\.inverse: 'B a' is no snake_case name"),
        ("[relations.a_b]\ninverse_aliases = ['x y']", r"\.inverse_aliases: name the inverse"),
        ("[relations.a_b]\nsymmetric = true\ninverse = 'c_d'", r"is its own inverse"),
        ("[relations.a_b]\nsymmetric = true\nhierarchical = true", r"\.hierarchical: "),
        ("[relations.a_b]\nreflexive = true\nhierarchical = true", r"\.reflexive: "),
        (
            "[entities.X]\n[relations.a_b]\nsymmetric = true\ndomain = ['X']",
            r"\.range: a symmetric",
        ),
        (
            "[relations.a_b]\naliases = ['same']\n[relations.c_d]\naliases = ['Same']",
            r"\[relations.c_d\].aliases: 'Same' is used already, by \[relations.a_b\].aliases",
        ),
        (
            "[relations.a_b]\ninverse = 'c_d'\n[relations.c_d]\ninverse = 'e_f'",
            r"\[relations.c_d\].name: 'c_d' is used already, by \[relations.a_b\].inverse",
        ),
        ("[relations.a_b]\naliases = ['b']\ninverse = 'b'", r"\.inverse: 'b' is used already"),
        ("[entities.X]\nparent = 'Y'", r"\[entities.X\].parent: there is no entity type 'Y'"),
        (
            "[entities.X]\nparent = 'Y'\n[entities.Y]\nparent = 'X'",
            r"lies below itself",
        ),
        ("[entities.Thing]\nparent = 'X'", r"Thing is above all types"),
        ("[entities.X]\naliases = ['y']\n[entities.Y]", r"\[entities.Y\].name: 'Y' is used"),
        ("relations = 3", r"\[relations\] must be a table of tables"),
        ("relations.a_b = 3", r"\[relations.a_b\] must be a table"),
        ("mode = ", r"own.toml: not a TOML file"),
    ],
)
def test_a_faulty_file_is_refused_naming_table_and_key(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        Vocabulary.load(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="cannot be read"):
        Vocabulary.load(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"mode = '\xff'")
    with pytest.raises(Invalid, match="not UTF-8"):
        Vocabulary.load(tmp_path / "latin.toml")
    with pytest.raises(Invalid, match="'strict' or 'open'"):
        Vocabulary.load(mode="lax")


def test_the_reference_page_lists_every_relation_and_type(default: Vocabulary) -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "vocabulary.md"
    text = page.read_text(encoding="utf-8")
    for name in (*default.relations, *default.types):
        assert f"`{name}`" in text
