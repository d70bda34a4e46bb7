"""Conformance of graph views: one sealed suite; a backend adds only the fixture `bench`."""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import pytest

from ricordo.errors import Invalid
from ricordo.ports import Edge, GraphView, Node
from ricordo.testing.sealed import Sealed

FIRST, LAST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphViewBench:
    """What a backend brings.

    Args:
        view: open and empty.
        again: the same build, opened once more after `view` was closed.
        other: another build in the same engine, open and empty.
    """

    view: GraphView
    again: Callable[[], Awaitable[GraphView]]
    other: Callable[[], Awaitable[GraphView]]


def key(name: str) -> str:
    """A keyed hash, as views know scopes and names."""
    return hashlib.sha256(name.encode()).hexdigest()


ALICE, ACME, BOB = key("alice"), key("acme"), key("bob")


def node(id_: str, *names: str, version: str = "1") -> Node:
    """An entity of these names."""
    return Node(id=id_, keys=tuple(map(key, names or (id_,))), version=version)


def edge(
    id_: str, source: str, target: str, *, since: int = FIRST, until: int = LAST, version: str = "1"
) -> Edge:
    """A relation between two entities."""
    return Edge(
        id=id_,
        source=source,
        target=target,
        type="uses",
        since=since,
        until=until,
        version=version,
    )


class GraphViewSuite(Sealed):
    """The promises of `ricordo.ports.View` and `GraphView`, by number."""

    async def test_names_find_entities_of_the_asked_scopes(self, bench: GraphViewBench) -> None:
        """5 and promise 1: by any name, and nowhere else."""
        await bench.view.upsert([node("a", "kubernetes", "k8s"), node("b")], [], scope=ALICE)
        await bench.view.upsert([node("a", "k8s")], [], scope=ACME)
        await bench.view.upsert([node("x", "k8s")], [], scope=BOB)
        keys = [key("k8s"), key("nothing")]
        found = await bench.view.named(keys, scopes=[ALICE, ACME])
        assert sorted(found) == sorted([((ALICE, "a"), key("k8s")), ((ACME, "a"), key("k8s"))])
        assert await bench.view.named([key("kubernetes")], scopes=[ACME]) == []

    async def test_relations_are_met_from_both_ends_in_order(self, bench: GraphViewBench) -> None:
        """5: by entity, then by id, each with its direction; the limit is told."""
        nodes = [node(one) for one in "abc"]
        edges = [edge("r2", "a", "b"), edge("r1", "c", "a"), edge("r3", "b", "b")]
        await bench.view.upsert(nodes, edges, scope=ALICE)
        places = [(ALICE, "b"), (ALICE, "a")]
        met, whole = await bench.view.edges(places, at=0, limit=9)
        assert met == [
            ((ALICE, "b"), "r2", "a", False),
            ((ALICE, "b"), "r3", "b", False),
            ((ALICE, "b"), "r3", "b", True),
            ((ALICE, "a"), "r1", "c", False),
            ((ALICE, "a"), "r2", "b", True),
        ]
        assert whole
        some, whole = await bench.view.edges(places, at=0, limit=3)
        assert (some, whole) == (met[:3], False)

    async def test_only_what_holds_then_is_met(self, bench: GraphViewBench) -> None:
        """5 and promise 12: from its start until before its end."""
        edges = [
            edge("past", "a", "b", until=10),
            edge("now", "a", "b", since=10, until=20),
            edge("ever", "a", "b"),
        ]
        await bench.view.upsert([node("a"), node("b")], edges, scope=ALICE)
        for at, ids in ((9, {"past", "ever"}), (10, {"now", "ever"}), (20, {"ever"})):
            met, _ = await bench.view.edges([(ALICE, "a")], at=at, limit=9)
            assert {id_ for _, id_, _, _ in met} == ids

    async def test_ids_are_a_scopes_own(self, bench: GraphViewBench) -> None:
        """4 and promise 1: the same ids in two scopes are two entities and two relations."""
        for scope in (ALICE, BOB):
            await bench.view.upsert([node("a"), node("b")], [edge("r", "a", "b")], scope=scope)
        await bench.view.remove(["b"], ["r"], scope=ALICE)
        assert (await bench.view.edges([(ALICE, "a")], at=0, limit=9))[0] == []
        met, _ = await bench.view.edges([(BOB, "a")], at=0, limit=9)
        assert met == [((BOB, "a"), "r", "b", True)]
        assert set(await bench.view.inventory(ALICE)) == {"n:a"}
        assert set(await bench.view.inventory(BOB)) == {"n:a", "n:b", "e:r"}

    async def test_twins_share_a_name(self, bench: GraphViewBench) -> None:
        """5: with the key of each name, of the asked scopes only."""
        await bench.view.upsert([node("a", "x", "y"), node("b", "z")], [], scope=ALICE)
        await bench.view.upsert([node("c", "y"), node("d", "x")], [], scope=ACME)
        await bench.view.upsert([node("e", "x")], [], scope=BOB)
        found = await bench.view.twins([(ALICE, "a"), (ALICE, "b")], scopes=[ALICE, ACME])
        assert sorted(found) == sorted(
            [
                ((ALICE, "a"), (ACME, "c"), key("y")),
                ((ALICE, "a"), (ACME, "d"), key("x")),
            ]
        )

    async def test_putting_again_replaces(self, bench: GraphViewBench) -> None:
        """1: twice is once; old names find nothing, a moved relation is at its new ends."""
        nodes = [node("a", "old", "x"), node("b"), node("c")]
        await bench.view.upsert(nodes, [edge("r", "a", "b")], scope=ALICE)
        for _ in range(2):
            moved = edge("r", "a", "c", version="2")
            await bench.view.upsert([node("a", "new", "x", version="2")], [moved], scope=ALICE)
        assert await bench.view.named([key("old")], scopes=[ALICE]) == []
        assert await bench.view.named([key("new")], scopes=[ALICE]) == [((ALICE, "a"), key("new"))]
        met, _ = await bench.view.edges([(ALICE, "a"), (ALICE, "b")], at=0, limit=9)
        assert met == [((ALICE, "a"), "r", "c", True)]
        inventory = await bench.view.inventory(ALICE)
        assert dict(inventory) == {"n:a": "2", "n:b": "1", "n:c": "1", "e:r": "2"}

    async def test_a_name_moves_to_another_entity(self, bench: GraphViewBench) -> None:
        """1: as when one entity is merged into another, in whichever order they come."""
        await bench.view.upsert([node("a", "x"), node("b", "y")], [], scope=ALICE)
        await bench.view.upsert([node("b", "x", "y")], [], scope=ALICE)
        await bench.view.remove(["a"], [], scope=ALICE)
        found = await bench.view.named([key("x"), key("y")], scopes=[ALICE])
        assert sorted(found) == sorted([((ALICE, "b"), key("x")), ((ALICE, "b"), key("y"))])

    async def test_what_was_removed_is_nowhere(self, bench: GraphViewBench) -> None:
        """3 and promise 11: with its names and relations; removing it twice is no error."""
        await bench.view.upsert([node("a", "x"), node("b")], [edge("r", "a", "b")], scope=ALICE)
        for _ in range(2):
            await bench.view.remove(["a", "0"], ["0"], scope=ALICE)
        assert set(await bench.view.inventory(ALICE)) == {"n:b"}
        assert await bench.view.named([key("x")], scopes=[ALICE]) == []
        assert (await bench.view.edges([(ALICE, "b")], at=0, limit=9))[0] == []

    async def test_dropping_a_scope_leaves_the_others(self, bench: GraphViewBench) -> None:
        """3 and 4: names as well."""
        for scope in (ALICE, BOB):
            await bench.view.upsert([node("a"), node("b")], [edge("r", "a", "b")], scope=scope)
        assert await bench.view.scopes() == {ALICE, BOB}
        await bench.view.drop(ALICE)
        await bench.view.drop(ALICE)
        assert await bench.view.scopes() == {BOB}
        assert dict(await bench.view.inventory(ALICE)) == {}
        assert await bench.view.named([key("a")], scopes=[ALICE, BOB]) == [((BOB, "a"), key("a"))]

    @pytest.mark.parametrize("name", ["*", "", "a'}) DETACH DELETE n //", "A" * 64])
    async def test_no_pattern_is_ever_asked_for(self, bench: GraphViewBench, name: str) -> None:
        """4 and promise 1: what is no keyed hash is refused before an engine sees it."""
        calls: Sequence[Callable[[], Awaitable[object]]] = (
            lambda: bench.view.drop(name),
            lambda: bench.view.inventory(name),
            lambda: bench.view.remove(["a"], ["r"], scope=name),
            lambda: bench.view.upsert([node("a")], [], scope=name),
            lambda: bench.view.named([key("a")], scopes=[name]),
            lambda: bench.view.named([name], scopes=[ALICE]),
            lambda: bench.view.edges([(name, "a")], at=0, limit=9),
            lambda: bench.view.twins([(ALICE, "a")], scopes=[name]),
        )
        for call in calls:
            with pytest.raises(Invalid):
                await call()

    async def test_odd_ids_are_only_ids(self, bench: GraphViewBench) -> None:
        """4: an id is compared exactly, whatever is in it."""
        ids = ["*", "m'1", 'm"1', "m\\1", "日本", "$scope", "a/b", "}) DELETE n"]
        nodes = [node(one, f"name {number}") for number, one in enumerate(ids)]
        edges = [edge(one, one, "*") for one in ids[1:]]
        await bench.view.upsert(nodes, edges, scope=ALICE)
        met, _ = await bench.view.edges([(ALICE, "*")], at=0, limit=99)
        assert [id_ for _, id_, _, _ in met] == sorted(ids[1:])
        await bench.view.remove(["*"], [], scope=ALICE)
        assert set(await bench.view.inventory(ALICE)) == {f"n:{one}" for one in ids[1:]}

    async def test_it_is_kept(self, bench: GraphViewBench) -> None:
        """1: what was acknowledged is there when the view is opened again."""
        await bench.view.upsert([node("a"), node("b")], [edge("r", "a", "b")], scope=ALICE)
        await bench.view.close()
        again = await bench.again()
        assert set(await again.inventory(ALICE)) == {"n:a", "n:b", "e:r"}

    async def test_builds_are_apart(self, bench: GraphViewBench) -> None:
        """A new build is filled beside the one that serves, and goes without a trace."""
        other = await bench.other()
        await bench.view.upsert([node("a")], [], scope=ALICE)
        await other.upsert([node("b")], [], scope=ALICE)
        assert set(await bench.view.inventory(ALICE)) == {"n:a"}
        await other.destroy()
        await other.close()
        assert set(await bench.view.inventory(ALICE)) == {"n:a"}
        assert await (await bench.other()).scopes() == set()
