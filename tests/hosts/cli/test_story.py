"""The commands of the issue, on a real file: say, recall, look, correct, forget, erase."""

import pytest

from tests.hosts.cli.conftest import Cli, gone, ids
from tests.promises.test_extremes import QUESTIONS

MEMORY = {
    "id", "text", "kind", "scope", "agent", "status", "source", "origin", "recorded_at",
    "updated_at", "valid_from", "valid_until", "expires_at", "confidence", "importance",
    "sensitivity", "pinned", "recalls", "last_recalled_at", "version", "pending", "reasons",
    "replaces", "prompt", "model", "demoted_at", "merged_into",
}  # fmt: skip
"""The stable names of a memory; a script may rely on them."""


@pytest.fixture
def story(cli: Cli) -> Cli:
    """Alice told the coder her taste and her project; a curator documented two facts."""
    alice = ("remember", "--user", "alice", "--agent", "coder")
    assert cli(*alice, "--kind", "preference", "Prefers concise examples").code == 0
    assert (
        cli(*alice, "Works on Project Falcon", "--relation", "user|works on|Project Falcon").code
        == 0
    )
    for text, relation in (
        ("Project Falcon uses microservices", "Project Falcon|uses|microservices"),
        ("Microservices require a service mesh", "microservices|requires|service mesh"),
    ):
        assert cli("document", "--namespace", "platform", text, "--relation", relation).code == 0
    return cli


def test_remember_prints_the_memory_with_its_stable_names(cli: Cli) -> None:
    stored = cli(
        "remember", "--user", "alice", "--agent", "coder", "--kind", "preference",
        "Prefers concise examples", "--json",
    ).json  # fmt: skip
    assert stored.keys() == MEMORY | {"created", "relations", "refusals"}
    assert stored["text"] == "Prefers concise examples"
    assert stored["kind"] == "preference"
    assert stored["agent"] == "coder"
    assert stored["scope"] == {"type": "user", "tenant": "default", "user": "alice"}
    assert stored["status"] == "active"
    assert stored["created"] is True
    assert stored["origin"][0]["agent"] == "coder"


def test_remembered_twice_is_one_memory(cli: Cli) -> None:
    first = cli("remember", "Likes tea", "--json").json
    again = cli("remember", "Likes tea", "--json", "--thread", "t1").json
    assert again["id"] == first["id"]
    assert again["created"] is False
    assert [origin["thread_id"] for origin in again["origin"]] == [None, "t1"]


def test_document_stores_relations_with_their_types(cli: Cli) -> None:
    stored = cli(
        "document", "--namespace", "platform", "--user", "carla", "Falcon uses Kafka",
        "--relation", "Falcon:Project|uses|Kafka:Technology", "--json",
    ).json  # fmt: skip
    assert stored["scope"] == {"type": "organization", "tenant": "default", "namespace": "platform"}
    assert stored["origin"][0]["author"] == "carla"
    [relation] = stored["relations"]
    assert (relation["source"], relation["relation"], relation["target"]) == (
        "Falcon", "uses", "Kafka",
    )  # fmt: skip


def test_a_relation_that_breaks_a_rule_is_named_and_kept(cli: Cli) -> None:
    """Promise 7: what is refused is kept, with the rule, and the text is stored all the same."""
    ended = cli("document", "It uses Kafka", "--relation", "it|uses|Kafka")
    assert ended.code == 0
    assert "refused by rule b-names" in ended.err
    [refusal] = cli("review", "refusals", "--org", "--json").json["items"]
    assert refusal["rule"] == "b-names"
    assert "b-names" in cli("review", "refusals", "--org").out


def test_recall_is_private_to_the_agent_and_joins_the_organization(story: Cli) -> None:
    """Promises 1 and 2, through the command line."""
    asked = "how long should examples be"
    mine = story("recall", "--user", "alice", "--agent", "coder", asked, "--json").json
    assert mine.keys() == {
        "items", "cursor", "paths", "degraded", "faults", "visible", "left_out", "took_ms",
        "stages", "nearly",
    }  # fmt: skip
    assert mine["items"][0].keys() == MEMORY | {"score", "signals", "path"}
    assert mine["items"][0]["text"] == "Prefers concise examples"
    others = story("recall", "--user", "alice", "--agent", "helper", asked, "--json").json
    assert "Prefers concise examples" not in [item["text"] for item in others["items"]]
    project = story(
        "recall", "--user", "alice", "--agent", "helper", "What does my project need?", "--json"
    ).json
    assert "service mesh" in {path["end"] for path in project["paths"]}
    bob = story("recall", "--user", "bob", "--agent", "coder", "examples for my project", "--json")
    assert not any(item["scope"]["type"] == "user" for item in bob.json["items"])


def test_recall_can_be_narrowed(story: Cli) -> None:
    only = story("recall", "--user", "alice", "Falcon", "--only", "user", "--json").json
    assert {item["scope"]["type"] for item in only["items"]} == {"user"}
    only = story("recall", "--user", "alice", "Falcon", "--only", "organization", "--json").json
    assert {item["scope"]["type"] for item in only["items"]} == {"organization"}
    other = story(
        "recall", "--user", "alice", "Falcon", "--only", "organization", "--namespace", "hr",
        "--json",
    ).json  # fmt: skip
    assert other["items"] == []
    one = story("recall", "--user", "alice", "Falcon", "--limit", "1", "--json").json
    assert len(one["items"]) == 1


def test_recall_explains_itself(story: Cli) -> None:
    ended = story("recall", "--user", "alice", "What does my project need?", "--explain")
    assert "because " in ended.out
    assert "from said outright by coder at " in ended.out
    assert "walk   user –works_on→ Project Falcon –uses°→ microservices" in ended.out
    assert "visible memories" in ended.out


def test_recall_explains_what_nearly_made_it(story: Cli) -> None:
    ask = ("recall", "--user", "alice", "What does Project Falcon use?", "--limit", "1")
    shown = story(*ask, "--explain").out
    assert "nearly " in shown
    assert "not given: others scored higher" in shown
    assert " × 0.85)" in shown, "the weight of words"
    assert "\nms     " in shown
    told = story(*ask, "--explain", "--json").json
    assert {item["cut"] for item in told["nearly"]} == {"limit"}
    assert told["weights"]["words"] == 0.85
    assert {"embed", "search", "walk"} <= told["stages"].keys()
    bare = story(*ask, "--json").json
    assert bare["nearly"] == []
    assert "weights" not in bare
    assert ids(bare["items"]) == ids(told["items"])


def test_nothing_found_is_said_and_is_no_error(cli: Cli) -> None:
    cli("init")
    ended = cli("recall", "anything")
    assert (ended.code, ended.out, ended.err) == (0, "", "nothing found\n")


def test_explore_goes_on_into_the_organization(story: Cli) -> None:
    walk = story("explore", "user", "--user", "alice", "--hops", "3", "--json").json
    assert {path["end"] for path in walk["items"]} >= {"Project Falcon", "service mesh"}
    shared = story("explore", "Project Falcon", "--namespace", "platform", "--json").json
    scopes = {s["scope"]["type"] for path in shared["items"] for s in path["steps"]}
    assert scopes == {"organization"}
    way = story("explore", "user", "--user", "alice", "--to", "service mesh", "--hops", "4").out
    assert way == (
        "user –works_on→ Project Falcon –uses°→ microservices –requires°→ service mesh\n"
    )
    assert story("explore", "Nobody").err == "nothing found\n"


def test_list_goes_page_by_page(cli: Cli) -> None:
    stored = [cli("remember", f"Fact number {n}", "--json").json["id"] for n in range(5)]
    seen: list[str] = []
    page = cli("list", "--limit", "2", "--json").json
    while True:
        assert page.keys() == {"items", "cursor"}
        seen += ids(page["items"])
        if page["cursor"] is None:
            break
        page = cli("list", "--limit", "2", "--after", page["cursor"], "--json").json
    assert seen == stored
    assert "more: add --after" in cli("list", "--limit", "2").err
    assert cli("list", "--after", "nonsense").code == 2
    assert cli("list", "--limit", "0").code == 2


def test_list_can_be_narrowed(story: Cli) -> None:
    def texts(*more: str) -> list[str]:
        return [m["text"] for m in story("list", "--user", "alice", *more, "--json").json["items"]]

    assert texts("--kind", "fact") == ["Works on Project Falcon"]
    assert texts("--agent", "helper") == ["Works on Project Falcon"]
    assert (
        texts("--agent", "coder")
        == texts()
        == [
            "Prefers concise examples",
            "Works on Project Falcon",
        ]
    )
    assert texts("--status", "proposed") == []
    assert texts("--before", "2020-01-01") == []
    assert texts("--thread", "t1") == []


def test_outside_a_terminal_a_list_is_lines_parted_by_tabs(story: Cli) -> None:
    lines = story("list", "--user", "alice").out.splitlines()
    assert [line.split("\t")[1:] for line in lines] == [
        ["preference", "active", "coder", "Prefers concise examples"],
        ["fact", "active", "coder", "Works on Project Falcon"],
    ]


def test_show_has_history_relations_and_origins(story: Cli) -> None:
    fact = ids(story("list", "--user", "alice", "--kind", "fact", "--json").json["items"])[0]
    edited = story("edit", "--user", "alice", fact, "Works on Project Eagle", "--json").json
    assert edited["version"] == 2
    shown = story("show", "--user", "alice", fact, "--json").json
    assert shown.keys() == MEMORY | {"history", "relations"}
    assert [r["text"] for r in shown["history"]] == ["Works on Project Falcon"]
    assert shown["relations"][0]["target"] == "Project Falcon"
    words = story("show", "--user", "alice", fact).out
    assert "was    Works on Project Falcon" in words
    assert "from   agent coder" in words
    assert story("show", "--user", "alice", "--agent", "helper", fact).code == 0


def test_edit_pins_and_weighs(cli: Cli) -> None:
    memory = cli("remember", "Likes tea", "--json").json["id"]
    assert cli("edit", memory, "--pin", "--json").json["pinned"] is True
    assert cli("edit", memory, "--no-pin", "--json").json["pinned"] is False
    assert cli("edit", memory, "--importance", "0.9", "--json").json["importance"] == 0.9
    assert cli("edit", memory).code == 2


def test_forget_asks_first_and_refuses_where_nobody_can_answer(story: Cli) -> None:
    one = ids(story("list", "--user", "alice", "--json").json["items"])[0]
    refused = story("forget", "--user", "alice", one)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert story("forget", "--user", "alice", one, "--yes", "--json").json == gone(1)
    assert story("forget", "--user", "alice", one, "--yes", "--json").json == gone(0)


def test_forget_by_condition(story: Cli) -> None:
    assert story("forget", "--user", "alice", "--yes").code == 2
    assert story("forget", "m_1", "--all", "--yes").code == 2
    agent = story("forget", "--user", "alice", "--agent", "coder", "--yes", "--json").json
    assert agent == gone(1)
    story("remember", "--user", "alice", "Heard in a thread", "--thread", "t1")
    thread = story("forget", "--user", "alice", "--thread", "t1", "--yes", "--json").json
    assert thread == gone(1)
    before = story("forget", "--user", "alice", "--before", "2020-01-01", "--yes", "--json").json
    assert before == gone(0)
    assert story("forget", "--user", "alice", "--before", "soon", "--yes").code == 2
    everything = story("forget", "--user", "alice", "--all", "--yes", "--json").json
    assert everything == gone(1)


def test_forgetting_a_documented_fact_shows_what_it_touches(story: Cli) -> None:
    platform = ("--namespace", "platform")
    fact = ids(story("list", *platform, "--json").json["items"])[1]
    refused = story("forget", *platform, fact)
    assert refused.code == 2
    assert "1 fact, 1 relations, 1 entities (service mesh)" in refused.err
    done = story("forget", *platform, fact, "--yes", "--json").json
    assert done["forgotten"] == 1
    assert done["impact"][0]["entities"] == ["service mesh"]
    assert story("forget", *platform, "--all", "--yes").code == 2


def test_erase_prints_a_receipt(story: Cli) -> None:
    assert story("erase", "--user", "alice").code == 2
    receipt = story("erase", "--user", "alice", "--yes", "--json").json
    assert receipt.keys() == {
        "subject", "erased_at", "clean", "removed", "remaining", "outside", "pending",
        "log_cleared",
    }  # fmt: skip
    assert receipt["clean"] is True
    assert receipt["removed"]["memories"] == 2
    assert "alice" not in str(receipt)
    assert story("list", "--user", "alice", "--json").json["items"] == []
    story("remember", "--user", "bob", "Likes tea")
    words = story("erase", "--user", "bob", "--yes").out
    assert "nothing remains" in words


def test_stats_count_one_scope_or_the_file(story: Cli) -> None:
    mine = story("stats", "--user", "alice", "--json").json
    assert mine["counts"]["memories"] == 2
    assert mine["backlog"].keys() == {
        "waiting", "leased", "parked", "oldest", "oldest_leased", "oldest_parked",
    }  # fmt: skip
    assert (mine["backlog"]["leased"], mine["backlog"]["parked"]) == (0, 0)
    assert mine["memories"] == [
        {"of": "user", "kind": "preference", "status": "active", "count": 1},
        {"of": "user", "kind": "fact", "status": "active", "count": 1},
    ]
    assert mine["partitions"] == {"count": 2, "largest": 1}
    assert mine["bytes"].keys() == {"texts", "index"}, "the file's size tells of others"
    platform = story("stats", "--namespace", "platform", "--json").json
    assert platform["counts"]["memories"] == 2
    whole = story("stats", "--everything", "--json").json
    assert whole["scope"] is None
    assert whole["counts"]["memories"] == 4
    assert whole["bytes"]["file"] > whole["bytes"]["free"] >= 0
    assert "alice" not in str(whole), "numbers only"
    assert "memories\t2" in story("stats", "--user", "alice").out


def test_stats_probe_how_long_a_recall_takes(story: Cli) -> None:
    told = story("stats", "--user", "alice", "--agent", "coder", "--probe", "5", "--json").json[
        "probe"
    ]
    assert (told["recalls"], told["degraded"]) == (5, 0)
    assert told["visible"] == 4
    assert {"total", "embed", "search", "walk"} <= told["ms"].keys()
    total = told["ms"]["total"]
    assert 0 < total["p50"] <= total["p95"] <= total["max"]
    listed = story("list", "--user", "alice", "--json").json["items"]
    assert all(item["recalls"] == 0 for item in listed), "a probe is no recall"
    assert "5 recalls among 3 memories" in story("stats", "--user", "alice", "--probe", "5").out
    for many in ("0", "1001"):
        assert story("stats", "--user", "alice", "--probe", many).code == 2


def test_review_lists_approves_and_rejects(cli: Cli) -> None:
    """Promise 10: what waits for a person is seen, and decided on."""
    proposed = (
        '{"text": "Likes tea", "status": "proposed"}\n{"text": "Likes rum", "status": "proposed"}'
    )
    assert cli("import", "-", stdin=proposed.encode()).code == 0
    waiting = cli("review", "list", "--json").json["items"]
    rum, tea = ids(sorted(waiting, key=lambda item: item["text"]))
    assert cli("recall", "tea", "--json").json["items"] == []
    assert cli("review", "approve", tea, "--json").json["status"] == "active"
    assert cli("review", "reject", rum, "--json").json["status"] == "rejected"
    assert cli("review", "list", "--json").json == {"items": [], "cursor": None}
    assert cli("review", "approve", rum).code == 5
    assert [item["id"] for item in cli("recall", "tea", "--json").json["items"]] == [tea]


def test_reindex_is_quick_when_there_is_nothing_to_do(story: Cli) -> None:
    assert story("reindex", "--json").json == {"indexed": 0, "left": 0}


def test_an_expiry_is_set_seen_and_taken_back(cli: Cli) -> None:
    memory = cli("remember", "Has diabetes", "--expires", "2999-01-01", "--json").json["id"]
    shown = cli("show", memory).out
    assert "expires 2999-01-01" in shown
    assert "sensitivity special" in shown
    ended = cli("edit", memory, "--expires", "2020-01-01", "--json").json
    assert ended["expires_at"].startswith("2020-01-01")
    assert cli("recall", "Who has diabetes?", "--json").json["items"] == []
    assert cli("edit", memory, "--expires", "soon").code == 2
    assert cli("edit", memory, "--expires", "never", "--json").json["expires_at"] is None
    assert cli("recall", "Who has diabetes?", "--json").json["items"] != []


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_every_question_has_an_answer(question: str, story: Cli) -> None:
    """Of any length and script, on the command line too; a terminal gets no control characters."""
    given = question.encode("utf-8", "surrogatepass")
    ended = story("recall", "--user", "alice", "-", "--explain", stdin=given)
    assert ended.code == 0
    assert not any(ord(c) < 32 and c not in "\n\t" for c in ended.out)
