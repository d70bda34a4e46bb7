"""`LocalGraph` over the SQLite ledger keeps the promises of `GraphIndex`."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.adapters.local import LocalGraph
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import SELF, Scope, UserScope
from ricordo.ports import Reading, RowGraph, Walk
from ricordo.testing.graph import (
    ALICE,
    BOB,
    COMMON,
    PLATFORM,
    Edge,
    GraphBench,
    GraphIndexSuite,
    ids,
    reached,
    relate,
)
from ricordo.testing.naive import NOON
from tests.support.engines import runs_on


@pytest.fixture
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphBench]:
    runs_on(request, port="GraphIndex", adapter="local", server="over the SQLite ledger")
    async with SqliteLedger.open(tmp_path / "memory.db", clock=lambda: NOON) as ledger:
        yield GraphBench(ledger=ledger, graph=LocalGraph(ledger))


class TestLocalGraph(GraphIndexSuite):
    """All promises, in process."""


ASKED = (ALICE, PLATFORM, COMMON)
NAMES = (SELF, "A", "B", "C", "D", "E")
ends = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([*ASKED, BOB, ALICE])
)
graphs = st.lists(ends, min_size=1, max_size=14)
orders = st.randoms(use_true_random=False)

Node = tuple[str, Scope | None]


def node(name: str, scope: Scope) -> Node:
    """Names are nodes; the user's own is apart."""
    own = name == SELF and isinstance(scope, UserScope)
    return (name.casefold(), scope if own else None)


def trails(edges: list[Edge], start: Node, hops: int) -> dict[Node, list[list[str]]]:
    """Every shortest way to every node, from the definition: all ways, level by level."""
    found: dict[Node, list[list[str]]] = {start: [[]]}
    level = {start: [list[str]()]}
    for _ in range(hops):
        following: dict[Node, list[list[str]]] = {}
        for here, ways in level.items():
            for edge in edges:
                a, b = node(edge.source, edge.scope), node(edge.target, edge.scope)
                for near, far in {(a, b), (b, a)}:
                    if near == here and far not in found:
                        following.setdefault(far, []).extend([*way, edge.id] for way in ways)
        found |= following
        level = following
    return {far: sorted(ways) for far, ways in found.items() if far != start}


async def _compare(drawn: list[tuple[str, str, Scope]], numbers: list[int], hops: int) -> None:
    edges = [
        Edge(id=f"r{number:02}", source=a, target=b, scope=scope)
        for number, (a, b, scope) in zip(numbers, drawn, strict=True)
    ]
    visible = [edge for edge in edges if edge.scope in ASKED]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        async with SqliteLedger.open(path, clock=lambda: NOON) as ledger:
            await relate(ledger, *edges)
            graph = LocalGraph(ledger)
            for name, scope in ((SELF, ALICE), ("A", COMMON)):
                expected = trails(visible, node(name, scope), hops)
                walk = await graph.walk([name], scopes=ASKED, hops=hops, at=NOON)
                best = sorted((ways[0] for ways in expected.values()), key=lambda w: (len(w), w))
                assert [ids(path) for path in walk.paths] == best
                for goal in ("B", "C"):
                    ways = expected.get(node(goal, COMMON), [])
                    found = await graph.paths(name, goal, scopes=ASKED, hops=hops, at=NOON)
                    assert [ids(path) for path in found.paths] == ways[:5]
                    assert found.capped == (len(ways) > 5)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 5), orders)
def test_any_graph_is_walked_as_defined(
    drawn: list[tuple[str, str, Scope]], hops: int, order
) -> None:
    """Promises 1 and 2 of the port, against the plainest search there is."""
    numbers = list(range(len(drawn)))
    order.shuffle(numbers)
    asyncio.run(_compare(drawn, numbers, hops))


async def test_what_is_asked_in_between_changes_nothing(bench: GraphBench) -> None:
    """Walks that run side by side do not disturb one another."""
    await relate(bench.ledger, *(Edge(id=f"r{i}", source="A", target=f"B{i}") for i in range(9)))
    walks = await asyncio.gather(
        *(bench.graph.walk(["A"], scopes=[ALICE], hops=2, at=NOON) for _ in range(12))
    )
    assert all(reached(walk) == reached(walks[0]) for walk in walks)


async def test_a_walk_in_a_reading_of_the_callers_is_the_same(bench: GraphBench) -> None:
    """`RowGraph`: what that reading sees, however much of it the caller reads beside."""
    await relate(
        bench.ledger,
        Edge(id="r1", source="A", target="B"),
        Edge(id="r2", source="b", target="C", scope=PLATFORM),
    )
    graph, scopes = bench.graph, [ALICE, PLATFORM]
    assert isinstance(graph, RowGraph)

    async def look(tx: Reading) -> Walk:
        await tx.partitions(scope=ALICE)
        return await graph.walk_on(tx, ["A"], scopes=scopes, hops=2, at=NOON)

    walk = await bench.ledger.read(look, scopes=scopes)
    assert len(walk.paths) == 2
    assert walk == await graph.walk(["A"], scopes=scopes, hops=2, at=NOON)
