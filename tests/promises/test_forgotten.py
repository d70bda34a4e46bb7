"""Promise 11: forgotten means gone, from every place, with a receipt from a scan."""

from pathlib import Path

import pytest

from ricordo import EntityClaim, RelationClaim
from ricordo.errors import Invalid
from tests.support.opening import Clock, kept, opened, person
from tests.support.talking import turn

MARK = "Zanzibarquokka"


def works_on(target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name="user"), relation="works on", target=EntityClaim(name=target)
    )


async def test_erasure_leaves_nothing_in_any_place_nor_in_the_bytes(
    tmp_path: Path, engine: str
) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(f"alice-{MARK}"), agent="coder")
        bob = memory.user(person("bob"), agent="coder")
        await bob.remember("Bob stays")
        stored = await alice.remember(
            f"Works on {MARK}", relations=[works_on(MARK), works_on("it")]
        )
        await alice.edit(stored.memory.id, text=f"Worked on {MARK} " + "long " * 1_500)
        await alice.remember(f"Likes {MARK}", kind="preference")
        await alice.alias("user", name=f"The {MARK}")
        await alice.observe(turn(f"I said {MARK}", clock=clock))
        await alice.recall(MARK, deadline=5)
        await memory.services.journal.flush()
        assert MARK.encode() in kept(tmp_path)
        receipt = await alice.erase()
        assert receipt.clean
        assert receipt.log_cleared is (engine == "sqlite"), "a server's log is its own"
        assert sum(receipt.removed.values()) > 8
        assert MARK not in str(receipt)
        assert not (await alice.list()).memories
        assert not (await alice.recall(MARK)).items
        assert [m.text for m in (await bob.list()).memories] == ["Bob stays"]
        assert MARK.encode() not in kept(tmp_path)
        assert not [f for f in await memory.ledger.check() if f.problem]


async def test_forgetting_one_takes_its_edges_history_and_orphans_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember(f"Works on {MARK}", relations=[works_on(MARK)])
        other = await alice.remember("Works on Falcon", relations=[works_on("Falcon")])
        assert await alice.forget(stored.memory.id) == 1
        assert await alice.forget(stored.memory.id) == 0, "forgetting it twice is not an error"
        assert [p.end for p in (await alice.explore("user")).paths] == ["Falcon"]
        assert (await alice.explore(MARK)).paths == ()
        assert [m.id for m in (await alice.list()).memories] == [other.memory.id]
        assert MARK.encode() not in kept(tmp_path)


async def test_an_edge_with_other_evidence_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        one = await alice.remember("Works on Falcon", relations=[works_on("Falcon")])
        two = await alice.remember("Leads Falcon's tests", relations=[works_on("Falcon")])
        [relation] = await alice.relations(one.memory.id)
        assert set(relation.evidence) == {one.memory.id, two.memory.id}
        await alice.forget(one.memory.id)
        [kept] = await alice.relations(two.memory.id)
        assert kept.evidence == (two.memory.id,)


async def test_forgetting_by_thread_time_and_everything(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Old fact")
        middle = clock()
        clock.pass_by(days=1)
        await alice.remember("New fact")
        await alice.remember("New taste", kind="preference")
        with pytest.raises(Invalid, match="say what to forget"):
            await alice.forget_where()
        assert await alice.forget_where(before=middle) == 1
        assert await alice.forget_where(thread_id="nowhere") == 0
        assert await alice.forget_where(everything=True) == 2
        assert not (await alice.list()).memories


async def test_erasing_a_person_again_or_a_stranger_is_a_clean_receipt(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Something")
        first, second = await alice.erase(), await alice.erase()
        assert first.clean
        assert second.clean
        assert first.subject == second.subject
        assert (await memory.user(person("stranger")).erase()).clean
        assert (await alice.remember("Something")).created, "and may begin anew"
