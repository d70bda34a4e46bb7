"""Bad input through the command line: accepted and isolated, or refused; never interpreted."""

import pytest

from tests.hosts.cli.conftest import Cli, gone

REFUSED_TEXTS = {
    "empty": b"",
    "blank": b" \n\t ",
    "too long": b"x" * 1_000_000,
    "NUL": b"a\x00b",
    "not UTF-8": b"caf\xe9",
    "lone surrogate": b"\xed\xb0\x80",
}
ACCEPTED_TEXTS = [
    "*",
    "%",
    "..",
    "'; DROP TABLE memories; --",
    "\"quoted\" and 'quoted'",
    "right\u202eto left\u200f marks",
    "[bold red]markup[/] :smile:",
    "caf\u00e9",
    "cafe\u0301",
    "\x1b[31mred\x1b[0m",
    "first line\nsecond line",
    "\u4f60\u597d \U0001f600",
]
ODD_IDS = [
    "*",
    "%",
    "../../etc/passwd",
    "'",
    "caf\u00e9",
    "user:default/alice",
]
REFUSED_IDS = [
    "",
    " a",
    "a ",
    "a\nb",
    "a\x7fb",
    "a\u202eb",
    "a\u200fb",
    "cafe\u0301",
    "\udce9",
    "x" * 257,
]


@pytest.mark.parametrize("raw", REFUSED_TEXTS.values(), ids=REFUSED_TEXTS.keys())
def test_texts_that_cannot_be_kept_are_refused(raw: bytes, cli: Cli) -> None:
    cli("init")
    for argv in (["remember", "-"], ["document", "-"], ["edit", "m_1", "-"]):
        ended = cli(*argv, "--json", stdin=raw)
        assert ended.code == 2
        assert ended.error["type"] == "Invalid"
        assert len(ended.error["message"]) < 300
    assert cli("stats", "--everything", "--json").json["counts"]["memories"] == 0


@pytest.mark.parametrize("raw", REFUSED_TEXTS.values(), ids=REFUSED_TEXTS.keys())
def test_a_question_may_be_of_any_length_and_shape(raw: bytes, cli: Cli) -> None:
    """It is looked for, not kept; only none at all is a mistake."""
    cli("init")
    ended = cli("recall", "-", "--json", stdin=raw)
    if raw.decode(errors="replace").strip():
        assert (ended.code, ended.json["items"]) == (0, [])
    else:
        assert (ended.code, ended.error["type"]) == (2, "Invalid")


@pytest.mark.parametrize("text", ACCEPTED_TEXTS)
def test_odd_texts_come_back_as_they_went_in(text: str, cli: Cli) -> None:
    stored = cli("remember", "--user", "alice", "--json", "--", text).json
    assert stored["text"] == text
    assert cli("show", "--user", "alice", stored["id"], "--json").json["text"] == text
    assert text in [m["text"] for m in cli("list", "--user", "alice", "--json").json["items"]]
    assert cli("recall", "--user", "alice", "--", text).code == 0
    assert cli("list", "--user", "bob", "--json").json["items"] == []


def test_what_was_remembered_does_not_steer_the_terminal(cli: Cli) -> None:
    cli("remember", "--", "\x1b[31mred\x1b[0m \u202eevil \x9b1m")
    for argv in (["list"], ["recall", "red"], ["recall", "red", "--explain"], ["export"]):
        out = cli(*argv).out
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\x9b" not in out
    assert "\\u001b[31mred" in cli("list").out


def test_nfc_and_nfd_texts_say_the_same(cli: Cli) -> None:
    first = cli("remember", "Goes to the caf\u00e9", "--json").json
    twin = cli("remember", "Goes to the cafe\u0301", "--json").json
    assert twin["id"] == first["id"]


@pytest.mark.parametrize("odd", ODD_IDS)
def test_odd_ids_are_ids_like_any_other(odd: str, cli: Cli) -> None:
    """Promise 1: no wildcard, no path, no pattern; only the exact id finds anything."""
    cli("remember", "--user", "alice", "Secret of Alice")
    for place in ("--tenant", "--user", "--agent"):
        assert cli("remember", place, odd, f"Said with {place}").code == 0
    assert cli("document", "--namespace", odd, "Documented oddly").code == 0
    mine = cli("list", "--user", odd, "--json").json["items"]
    assert [m["text"] for m in mine] == ["Said with --user"]
    facts = cli("list", "--namespace", odd, "--json").json["items"]
    assert [m["text"] for m in facts] == ["Documented oddly"]
    everything = cli("recall", "--tenant", odd, "--user", "alice", "secret", "--json").json
    assert everything["items"] == []
    assert cli("show", "--user", "alice", "--", odd).code in (2, 3)
    assert cli("forget", "--user", "alice", "--yes", "--json", "--", odd).json == gone(0)
    assert len(cli("list", "--user", "alice", "--json").json["items"]) == 1


@pytest.mark.parametrize("bad", REFUSED_IDS, ids=ascii)
def test_ids_that_cannot_serve_are_refused(bad: str, cli: Cli) -> None:
    cli("init")
    for argv in (
        ["list", "--user", bad],
        ["document", "x", "--namespace", bad],
        ["show", "--", bad],
    ):
        assert cli(*argv).code == 2


@pytest.mark.parametrize(
    "argv",
    [
        ["list", "--tenant", "{}"],
        ["list", "--agent", "{}"],
        ["list", "--namespace", "{}"],
        ["list", "--thread", "{}"],
        ["list", "--after", "{}"],
        ["edit", "--", "{}", "x"],
        ["forget", "--yes", "--", "{}"],
        ["forget", "--yes", "--thread", "{}"],
        ["forget", "--yes", "--agent", "{}"],
        ["review", "approve", "--", "{}"],
        ["recall", "x", "--namespace", "{}"],
        ["remember", "x", "--thread", "{}"],
        ["explore", "--namespace", "{}", "x"],
        ["stats", "--namespace", "{}"],
    ],
    ids=" ".join,
)
def test_every_place_for_an_id_checks_it(argv: list[str], cli: Cli) -> None:
    cli("init")
    ended = cli(*(word.replace("{}", "a\u202eb") for word in argv))
    assert ended.code == 2
    assert ended.err.startswith("ricordo: ")


@pytest.mark.parametrize("name", ["", " ", "\x00", "\udce9", "x" * 201])
def test_names_that_cannot_serve_are_refused(name: str, cli: Cli) -> None:
    cli("init")
    assert cli("explore", "--", name).code == 2
    assert cli("explore", "x", "--to", name).code == 2


@pytest.mark.parametrize("name", ["*", "%", "..", "'", "user' OR 1=1", "\u202eabc"])
def test_odd_names_find_nothing(name: str, cli: Cli) -> None:
    cli("remember", "Works on Falcon", "--relation", "user|works on|Falcon")
    assert cli("explore", "--json", "--", name).json["items"] == []


@pytest.mark.parametrize(
    "relation",
    ["", "a", "a|b", "a|b|c|d", "|uses|b", "a||b", "a|uses|", "a|uses|b\x00", "\udce9|a|b"],
)
def test_relations_that_cannot_be_read_are_refused_and_nothing_is_stored(
    relation: str, cli: Cli
) -> None:
    cli("init")
    assert cli("remember", "Some text", "--relation", relation).code == 2
    assert cli("list", "--json").json["items"] == []


@pytest.mark.parametrize("date", ["", "soon", "2026-13-01", "0001-01-01T00:00:00+23:59", "9" * 300])
def test_dates_that_are_none_are_refused(date: str, cli: Cli) -> None:
    cli("init")
    for argv in (["list", "--before", date], ["recall", "x", "--as-of", date]):
        ended = cli(*argv)
        assert ended.code in (0, 2)
        assert ended.code == 2 or date.startswith("0001")


@pytest.mark.parametrize(
    "argv",
    [
        ["recall", "x", "--limit", "0"],
        ["recall", "x", "--limit", "99999999999999999999"],
        ["recall", "x", "--tokens", "0"],
        ["recall", "x", "--deadline", "0"],
        ["recall", "x", "--deadline", "nan"],
        ["recall", "x", "--hops", "99"],
        ["explore", "x", "--hops", "-1"],
        ["list", "--limit", "1001"],
        ["deadletters", "replay", "0x7"],
    ],
)
def test_numbers_out_of_range_are_refused(argv: list[str], cli: Cli) -> None:
    cli("init")
    assert cli(*argv).code == 2


@pytest.mark.parametrize("job", ["0", "7", "-7", "99999999999999999999999"])
def test_a_dead_letter_that_is_not_there_is_not_found(job: str, cli: Cli) -> None:
    cli("init")
    assert cli("deadletters", "replay", "--", job).code in (2, 3)
    assert cli("deadletters", "show", "--", job).code == 3


@pytest.mark.parametrize("path", ["no/such/dir/\x00m.db", "/proc/nowhere/m.db", "."])
def test_a_file_that_cannot_be_made_is_an_error_in_one_line(path: str, cli: Cli) -> None:
    ended = cli("remember", "x", "--db", path)
    assert ended.code in (2, 6, 7)
    assert len(ended.err.splitlines()) == 1
