"""What is over leaves after a while, as the settings say: traces do not grow for ever."""

from pathlib import Path

from ricordo.memory.pruning import Retention, prune_now
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, turn

DAY = 86_400.0


async def test_ids_of_turns_and_the_audit_leave_after_their_days(tmp_path: Path) -> None:
    """Promise 4 holds as long as `turns_keep_days`: the same turn changes nothing until then."""
    clock = Clock()
    keep = Retention(events=DAY, turns=2 * DAY, audit=3 * DAY)
    with FakeModel(lambda _: answer()) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            said = turn("I work on Falcon", clock=clock)
            await alice.observe(said)
            await memory.intake.drain()
            await alice.remember("Likes tea", relations=())
            waiting = turn("I like tea", run="r2", clock=clock)
            await alice.observe(waiting)

            async def places() -> dict[str, int]:
                counts = await memory.ledger.counts()
                return {place: counts[place] for place in ("queue", "audit", "memories")}

            before = await places()
            clock.pass_by(days=1.5)
            await prune_now(memory.services, keep=keep)
            assert await places() == before
            assert not await alice.observe(said)
            clock.pass_by(days=1)
            await prune_now(memory.services, keep=keep)
            assert await places() == before | {"queue": before["queue"] - 1}
            assert not await alice.observe(waiting), "what waits is not over"
            clock.pass_by(days=1)
            await prune_now(memory.services, keep=keep)
            assert (await places())["audit"] == 0
            assert (await places())["memories"] == before["memories"]
