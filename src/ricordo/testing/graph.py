"""Conformance of graph indexes: one sealed suite; a backend adds only the fixture `bench`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ricordo.model import (
    SELF,
    Entity,
    Kind,
    Memory,
    OrganizationScope,
    Path,
    Relation,
    Scope,
    UserScope,
    name_key,
)
from ricordo.ports import GraphIndex, Ledger, Walk, Writing
from ricordo.testing.naive import NOON
from ricordo.testing.sealed import Sealed

ALICE = UserScope(tenant="acme", user="alice")
BOB = UserScope(tenant="acme", user="bob")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")
COMMON = OrganizationScope(tenant="acme")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphBench:
    """What a backend brings.

    Args:
        ledger: empty; relations are written to it.
        graph: the index under test over `ledger`.
    """

    ledger: Ledger
    graph: GraphIndex


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A relation to be written; the names are entities of its scope."""

    id: str
    source: str
    target: str
    scope: Scope = ALICE
    type: str = "uses"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    closed_at: datetime | None = None


def entity_id(name: str, scope: Scope) -> str:
    """The id that `relate` gives to an entity."""
    return f"e/{scope}/{name_key(name)}"


async def relate(ledger: Ledger, *edges: Edge) -> None:
    """Write relations, each with its own evidence, creating their entities."""
    for scope in dict.fromkeys(edge.scope for edge in edges):
        mine = [edge for edge in edges if edge.scope == scope]

        async def work(tx: Writing, mine: Sequence[Edge] = mine, scope: Scope = scope) -> None:
            names = {name_key(n): n for edge in mine for n in (edge.source, edge.target)}
            known = await tx.entities(list(names), scope=scope)
            for key, name in names.items():
                if key not in known:
                    await tx.put_entity(_entity(name, scope))
            for edge in mine:
                await _put(tx, edge)

        await ledger.write(work, scope=scope)


def _entity(name: str, scope: Scope, *, aliases: tuple[str, ...] = ()) -> Entity:
    return Entity(
        id=entity_id(name, scope),
        scope=scope,
        name=name,
        type="thing",
        recorded_at=NOON,
        aliases=aliases,
    )


async def _put(tx: Writing, edge: Edge) -> None:
    found = await tx.entities([name_key(edge.source), name_key(edge.target)], scope=edge.scope)
    source, target = found[name_key(edge.source)], found[name_key(edge.target)]
    memory = Memory(
        id=f"m_{edge.id}",
        scope=edge.scope,
        kind=Kind.FACT,
        text=f"evidence of {edge.id}",
        recorded_at=NOON,
        updated_at=NOON,
    )
    await tx.put(memory, indexed=None, space=None)
    await tx.put_relation(
        Relation(
            id=edge.id,
            scope=edge.scope,
            source=source.id,
            target=target.id,
            source_name=source.name,
            target_name=target.name,
            type=edge.type,
            recorded_at=NOON,
            evidence=(memory.id,),
            valid_from=edge.valid_from,
            valid_until=edge.valid_until,
            closed_at=edge.closed_at,
        )
    )


def ids(path: Path) -> list[str]:
    """The relations of a path, in order."""
    return [step.relation_id for step in path.steps]


def reached(walk: Walk) -> dict[str, list[str]]:
    """Where a walk went, and by which relations."""
    return {name_key(path.end): ids(path) for path in walk.paths}


class GraphIndexSuite(Sealed):
    """The promises of `ricordo.ports.GraphIndex`, by number."""

    async def test_a_walk_goes_from_the_user_into_the_organization_and_back(
        self, bench: GraphBench
    ) -> None:
        """1: graphs of several scopes are joined by name; each step tells whose graph it is in."""
        await relate(
            bench.ledger,
            Edge(id="r1", source=SELF, target="Project Falcon", type="works_on"),
            Edge(id="r2", source="project  FALCON", target="Microservices", scope=PLATFORM),
            Edge(id="r3", source="microservices", target="Service mesh", scope=COMMON),
            Edge(id="r4", source="Anna", target="service mesh", type="knows"),
        )
        walk = await bench.graph.walk([SELF], scopes=[ALICE, PLATFORM, COMMON], hops=4, at=NOON)
        assert reached(walk) == {
            "project falcon": ["r1"],
            "microservices": ["r1", "r2"],
            "service mesh": ["r1", "r2", "r3"],
            "anna": ["r1", "r2", "r3", "r4"],
        }
        last = walk.paths[-1]
        assert [step.scope for step in last.steps] == [ALICE, PLATFORM, COMMON, ALICE]
        assert [step.forward for step in last.steps] == [True, True, True, False]
        assert [step.evidence for step in last.steps] == [(f"m_r{i}",) for i in range(1, 5)]
        assert (last.start, last.end, walk.capped) == (SELF, "Anna", False)

    async def test_only_asked_scopes_are_walked(self, bench: GraphBench) -> None:
        """1 and promise 1: another scope's relations change nothing."""
        await relate(bench.ledger, Edge(id="r5", source="Falcon", target="Mesh"))
        before = await bench.graph.walk(["Falcon"], scopes=[ALICE, COMMON], hops=3, at=NOON)
        await relate(
            bench.ledger,
            Edge(id="r1", source="Falcon", target="Secret", scope=PLATFORM),
            Edge(id="r2", source="Mesh", target="Falcon", scope=BOB),
        )
        after = await bench.graph.walk(["Falcon"], scopes=[ALICE, COMMON], hops=3, at=NOON)
        assert after == before
        assert reached(after) == {"mesh": ["r5"]}

    async def test_the_user_is_nobody_elses_entity(self, bench: GraphBench) -> None:
        """1: the user's own entity never becomes an organization's entity of the same name."""
        await relate(
            bench.ledger,
            Edge(id="r1", source=SELF, target="Falcon"),
            Edge(id="r2", source="User", target="Password policy", scope=PLATFORM),
            Edge(id="r3", source="Falcon", target="USER", scope=PLATFORM),
            Edge(id="r4", source=SELF, target="Owl", scope=BOB),
            Edge(id="r5", source="user", target="Handbook", scope=COMMON),
        )
        everyone = [ALICE, PLATFORM, COMMON]
        walk = await bench.graph.walk([SELF], scopes=everyone, hops=1, at=NOON)
        assert reached(walk) == {"falcon": ["r1"]}
        further = await bench.graph.walk([SELF], scopes=everyone, hops=3, at=NOON)
        assert ["r1", "r3", "r2"] in [ids(path) for path in further.paths]
        # Between organizations it is a name like any other.
        public = await bench.graph.walk(["user"], scopes=everyone[1:], hops=1, at=NOON)
        assert reached(public) == {"password policy": ["r2"], "falcon": ["r3"], "handbook": ["r5"]}
        assert not (await bench.graph.paths(SELF, "Owl", scopes=everyone, hops=5, at=NOON)).paths

    async def test_aliases_and_merges_join_scopes(self, bench: GraphBench) -> None:
        """1: an entity is joined by any of its names, those that came from a merge included."""
        await relate(
            bench.ledger,
            Edge(id="r1", source=SELF, target="Kubernetes", type="knows"),
            Edge(id="r2", source=SELF, target="Kube"),
            Edge(id="r3", source="k8s", target="etcd", scope=PLATFORM),
            Edge(id="r4", source="kube", target="Helm", scope=COMMON),
        )

        async def name(tx: Writing) -> None:
            await tx.put_entity(_entity("Kubernetes", ALICE, aliases=("K8S",)))
            ends = (entity_id("Kube", ALICE), entity_id("Kubernetes", ALICE))
            await tx.merge_entities(*ends, at=NOON, scope=ALICE)

        await bench.ledger.write(name, scope=ALICE)
        walk = await bench.graph.walk([SELF], scopes=[ALICE, PLATFORM, COMMON], hops=2, at=NOON)
        assert reached(walk) == {
            "kubernetes": ["r1"],
            "etcd": ["r1", "r3"],
            "helm": ["r1", "r4"],
        }
        named = await bench.graph.walk(["Kube"], scopes=[ALICE, PLATFORM], hops=1, at=NOON)
        assert reached(named) == {SELF: ["r1"], "etcd": ["r3"]}

    async def test_only_what_holds_then_is_walked(self, bench: GraphBench) -> None:
        """1 and promise 12: relations hold from their start until before their end."""
        hour = timedelta(hours=1)
        await relate(
            bench.ledger,
            Edge(id="r1", source="A", target="Past", valid_until=NOON, closed_at=NOON),
            Edge(id="r2", source="A", target="Now", valid_from=NOON),
            Edge(id="r3", source="A", target="Later", valid_from=NOON + hour),
            Edge(id="r4", source="A", target="Retracted", closed_at=NOON),
        )
        for at, names in (
            (NOON - hour, {"past", "retracted"}),
            (NOON, {"now"}),
            (NOON + hour, {"now", "later"}),
        ):
            walk = await bench.graph.walk(["A"], scopes=[ALICE], hops=2, at=at)
            assert reached(walk).keys() == names
        assert not (await bench.graph.paths("A", "Past", scopes=[ALICE], hops=3, at=NOON)).paths

    async def test_shortest_first_and_ties_by_relation_id(self, bench: GraphBench) -> None:
        """2: at most `hops` steps, the shortest way, and of several the first by relation ids."""
        await relate(
            bench.ledger,
            Edge(id="r1", source="B", target="D"),
            Edge(id="r2", source="A", target="C"),
            Edge(id="r3", source="A", target="B"),
            Edge(id="r4", source="D", target="C"),
            Edge(id="r5", source="A", target="C"),
            Edge(id="r6", source="D", target="E"),
        )
        walk = await bench.graph.walk(["A"], scopes=[ALICE], hops=2, at=NOON)
        assert [ids(path) for path in walk.paths] == [["r2"], ["r3"], ["r2", "r4"]]
        found = await bench.graph.paths("a", "d", scopes=[ALICE], hops=2, at=NOON)
        assert [ids(p) for p in found.paths] == [["r2", "r4"], ["r3", "r1"], ["r5", "r4"]]
        assert [step.forward for step in found.paths[0].steps] == [True, False]
        back = await bench.graph.paths("e", "A", scopes=[ALICE], hops=5, at=NOON)
        assert [ids(p)[0] for p in back.paths] == ["r6"] * 3
        assert {(p.start, p.end) for p in back.paths} == {("E", "A")}

    async def test_paths_stay_within_hops(self, bench: GraphBench) -> None:
        """2: none beyond `hops`, none from an entity to itself, at most five."""
        chain = [Edge(id=f"r{i}", source=f"N{i}", target=f"N{i + 1}") for i in range(6)]
        fans = [
            edge
            for i in range(7)
            for edge in (
                Edge(id=f"x{i}", source="Left", target=f"M{i}"),
                Edge(id=f"y{i}", source=f"M{i}", target="Right"),
            )
        ]
        await relate(bench.ledger, *chain, *fans)
        for hops, expected in ((5, []), (6, [[edge.id for edge in chain]])):
            found = await bench.graph.paths("N0", "N6", scopes=[ALICE], hops=hops, at=NOON)
            assert [ids(path) for path in found.paths] == expected
        assert await bench.graph.paths("N0", "n0", scopes=[ALICE], hops=3, at=NOON) == Walk()
        many = await bench.graph.paths("Left", "Right", scopes=[ALICE], hops=2, at=NOON)
        assert [ids(path) for path in many.paths] == [[f"x{i}", f"y{i}"] for i in range(5)]
        assert many.capped

    async def test_an_unknown_name_is_no_error(self, bench: GraphBench) -> None:
        """3: what occurs nowhere is not found, and costs nothing else."""
        await relate(bench.ledger, Edge(id="r1", source="A", target="B"))
        odd = ["", "  ", "no such", "%", "*", "..", "a' or '1'='1", "\u202eA", "A" * 5_000]
        for scopes in ([], [ALICE], [ALICE, PLATFORM]):
            assert await bench.graph.walk(odd, scopes=scopes, hops=3, at=NOON) == Walk()
            for name in odd:
                found = await bench.graph.paths(name, "A", scopes=scopes, hops=3, at=NOON)
                assert found == Walk()
        assert await bench.graph.walk([], scopes=[ALICE], hops=3, at=NOON) == Walk()
        assert await bench.graph.walk(["A"], scopes=[ALICE], hops=0, at=NOON) == Walk()

    async def test_caps_are_kept_and_told(self, bench: GraphBench) -> None:
        """A hub is walked up to the caps, the same way each time, and `capped` says so."""
        spokes = [Edge(id=f"r{i:03}", source="Hub", target=f"S{i}") for i in range(60)]
        rims = [Edge(id=f"t{i:03}", source=f"S{i}", target=f"T{i}") for i in range(60)]
        await relate(bench.ledger, *spokes, *rims)
        few = await bench.graph.walk(["Hub"], scopes=[ALICE], hops=3, at=NOON, nodes=10)
        assert [ids(path) for path in few.paths] == [[f"r{i:03}"] for i in range(10)]
        assert few.capped
        narrow = await bench.graph.walk(["Hub"], scopes=[ALICE], hops=1, at=NOON, fan=7)
        assert len(narrow.paths) == 7
        assert narrow.capped
        full = await bench.graph.walk(["Hub"], scopes=[ALICE], hops=2, at=NOON)
        assert len(full.paths) == 120
        assert not full.capped
        exact = await bench.graph.walk(["Hub"], scopes=[ALICE], hops=1, at=NOON, nodes=60, fan=60)
        assert (len(exact.paths), exact.capped) == (60, False)

    async def test_several_starts_are_walked_at_once(self, bench: GraphBench) -> None:
        """2: from several names, each entity is reached from the nearest; starts are not listed."""
        await relate(
            bench.ledger,
            Edge(id="r1", source="A", target="B"),
            Edge(id="r2", source="B", target="C"),
            Edge(id="r3", source="D", target="C"),
            Edge(id="r4", source="C", target="C"),
        )
        walk = await bench.graph.walk(["A", "D", "a"], scopes=[ALICE], hops=3, at=NOON)
        assert [ids(path) for path in walk.paths] == [["r1"], ["r3"]]
