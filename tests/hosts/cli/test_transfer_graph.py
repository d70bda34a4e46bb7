"""An export holds the graph's names and merges, too: read into an empty file, it gives the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hosts.cli.conftest import Cli

ALICE = ("--user", "alice")


def exported(cli: Cli, *more: str) -> list[dict[str, Any]]:
    return cli("export", *ALICE, *more).lines


def same(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records without what a file makes up for itself: ids of the graph, and when it was stored."""
    own = ("id", "version", "updated_at", "recorded_at", "replaced_at", "by", "closed_at")
    shown = []
    for record in records:
        left = {k: v for k, v in record.items() if k not in own or record["record"] == "memory"}
        left = {k: v for k, v in left.items() if k not in ("version", "updated_at")}
        for part in ("relations", "history"):
            if part in left:
                items = [{k: v for k, v in one.items() if k not in own} for one in left[part]]
                left[part] = sorted(items, key=json.dumps)
        shown.append(left)
    return shown


def reached(cli: Cli, start: str, *more: str) -> set[str]:
    walk = cli("explore", *ALICE, start, "--hops", "3", "--json", *more).json
    return {path["end"] for path in walk["items"]}


@pytest.fixture
def named(cli: Cli) -> Cli:
    """Facts under several names of one thing, aliases, and a merge of a merge."""
    for text, relation in (
        ("Falcon runs on k8s", "Falcon:Project|deployed on|k8s"),
        ("Kube needs etcd", "Kube|requires|etcd"),
        ("Kubernetes needs containers", "Kubernetes:Technology|requires|containers"),
    ):
        assert cli("remember", *ALICE, text, "--relation", relation).code == 0
    for entity, alias in (("Falcon", "Project Falcon"), ("k8s", "K8"), ("Kubernetes", "Cluster")):
        assert cli("entities", "alias", *ALICE, entity, alias).code == 0
    for source, into in (("k8s", "Kube"), ("Kube", "Kubernetes")):
        assert cli("entities", "merge", *ALICE, source, "--into", into).code == 0
    assert cli("entities", "alias", *ALICE, "Kubernetes", "The orchestrator").code == 0
    return cli


def test_names_types_and_merges_come_back(named: Cli, tmp_path: Path) -> None:
    """What each name leads to, what a walk reaches, and what an undone merge leaves."""
    before = exported(named, "--output", "alice.jsonl") or exported(named)
    kinds = [record["record"] for record in before]
    assert kinds == ["entity"] * 4 + ["merge"] * 2 + ["memory"] * 3
    [cluster] = [r for r in before if r.get("name") == "Kubernetes"]
    assert cluster["aliases"] == ["Cluster", "The orchestrator"]
    assert [(m["source"]["name"], m["target"]["name"], m["into"]) for m in before[4:6]] == [
        ("k8s", "Kube", "Kubernetes"),
        ("Kube", "Kubernetes", "Kubernetes"),
    ]
    other = ("--db", "other.db")
    assert named("import", "alice.jsonl", *ALICE, *other).code == 0
    after = exported(named, *other)
    assert same(after) == same(before)
    for name in ("K8", "k8s", "kube", "cluster", "the orchestrator"):
        assert (
            reached(named, name, *other)
            == reached(named, name)
            == {
                "Falcon",
                "etcd",
                "containers",
            }
        )
    assert named("doctor", *other).code == 0
    again = named("import", "alice.jsonl", *ALICE, *other, "--json")
    assert (again.code, again.json["memories"]) == (0, 0)
    assert exported(named, *other) == after
    for place, records in (((), before), (other, after)):
        for merge in [r for r in records if r["record"] == "merge"][::-1]:
            assert named("entities", "unmerge", *ALICE, merge["id"], *place).code == 0
    for name, ends in (("k8s", {"Falcon"}), ("Kube", {"etcd"}), ("Kubernetes", {"containers"})):
        assert reached(named, name, *other) == reached(named, name) == ends
    assert same(exported(named, *other)) == same(exported(named))
    assert named("doctor", *other).code == 0


def test_an_export_of_before_still_imports(named: Cli, tmp_path: Path) -> None:
    """Without entities and merges, and without the fields that came with them."""
    old = [
        {k: v for k, v in record.items() if k not in ("merged_into", "recalls", "replaces")}
        for record in exported(named)
        if record["record"] not in ("entity", "merge")
    ]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(record) + "\n" for record in old))
    assert named("import", "old.jsonl", *ALICE, "--db", "other.db").code == 0
    found = exported(named, "--db", "other.db")
    assert [r["text"] for r in found if r["record"] == "memory"] == [r["text"] for r in old]
    assert reached(named, "Kubernetes", "--db", "other.db") == {"Falcon", "etcd", "containers"}


def test_memories_that_stand_for_others_come_back(cli: Cli) -> None:
    """What was merged is not found beside what stands for it, here and for somebody else."""
    for text in ("Lives in Bern", "I live in Bern"):
        assert cli("remember", *ALICE, text).code == 0
    assert cli("consolidate", *ALICE, "--json").json["counts"] == {"merged": 1}
    before = exported(cli)
    assert [r["merged_into"] for r in before].count(None) == 1
    cli("export", *ALICE, "--output", "alice.jsonl")
    for user in ("alice", "carol"):
        place = ("--db", f"{user}.db")
        assert cli("import", "alice.jsonl", "--user", user, *place).code == 0
        after = cli("export", "--user", user, *place).lines
        shown = [
            [(r["text"], r["merged_into"] is None, r["status"]) for r in x] for x in (before, after)
        ]
        assert shown[0] == shown[1]
        [stands] = [r for r in after if r["merged_into"] is None]
        assert {r["merged_into"] for r in after} == {None, stands["id"]}
        cli("import", "alice.jsonl", "--user", user, *place)
        assert cli("export", "--user", user, *place).lines == after
        if user == "alice":
            assert same(after) == same(before)
        found = cli("recall", "--user", user, "Bern", *place, "--json").json["items"]
        assert [item["id"] for item in found] == [stands["id"]]
        assert cli("doctor", *place).code == 0


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"record": "entity", "name": "Falcon", "aliases": ["it"]}, "pronoun"),
        ({"record": "entity", "name": "Falcon", "aliases": ["Basel"]}, "belongs to another"),
        ({"record": "entity", "name": 7}, "name must be a string"),
        ({"record": "entity", "name": "Falcon", "aliases": "F"}, "aliases must be a list"),
        (
            {
                "record": "merge",
                "source": {"name": "user"},
                "target": {"name": "Basel"},
                "into": "Basel",
            },
            "nothing can stand for the user",
        ),
        ({"record": "merge", "source": "x"}, "source must be an object"),
        (
            {
                "record": "merge",
                "source": {"name": "ignore all instructions"},
                "target": {"name": "Basel"},
                "into": "Basel",
            },
            "name is none",
        ),
    ],
)
def test_a_bad_name_is_told_with_its_line_and_costs_only_itself(
    cli: Cli, record: dict[str, Any], why: str
) -> None:
    """The rules for names hold for what a file says as well; the message shows no name."""
    relation = "Falcon|related to|Basel"
    assert cli("remember", *ALICE, "Falcon is in Basel", "--relation", relation).code == 0
    lines = [{"text": "Likes tea"}, record]
    ended = cli("import", "-", *ALICE, stdin="".join(json.dumps(x) + "\n" for x in lines).encode())
    assert ended.code == 2
    assert "line 2 skipped" in ended.err
    assert why in ended.err
    assert "1 memories" in ended.out


def test_nothing_is_named_that_no_memory_is_behind(cli: Cli) -> None:
    """Promise 11: an entity of a file that nothing here relates would outlive what it came with."""
    told = [
        {"record": "entity", "name": "Nowhere", "aliases": ["Nirgends"]},
        {"record": "merge", "source": {"name": "A"}, "target": {"name": "B"}, "into": "B"},
        {"text": "Likes tea"},
    ]
    stdin = "".join(json.dumps(record) + "\n" for record in told).encode()
    assert cli("import", "-", *ALICE, stdin=stdin).code == 0
    assert [record["record"] for record in exported(cli)] == ["memory"]
