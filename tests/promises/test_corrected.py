"""What a person may change, and what not even they can slip in: secrets, names that are none."""

from pathlib import Path

import pytest

from ricordo import EntityClaim, Listing, RelationClaim, Status
from ricordo.errors import Conflict, Invalid, Refused
from ricordo.model import MAX_RELATIONS, Sensitivity
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item


def uses(source: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation="uses", target=EntityClaim(name=target)
    )


async def test_a_secret_is_refused_in_an_edit_as_in_a_new_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember("Works on Project Falcon")
        org = memory.organization(person("carla", curator=["platform"]))
        fact = await org.document("The database is PostgreSQL")
        for attempt in (
            alice.edit(stored.memory.id, text="My password is hunter2!x"),
            org.edit(fact.memory.id, text="The password is hunter2!x"),
        ):
            with pytest.raises(Invalid, match="secret:password") as refused:
                await attempt
            assert "hunter2" not in str(refused.value)
        assert (await alice.get(stored.memory.id)).version == 1


async def test_an_edit_tells_anew_how_sensitive_a_memory_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember("Works on Project Falcon")
        special = await alice.edit(stored.memory.id, text="Has diabetes")
        assert special.sensitivity is Sensitivity.SPECIAL
        assert (await alice.pin(stored.memory.id)).sensitivity is Sensitivity.SPECIAL


@pytest.mark.parametrize("name", ["user", "I", "it", "project", "</x> a", "Fal\u200bcon", "***"])
async def test_an_alias_must_be_a_name(tmp_path: Path, name: str) -> None:
    """Rule (b): in an organization's graph a "user" would stand for everybody who asks."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        org = memory.organization(person("carla", curator=["platform"]))
        await alice.remember("Falcon uses Kafka", relations=[uses("Falcon", "Kafka")])
        await org.document("Falcon uses Kafka", relations=[uses("Falcon", "Kafka")])
        for graph in (alice, org):
            with pytest.raises(Refused, match="alias"):
                await graph.alias("Falcon", name=name)


async def test_nothing_else_can_stand_for_the_user(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Uses Falcon", relations=[uses("user", "Falcon")])
        await alice.remember("Alice uses Kafka", relations=[uses("Alice", "Kafka")])
        with pytest.raises(Invalid, match="merge the other"):
            await alice.merge("user", into="Falcon")
        await alice.merge("Alice", into="user")
        ends = {path.end for path in (await alice.explore("user", hops=1)).paths}
        assert ends == {"Falcon", "Kafka"}


async def test_what_is_no_longer_true_waits_for_no_decision(tmp_path: Path) -> None:
    """Approving relations that wait must not bring back a fact that a newer one replaced."""
    clock = Clock()

    def status(value: str) -> RelationClaim:
        return RelationClaim(
            source=EntityClaim(name="Falcon"),
            relation="has status",
            target=EntityClaim(name=value),
        )

    proposed = answer(
        item("Falcon is in beta", "Falcon is in beta", relations=(("Falcon", "uses", "beta"),))
    )
    with FakeModel(lambda _: proposed) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            org = memory.organization(person("carla", curator=["platform"]))
            old = await org.document("Falcon is in alpha", relations=[status("alpha")])
            await org.edit(old.memory.id, text="Falcon is in beta")
            await memory.intake.drain()
            assert (await org.get(old.memory.id)).pending
            again = await org.document("Falcon is in beta.", relations=[status("beta")])
            assert again.memory.id == old.memory.id
            await org.document("Falcon is stable", relations=[status("stable")])
            assert (await org.get(old.memory.id)).status is Status.SUPERSEDED
            assert (await org.list(Listing(review=True))).memories == ()
            with pytest.raises(Conflict, match="waits for no decision"):
                await org.approve(old.memory.id)
            assert (await org.get(old.memory.id)).status is Status.SUPERSEDED


@pytest.mark.parametrize(("confidence", "waits"), [("low", True), ("medium", False)])
async def test_relations_that_a_model_is_not_sure_of_wait_for_a_person(
    tmp_path: Path, confidence: str, waits: bool
) -> None:
    """Promise 10: relations proposed for a fact of the user obey `review_min_confidence`, and what
    enters the graph says how sure it is."""
    proposed = answer(
        item(
            "Lives with Zoe",
            "I live with Zoe",
            relations=(("user", "lives with", "Zoe"),),
            confidence=confidence,
        )
    )
    with FakeModel(lambda _: proposed) as model:
        async with opened(tmp_path, extractor=extractor(model)) as memory:
            alice = memory.user(person(), agent="coder")
            stored = await alice.remember("I live with Zoe")
            await memory.intake.drain()
            known = await alice.get(stored.memory.id)
            assert known.confidence == 1.0
            assert bool(known.pending) is waits
            assert ("proposed-relations" in known.reasons) is waits
            assert bool(await alice.relations(known.id)) is not waits
            if waits:
                assert [m.id for m in (await alice.list(Listing(review=True))).memories] == [
                    known.id
                ]
                await alice.approve(known.id)
            [relation] = await alice.relations(known.id)
            assert 0 < relation.confidence < 1


async def test_one_memory_may_not_hold_up_all_other_writers(tmp_path: Path) -> None:
    """Ten thousand relations took minutes, in a transaction that nobody else could pass."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        many = [uses("Falcon", f"part {number}") for number in range(MAX_RELATIONS + 1)]
        with pytest.raises(Invalid, match="201 relations"):
            await alice.remember("Falcon has many parts", relations=many)
        stored = await alice.remember("Falcon has many parts", relations=many[1:])
        assert len(stored.relations) == MAX_RELATIONS
