"""Promise 12: a new value of a single-valued relation closes the old one; the past is found."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import EntityClaim, RelationClaim, Status
from ricordo.errors import Conflict, Invalid
from ricordo.model import Origin
from tests.support.opening import Clock, opened, person


def lives_in(place: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name="user"), relation="lives in", target=EntityClaim(name=place)
    )


async def test_the_new_value_closes_the_old_and_as_of_finds_what_was_true(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        old = await alice.remember("Lives in Bern", relations=[lives_in("Bern")])
        before = clock()
        clock.pass_by(days=10)
        await alice.remember("Lives in Basel", relations=[lives_in("Basel")])
        assert [p.end for p in (await alice.explore("user")).paths] == ["Basel"]
        now = await alice.recall("Where do I live?", deadline=5)
        assert [i.memory.text for i in now.items] == ["Lives in Basel"]
        then = await alice.recall("Where do I live?", as_of=before, deadline=5)
        assert [i.memory.text for i in then.items] == ["Lives in Bern"]
        assert (await alice.get(old.memory.id)).status is Status.SUPERSEDED


async def test_sixteen_writers_of_one_fact_make_one_fact_with_sixteen_origins(
    tmp_path: Path,
) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:

        async def say(number: int) -> None:
            agent = memory.user(person(), agent=f"agent-{number}")
            await agent.remember(
                "Works on Project Falcon",
                origin=Origin(at=clock(), thread_id=f"t{number}", agent=f"agent-{number}"),
                relations=[lives_in("Bern")],
            )

        await asyncio.gather(*(say(number) for number in range(16)))
        [fact] = (await memory.user(person()).list()).memories
        assert len(fact.origins) == 16
        [relation] = await memory.user(person()).relations(fact.id)
        assert len(relation.origins) == 16


async def test_an_edit_keeps_the_old_value_and_a_lost_update_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember("Lives in Bern", relations=[lives_in("Bern")])
        edited = await alice.edit(stored.memory.id, text="Lives in Biel", version=1)
        assert edited.version == 2
        [earlier] = await alice.history(stored.memory.id)
        assert (earlier.text, earlier.version) == ("Lives in Bern", 1)
        assert (await alice.explore("user")).paths == (), "the old text's edge is closed with it"
        with pytest.raises(Conflict, match="version 2"):
            await alice.edit(stored.memory.id, text="Lives in Brig", version=1)
        found = await alice.recall("Biel", deadline=5)
        assert [i.memory.text for i in found.items] == ["Lives in Biel"]
        assert not (await alice.recall("Bern", deadline=5)).items[1:]
        with pytest.raises(Invalid):
            await alice.edit(stored.memory.id, importance=2)


async def test_an_edit_may_not_make_two_memories_say_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Lives in Bern")
        other = await alice.remember("Lives in Basel")
        with pytest.raises(Conflict):
            await alice.edit(other.memory.id, text="lives in  BERN")
        assert (await alice.get(other.memory.id)).text == "Lives in Basel"


async def test_merged_entities_are_one_until_unmerged(tmp_path: Path) -> None:
    def uses(a: str, b: str) -> RelationClaim:
        return RelationClaim(
            source=EntityClaim(name=a), relation="uses", target=EntityClaim(name=b)
        )

    async with opened(tmp_path) as memory:
        org = memory.organization(person("carla", curator=["platform"]))
        await org.document("Falcon uses k8s", relations=[uses("Falcon", "k8s")])
        await org.document("Kubernetes uses etcd", relations=[uses("Kubernetes", "etcd")])
        merge = await org.merge("k8s", into="Kubernetes")
        assert {p.end for p in (await org.explore("Falcon", hops=2)).paths} == {
            "Kubernetes",
            "etcd",
        }
        assert {p.end for p in (await org.explore("k8s", hops=1)).paths} == {"Falcon", "etcd"}
        await org.unmerge(merge)
        assert {p.end for p in (await org.explore("Falcon", hops=2)).paths} == {"k8s"}
        await org.alias("Falcon", name="Project Falcon")
        paths = await org.paths("project falcon", to="K8S")
        assert [len(p.steps) for p in paths.paths] == [1]


async def test_what_was_true_once_is_true_again_when_it_is_said_again(tmp_path: Path) -> None:
    """Its time had run out, so an origin alone would leave it unfound."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Lives in Bern", relations=[lives_in("Bern")])
        moves = RelationClaim(
            source=EntityClaim(name="user"),
            relation="lives in",
            target=EntityClaim(name="Basel"),
            valid_from=clock() + timedelta(days=10),
        )
        await alice.remember("Moves to Basel", relations=[moves])
        clock.pass_by(days=20)
        assert "Lives in Bern" not in await recalled(alice, "Bern")
        again = await alice.remember("Lives in Bern", relations=[lives_in("Bern")])
        assert again.created
        assert "Lives in Bern" in await recalled(alice, "Bern")
        assert [p.end for p in (await alice.explore("user")).paths] == ["Bern"]


async def test_what_expired_comes_back_when_it_is_said_again(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Is on call", expires_at=clock() + timedelta(days=7))
        clock.pass_by(days=8)
        assert await recalled(alice, "on call") == []
        again = await alice.remember("Is on call")
        assert (again.created, again.memory.expires_at) == (False, None)
        assert await recalled(alice, "on call") == ["Is on call"]


async def recalled(mine, question: str) -> list[str]:
    return [item.memory.text for item in (await mine.recall(question, deadline=5)).items]
