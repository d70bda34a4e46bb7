"""`LocalIndex` over the SQLite ledger keeps the promises of `VectorIndex`."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.adapters.local import LocalIndex
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.model import Partition, Sought, Space
from ricordo.ports import Ledger
from ricordo.testing.index import (
    DOCUMENTED,
    FACTS,
    FOREIGN,
    HABITS,
    IndexBench,
    VectorIndexSuite,
    assert_as_defined,
    put,
    remove,
)
from ricordo.testing.naive import DIMENSION, NOON, SPACE, Doc, unit
from tests.support.engines import runs_on


@pytest.fixture
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[IndexBench]:
    runs_on(request, port="VectorIndex", adapter="local", server="over the SQLite ledger")
    path = tmp_path / "memory.db"
    async with (
        SqliteLedger.open(path, clock=lambda: NOON) as ledger,
        SqliteLedger.open(path, clock=lambda: NOON) as elsewhere,
        LocalIndex(ledger, space=SPACE) as index,
    ):

        def make(space: Space) -> LocalIndex:
            return LocalIndex(ledger, space=space)

        yield IndexBench(ledger=ledger, elsewhere=elsewhere, index=index, make=make)


class TestLocalIndex(VectorIndexSuite):
    """All promises, in process."""


directions = st.lists(st.integers(-3, 3), min_size=DIMENSION, max_size=DIMENSION).filter(any)
bags = st.dictionaries(st.integers(1, 9), st.integers(1, 4), max_size=6)
instants = st.none() | st.integers(-2, 2)
contents = st.tuples(directions, bags, instants, instants)
changes = st.tuples(
    st.sampled_from(["here", "elsewhere"]),
    st.sampled_from([FACTS, FACTS, HABITS, DOCUMENTED, FOREIGN]),
    st.integers(0, 9),
    st.none() | contents,
)
questions = st.tuples(
    st.none() | directions,
    st.lists(st.lists(st.integers(1, 11), min_size=1, max_size=3), max_size=4),
    st.integers(-2, 2),
    st.integers(1, 6),
)
scripts = st.lists(
    st.one_of(changes, changes, st.tuples(st.just("ask"), questions)), min_size=1, max_size=24
)


class World:
    """The ledger, the index, and beside them plain dictionaries of what was written."""

    def __init__(self, here: Ledger, elsewhere: Ledger) -> None:
        self.ledgers = {"here": here, "elsewhere": elsewhere}
        self.warm = LocalIndex(here, space=SPACE)
        self.docs: dict[Partition, dict[str, tuple[int, Doc]]] = {}

    async def change(self, where: str, partition: Partition, number: int, content: tuple) -> None:
        docs = self.docs.setdefault(partition, {})
        memory_id = f"{partition.kind.value[0]}{partition.scope}{number}"
        version, known = docs.get(memory_id, (0, None))
        if content is None:
            if known is not None:
                await remove(self.ledgers[where], partition, memory_id)
                del docs[memory_id]
            return
        direction, words, start, end = content
        doc = Doc(
            id=memory_id,
            direction=tuple(direction),
            words=words,
            valid_from=None if start is None else _hour(start),
            valid_until=None if end is None else _hour(end),
        )
        docs[memory_id] = (version + 1, doc)
        await put(self.ledgers[where], partition, doc, version=version + 1)

    async def ask(
        self, direction: list[int], words: list[list[int]], hour: int, limit: int
    ) -> None:
        vector = None if direction is None else unit(direction)
        sought = Sought(vector=vector, words=tuple(map(tuple, words)))
        for asked in ([FACTS], [FACTS, HABITS, DOCUMENTED]):
            docs = [doc for p in asked for _, doc in self.docs.get(p, {}).values()]
            for index in (self.warm, LocalIndex(self.ledgers["here"], space=SPACE, max_bytes=0)):
                hits = await index.search(sought, partitions=asked, limit=limit, at=_hour(hour))
                assert_as_defined(hits, docs, sought, limit=limit, at=_hour(hour))


def _hour(offset: int):
    return NOON.replace(hour=12 + offset)


async def _play(script: list[tuple]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        async with (
            SqliteLedger.open(path, clock=lambda: NOON) as here,
            SqliteLedger.open(path, clock=lambda: NOON) as elsewhere,
        ):
            world = World(here, elsewhere)
            for kind, *rest in script:
                await (world.ask(*rest[0]) if kind == "ask" else world.change(kind, *rest))
            await world.ask([1] * DIMENSION, [[1, 2], [3]], 0, 3)


@settings(max_examples=60, deadline=None)
@given(scripts)
def test_any_history_of_writes_gives_the_answers_of_the_definition(script: list[tuple]) -> None:
    """Promises 1, 2, 3 of the port: additions, updates, removals, by two processes."""
    asyncio.run(_play(script))
