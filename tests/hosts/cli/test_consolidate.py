"""`ricordo consolidate` and `ricordo review merges`, as a person or a program uses them."""

from ricordo.hosts.cli.exits import USAGE
from tests.hosts.cli.conftest import Cli


def fill(cli: Cli, user: str = "alice") -> None:
    assert cli("init").code == 0
    for text in ("Lives in Bern", "I live in Bern"):
        assert cli("remember", "--user", user, text).code == 0


def test_a_pass_its_rehearsal_and_its_undoing(cli: Cli) -> None:
    """Dry run, report, undo, all with stable fields."""
    fill(cli)
    tried = cli("consolidate", "--user", "alice", "--dry-run", "--json").json
    assert (tried["dry_run"], tried["pass_id"], tried["counts"]) == (True, None, {"merged": 1})
    done = cli("consolidate", "--user", "alice", "--json").json
    assert done["counts"] == {"merged": 1}
    [change] = done["changes"]
    assert change["act"] == "merged"
    assert {change["memory_id"], change["other_id"]} == {
        one["id"] for one in cli("list", "--user", "alice", "--json").json["items"]
    }
    [listed] = cli("consolidate", "--user", "alice", "--list", "--json").json["items"]
    assert (listed["id"], listed["by"], listed["undone_at"]) == (done["pass_id"], "alice", None)
    undone = cli("consolidate", "--user", "alice", "--undo", done["pass_id"], "--json")
    assert undone.json == {"pass_id": done["pass_id"], "restored": 2, "kept": 0}
    again = cli("consolidate", "--user", "alice", "--undo", done["pass_id"], "--json")
    assert again.error["type"] == "Conflict"
    other = cli("consolidate", "--user", "bob", "--undo", done["pass_id"], "--json")
    assert other.error["type"] == "NotFound"


def test_for_a_person(cli: Cli) -> None:
    """The table shows the person's own words and how to take it back."""
    fill(cli)
    shown = cli("consolidate", "--user", "alice")
    assert "I live in Bern" in shown.out
    assert "Done: merged 1" in shown.out
    assert "--undo" in shown.err
    assert "nothing" in cli("consolidate", "--user", "alice").out
    assert "alice" in cli("consolidate", "--user", "alice", "--list").out


def test_everyone(cli: Cli) -> None:
    fill(cli)
    fill(cli, "bob")
    lines = cli("consolidate", "--everyone", "--json").lines
    assert {line["user"]: line["counts"] for line in lines} == {
        "alice": {"merged": 1},
        "bob": {"merged": 1},
    }
    assert cli("consolidate", "--everyone", "--list").code != 0
    assert cli("consolidate", "--undo", "x", "--list").code != 0
    assert cli("consolidate", "--nonsense").code == USAGE


def test_merges_are_decided_in_the_review(cli: Cli) -> None:
    assert cli("init").code == 0
    for name in ("k8s", "Kubernetes", "PostgreSQL", "Postgres"):
        relation = f"user|uses|{name}"
        assert cli("remember", "--user", "alice", f"Uses {name}", "--relation", relation).code == 0
    assert "no merge" in cli("review", "merges", "--user", "alice").err
    cli("consolidate", "--user", "alice")
    found = cli("review", "merges", "--user", "alice", "--json").json["items"]
    by_name = {one["source"]: one["id"] for one in found}
    assert set(by_name) == {"k8s", "Postgres"}
    assert "Kubernetes" in cli("review", "merges", "--user", "alice").out
    merged = cli("review", "approve", "--user", "alice", by_name["k8s"], "--json")
    assert merged.json["merge_id"]
    rejected = cli("review", "reject", "--user", "alice", by_name["Postgres"], "--json")
    assert rejected.json["target"] == "PostgreSQL"
    assert cli("review", "merges", "--user", "alice", "--json").json["items"] == []
    assert cli("review", "merges", "--org", "--json").json["items"] == []
