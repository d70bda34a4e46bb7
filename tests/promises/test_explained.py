"""Every recollection can say why it is what it is (design §6), and tells nobody of others."""

from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import Principal, Recollection, Ricordo
from ricordo.errors import Invalid, Unavailable
from ricordo.model import Cut
from ricordo.testing.embedding import HashingEmbedder
from tests.support.opening import Clock, opened, person

PATIENT = 20.0


def cuts(found: Recollection) -> dict[str, Cut]:
    return {missed.memory.text: missed.cut for missed in found.nearly}


async def test_each_thing_kept_out_has_its_reason(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        org = memory.organization(person("carla", curator=["platform"]))
        await alice.remember("Falcon Falcon Falcon")
        await org.document("Falcon Falcon Falcon.")
        await alice.remember("Falcon " + "is described at great length " * 30)
        await alice.remember("Falcon was a prototype", expires_at=clock.at + timedelta(days=1))
        await alice.remember("Falcon has a sister project in Bern")
        clock.pass_by(days=2)
        reader = person(reader=["platform"])
        ask = {"principal": reader, "agent": "coder", "deadline": PATIENT, "nearly": 9}
        found = await memory.recall("Falcon", limit=2, tokens=100, **ask)
        given = {item.memory.text for item in found.items}
        reasons = cuts(found)
        assert not given & reasons.keys()
        assert reasons["Falcon was a prototype"] is Cut.EXPIRED
        twin = next(m for m in found.nearly if m.cut is Cut.DUPLICATE)
        assert twin.of in {item.memory.id for item in found.items}
        assert Cut.LIMIT in reasons.values() or Cut.TOKENS in reasons.values()
        more = await memory.recall("Falcon", limit=10, tokens=100, **ask)
        assert next(cut for text, cut in cuts(more).items() if "length" in text) is Cut.TOKENS


async def test_nearly_changes_nothing_of_the_answer(tmp_path: Path) -> None:
    """Asking why does not change what is found; not asking costs nothing."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        for number in range(30):
            await alice.remember(f"Falcon has part {number}")
        bare = await alice.recall("Falcon part", limit=3, deadline=PATIENT)
        told = await alice.recall("Falcon part", limit=3, deadline=PATIENT, nearly=4)
        assert [(i.memory.id, i.score) for i in bare.items] == [
            (i.memory.id, i.score) for i in told.items
        ]
        assert bare.nearly == ()
        assert len(told.nearly) == 4
        assert all(m.score <= told.items[-1].score for m in told.nearly)
        assert all(m.signals for m in told.nearly)


async def remember_all(memory: Ricordo, who: Principal) -> None:
    """Things that nobody but their owner may hear of, not even that they are there."""
    other = memory.user(who, agent="coder")
    await other.remember("Falcon hides a secret wish")
    await other.remember("Falcon expired", expires_at=Clock().at + timedelta(microseconds=1))


async def test_what_may_not_be_seen_is_not_told_to_be_there(tmp_path: Path) -> None:
    """Promises 1 and 2: neither another person's, nor another agent's, nor an ungranted
    namespace's memory shows in what nearly made it."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Falcon is mine")
        ask = {"limit": 1, "deadline": PATIENT, "nearly": 50}
        before = await alice.recall("Falcon", **ask)
        await remember_all(memory, person("bob"))
        await remember_all(memory, person(tenant="other"))
        painter = memory.user(person(), agent="painter")
        await painter.remember("Falcon in blue", kind="preference")
        await memory.organization(person("carla", curator=["hr"])).document("Falcon pay rises")
        after = await alice.recall("Falcon", **ask)
        assert (after.items, after.nearly, after.visible) == (
            before.items,
            before.nearly,
            before.visible,
        )


class Broken(HashingEmbedder):
    async def question(self, text: str) -> bytes:
        raise Unavailable("the embedder is away")


async def test_a_degraded_recall_says_what_failed_and_how(tmp_path: Path) -> None:
    async with opened(tmp_path, embedder=Broken()) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Works on Falcon")
        found = await alice.recall("Falcon", deadline=PATIENT)
        assert found.degraded == ("meaning",)
        assert found.faults == {"meaning": "Unavailable"}
        assert {"partitions", "embed", "search", "fetch", "rank", "choose"} <= found.stages.keys()
        assert all(ms >= 0 for ms in found.stages.values())


@pytest.mark.parametrize("nearly", [-1, 101])
async def test_nearly_has_bounds(tmp_path: Path, nearly: int) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(Invalid, match="nearly"):
            await memory.user(person()).recall("x", nearly=nearly)
