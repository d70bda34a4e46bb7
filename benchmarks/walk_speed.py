"""How fast a graph is walked: hops, shortest paths, from a user's graph into the organization's.

    python -m benchmarks.walk_speed [--quick] [--nodes 100000 --edges 300000] [--json FILE]

The graph is skewed: an edge ends at node n · u² for a uniform u, so that the first nodes are hubs;
its relations lie in random order. Walks begin at random nodes and are cold in the processor's
caches. `floor` is the least that the same file allows: a plain breadth-first search that collects
row numbers, one query per level, on one connection, without names, types, evidence, order or
validity, whose last level is read whole. Ours ends at 200 entities, as `explore` does, or at 50,
as a recall of ten memories does. Both are measured turn by turn, so that a busy machine slows both;
`ratio_to_floor` compares the medians, of wall time and of processor time.
"""

import argparse
import asyncio
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.report import Report
from benchmarks.timing import percentile
from ricordo.adapters.local import LocalGraph
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import (
    SELF,
    Entity,
    Kind,
    Memory,
    OrganizationScope,
    Relation,
    Scope,
    UserScope,
)
from ricordo.ports import Writing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ORGANIZATION = OrganizationScope(tenant="bench")
USER = UserScope(tenant="bench", user="alice")
PROJECTS = 5
TYPES = ("uses", "requires", "part_of", "owned_by", "documents")

_LEVEL = (
    "select r.target_row from json_each(:nodes) f cross join relations r on r.source_row = f.value "
    "union all "
    "select r.source_row from json_each(:nodes) f cross join relations r on r.target_row = f.value"
)

Numbers = Sequence[int]


def entity(number: int, scope: Scope) -> Entity:
    name = f"Component {number}"
    return Entity(id=f"n_{number:08}", scope=scope, name=name, type="thing", recorded_at=NOW)


def memory(number: int, scope: Scope) -> Memory:
    return Memory(
        id=f"m_{number:08}",
        scope=scope,
        kind=Kind.FACT,
        text=f"What is known about component {number}",
        recorded_at=NOW,
        updated_at=NOW,
    )


def relation(random_: random.Random, source: Entity, target: Entity, behind: str) -> Relation:
    return Relation(
        id=f"r_{random_.getrandbits(80):020x}",
        scope=source.scope,
        source=source.id,
        target=target.id,
        source_name=source.name,
        target_name=target.name,
        type=random_.choice(TYPES),
        recorded_at=NOW,
        evidence=(behind,),
    )


async def fill(ledger: SqliteLedger, *, nodes: int, edges: int) -> None:
    """The organization's graph, and a user's of `PROJECTS` relations into it."""
    random_ = random.Random(7)

    async def things(tx: Writing, numbers: range, scope: Scope) -> None:
        for number in numbers:
            await tx.put_entity(entity(number, scope))
            await tx.put(memory(number, scope), indexed=None, space=None)

    async def relations(tx: Writing, numbers: range) -> None:
        for number in numbers:
            source, target = random_.randrange(nodes), int(nodes * random_.random() ** 2)
            ends = entity(source, ORGANIZATION), entity(target, ORGANIZATION)
            await tx.put_relation(relation(random_, *ends, f"m_{number % nodes:08}"))

    async def own(tx: Writing) -> None:
        me = Entity(id="n_self", scope=USER, name=SELF, type="person", recorded_at=NOW)
        await tx.put_entity(me)
        for _ in range(PROJECTS):
            number = random_.randrange(nodes)
            await things(tx, range(number, number + 1), USER)
            project = entity(number, USER)
            await tx.put_relation(relation(random_, me, project, f"m_{number:08}"))

    for first in range(0, nodes, 1_000):
        some = range(first, min(first + 1_000, nodes))
        await ledger.write(lambda tx, n=some: things(tx, n, ORGANIZATION), scope=ORGANIZATION)
    for first in range(0, edges, 1_000):
        some = range(first, min(first + 1_000, edges))
        await ledger.write(lambda tx, n=some: relations(tx, n), scope=ORGANIZATION)
    await ledger.write(own, scope=USER)


class Floor:
    """Plain breadth-first searches by row number on the same file."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("pragma cache_size = -16384")

    def close(self) -> None:
        self._connection.close()

    def row(self, number: int) -> int:
        """The row of a node."""
        key = entity(number, ORGANIZATION).key
        return self._connection.execute(
            "select n.entity_row from names n join scopes s on s.id = n.scope_id "
            "where s.kind = 'organization' and n.key = ?",
            (key,),
        ).fetchone()[0]

    def level(self, frontier: Numbers, seen: set[int]) -> list[int]:
        """Row numbers that were not seen before."""
        rows = self._connection.execute(_LEVEL, {"nodes": json.dumps(frontier)}).fetchall()
        fresh: list[int] = []
        for (row,) in rows:
            if row not in seen:
                seen.add(row)
                fresh.append(row)
        return fresh

    def walk(self, starts: Numbers, *, hops: int) -> int:
        """How many are reached."""
        seen, frontier = set(starts), list(starts)
        for _ in range(hops):
            frontier = self.level(frontier, seen)
        return len(seen) - len(starts)

    def distance(self, start: int, end: int, *, hops: int) -> int:
        """Length of the shortest path, from both ends; -1 where there is none."""
        sides = [({start}, [start]), ({end}, [end])]
        for depth in range(1, hops + 1):
            side = min((0, 1), key=lambda each: len(sides[each][1]))
            seen, frontier = sides[side]
            sides[side] = (seen, self.level(frontier, seen))
            if sides[0][0] & sides[1][0]:
                return depth
        return -1


async def compare(
    name: str,
    ours: Callable[[int], Awaitable[int]],
    floor: Callable[[int], int],
    numbers: Numbers,
    *,
    report: Report,
) -> None:
    """Measure both turn by turn and report medians and ratios."""
    wall: list[tuple[float, float]] = []
    processor: list[tuple[float, float]] = []
    reached: list[int] = []
    for number in numbers:
        started, used = time.perf_counter(), time.process_time()
        floor(number)
        between, used_between = time.perf_counter(), time.process_time()
        reached.append(await ours(number))
        ended, used_at_end = time.perf_counter(), time.process_time()
        wall.append((between - started, ended - between))
        processor.append((used_between - used, used_at_end - used_between))
    n = len(numbers)
    for system, side in (("floor", 0), ("ricordo", 1)):
        times = [pair[side] * 1_000 for pair in wall]
        used_times = [pair[side] * 1_000 for pair in processor]
        report.add(f"{system}: {name}", "p50_ms", statistics.median(times), "ms", n=n)
        report.add(f"{system}: {name}", "p95_ms", percentile(times, 95), "ms", n=n)
        report.add(f"{system}: {name}", "cpu_p50_ms", statistics.median(used_times), "ms", n=n)
    report.add(f"ricordo: {name}", "entities_or_paths", statistics.mean(reached), "", n=n)
    for metric, pairs in (("ratio_to_floor", wall), ("cpu_ratio_to_floor", processor)):
        floors, walks = (statistics.median(pair[side] for pair in pairs) for side in (0, 1))
        report.add(f"ricordo: {name}", metric, walks / floors, "x", n=n)


async def measure(path: Path, *, nodes: int, edges: int, rounds: int, report: Report) -> None:
    """Everything, on one file; it is filled when it is empty."""
    async with SqliteLedger.open(path, clock=lambda: NOW) as ledger:
        if not await ledger.scopes():
            started = time.perf_counter()
            await fill(ledger, nodes=nodes, edges=edges)
            rate = (nodes * 2 + edges) / (time.perf_counter() - started)
            report.add(f"{nodes} nodes, {edges} edges", "rows_written", rate, "1/s", n=1)
        floor, graph = Floor(path), LocalGraph(ledger)
        try:
            await _measure(floor, graph, nodes=nodes, rounds=rounds, report=report)
        finally:
            floor.close()


async def _measure(
    floor: Floor, graph: LocalGraph, *, nodes: int, rounds: int, report: Report
) -> None:
    random_ = random.Random(11)
    numbers = [random_.randrange(nodes) for _ in range(rounds)]
    rows = {number: floor.row(number) for number in numbers}
    far = dict(zip(numbers, [*numbers[1:], numbers[0]], strict=True))
    projects = [floor.row(int(end.split()[-1])) for end in await _ends(graph)]

    async def walk(number: int, hops: int, *, own: bool = False, most: int = 200) -> int:
        names = [SELF] if own else [entity(number, ORGANIZATION).name]
        scopes = [USER, ORGANIZATION] if own else [ORGANIZATION]
        walk = await graph.walk(names, scopes=scopes, hops=hops, at=NOW, nodes=most)
        return len(walk.paths)

    async def paths(number: int) -> int:
        ends = entity(number, ORGANIZATION).name, entity(far[number], ORGANIZATION).name
        found = await graph.paths(*ends, scopes=[ORGANIZATION], hops=6, at=NOW)
        return len(found.paths)

    for hops in (1, 2, 3):
        for warming in (True, False):
            await compare(
                f"{hops} hops",
                lambda number, hops=hops: walk(number, hops),
                lambda number, hops=hops: floor.walk([rows[number]], hops=hops),
                numbers,
                report=Report("warming", quiet=True) if warming else report,
            )
    await compare(
        "3 hops, the nearest 50",
        lambda number: walk(number, 3, most=50),
        lambda number: floor.walk([rows[number]], hops=3),
        numbers,
        report=report,
    )
    await compare(
        "shortest paths",
        paths,
        lambda number: floor.distance(rows[number], rows[far[number]], hops=6),
        [n for n in numbers if far[n] != n],
        report=report,
    )
    await compare(
        "user to organization, 3 hops",
        lambda number: walk(number, 3, own=True),
        lambda _: floor.walk(projects, hops=2),
        numbers[: rounds // 2],
        report=report,
    )


async def _ends(graph: LocalGraph) -> list[str]:
    walk = await graph.walk([SELF], scopes=[USER], hops=1, at=NOW)
    return [path.end for path in walk.paths]


async def main() -> None:
    """Measure on a fresh graph, or on the one kept in a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20,000 nodes and 60,000 edges")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--edges", type=int)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--ledger", type=Path, help="keep the graph in this file, and use it again")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    nodes = asked.nodes or (20_000 if asked.quick else 100_000)
    edges = asked.edges or 3 * nodes
    report = Report("walk_speed")
    with tempfile.TemporaryDirectory() as folder:
        path = asked.ledger or Path(folder) / "walk.db"
        await measure(path, nodes=nodes, edges=edges, rounds=asked.rounds, report=report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
