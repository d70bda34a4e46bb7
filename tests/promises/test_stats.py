"""What an operator sees of a memory: numbers, and nobody's id."""

from pathlib import Path

from tests.support.fake_model import FakeModel, Reply
from tests.support.opening import Clock, opened, person
from tests.support.talking import extractor, turn


async def test_a_program_asks_its_memory_how_it_is_doing(tmp_path: Path) -> None:
    clock = Clock()
    with FakeModel(lambda _: Reply(text="no")) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            await alice.remember("Works on Falcon")
            await alice.observe(turn("I work on Falcon", clock=clock))
            await memory.intake.drain()
            await alice.observe(turn("And on Heron", run="r2", clock=clock))
            await alice.recall("Falcon", deadline=20)
            found = await memory.stats()
    assert [(c.of, c.kind, c.count) for c in found.census.cells] == [("user", "fact", 1)]
    assert (found.backlog.waiting, found.backlog.parked) == (1, 2)
    assert found.index_bytes > 0
    assert found.latencies["recall"].count == 1
    assert found.latencies["observe"].count == 2
    assert 0 < found.latencies["recall"].quantile(0.5) <= found.latencies["recall"].longest
    assert found.counted["jobs.parked"] == {"Malformed": 2}
    for name in ("alice", "acme", "coder", "Falcon", "t1"):
        assert name not in repr(found)
