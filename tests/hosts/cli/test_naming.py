"""Names in a person's hands: aliases, merges, and taking them back."""

import pytest

from tests.hosts.cli.conftest import Cli

HERE = ("--namespace", "platform")


@pytest.fixture
def clusters(cli: Cli) -> Cli:
    """Two facts that belong together, under two names of one thing."""
    for text, relation in (
        ("Falcon runs on Kubernetes", "Falcon|deployed on|Kubernetes"),
        ("k8s needs etcd", "k8s|requires|etcd"),
    ):
        assert cli("document", *HERE, text, "--relation", relation).code == 0
    return cli


def reached(cli: Cli, start: str) -> set[str]:
    """The ends of all walks from an entity."""
    walk = cli("explore", *HERE, start, "--hops", "3", "--json").json
    return {path["end"] for path in walk["items"]}


def test_a_merge_joins_two_walks_and_can_be_taken_back(clusters: Cli) -> None:
    assert reached(clusters, "Falcon") == {"Kubernetes"}
    merged = clusters("entities", "merge", *HERE, "k8s", "--into", "Kubernetes", "--json").json
    assert reached(clusters, "Falcon") == {"Kubernetes", "etcd"}
    listed = clusters("entities", "merges", *HERE, "--json").json["items"]
    assert [(one["id"], one["source"], one["target"]) for one in listed] == [
        (merged["id"], "k8s", "Kubernetes")
    ]
    assert merged["id"] in clusters("entities", *HERE).out
    undone = clusters("entities", "unmerge", *HERE, merged["id"], "--json").json
    assert undone["id"] == merged["id"]
    assert clusters("entities", *HERE, "--json").json["items"] == []
    assert reached(clusters, "Falcon") == {"Kubernetes"}


def test_an_alias_leads_to_the_same_entity(clusters: Cli) -> None:
    named = clusters("entities", "alias", *HERE, "Falcon", "Project Falcon", "--json").json
    assert (named["name"], named["aliases"]) == ("Falcon", ["Project Falcon"])
    assert reached(clusters, "Project Falcon") == {"Kubernetes"}


def test_a_name_that_is_taken_and_a_merge_that_is_not_there_are_said_plainly(
    clusters: Cli,
) -> None:
    assert clusters("entities", "alias", *HERE, "Falcon", "etcd").code == 5
    assert clusters("entities", "unmerge", *HERE, "g_nothing").code == 3
    elsewhere = clusters("entities", "merge", "--namespace", "sales", "k8s", "--into", "Kubernetes")
    assert elsewhere.code == 3
    assert "etcd" not in elsewhere.err
