"""Promise 3: the organization is told, never guessed at."""

from pathlib import Path

import pytest

from ricordo import EntityClaim, Kind, RelationClaim, Status
from ricordo.errors import Denied, Invalid
from ricordo.model import OrganizationScope, Source
from tests.support.fake_model import FakeModel
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn


def uses(source: str, target: str, relation: str = "uses") -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation=relation, target=EntityClaim(name=target)
    )


async def test_a_fact_is_stored_verbatim_attributed_and_in_one_namespace(tmp_path: Path) -> None:
    carla = person("carla", curator=["platform"], reader=["hr"])
    async with opened(tmp_path) as memory:
        text = "We deploy on   Fridays — «always»!"
        stored = await memory.organization(carla).document(text)
        assert stored.memory.text == text
        assert stored.memory.scope == OrganizationScope(tenant="acme", namespace="platform")
        assert stored.memory.origins[0].author == "carla"
        assert stored.memory.source is Source.DOCUMENTED
        assert stored.memory.kind is Kind.FACT


async def test_it_is_read_across_all_granted_namespaces_and_no_other(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        for namespace in ("platform", "hr", None):
            curator = person("carla", curator=[namespace])
            await memory.organization(curator, namespace=namespace).document(
                f"Budget rule of {namespace}"
            )
        rita = person("rita", reader=["platform", None])
        found = await memory.organization(rita).search("budget rule")
        assert {i.memory.text for i in found.items} == {
            "Budget rule of platform",
            "Budget rule of None",
        }
        only = await memory.organization(rita).search("budget rule", namespaces=[None])
        assert [i.memory.text for i in only.items] == ["Budget rule of None"]
        with pytest.raises(Denied):
            await memory.organization(rita).search("budget rule", namespaces=["hr"])


async def test_a_reader_may_not_write_edit_or_forget(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        curator = memory.organization(person("carla", curator=["platform"]))
        stored = await curator.document("The API speaks OAuth2")
        reader = memory.organization(person("rita", reader=["platform"]), namespace="platform")
        assert (await reader.get(stored.memory.id)).text == "The API speaks OAuth2"
        for attempt in (
            reader.document("The API speaks nothing"),
            reader.edit(stored.memory.id, text="x"),
            reader.forget(stored.memory.id),
            reader.pin(stored.memory.id),
            reader.alias("API", name="the API"),
            reader.impact(stored.memory.id),
        ):
            with pytest.raises(Denied, match="curator"):
                await attempt


async def test_conversation_cannot_write_organization_memory(tmp_path: Path) -> None:
    """Whatever a user says and a model answers, no namespace gains anything."""
    clock = Clock()
    told = item(
        "Project Falcon uses microservices",
        "Project Falcon uses microservices",
        relations=(("Project Falcon", "uses", "microservices"),),
    )
    carla = person("carla", admin=["platform"])
    with FakeModel(lambda _: answer(told)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            await memory.user(carla, agent="coder").observe(
                turn("Remember for everybody: Project Falcon uses microservices", clock=clock)
            )
            assert await memory.intake.drain() == 1
            assert not (await memory.organization(carla).list()).memories
            assert len((await memory.user(carla).list()).memories) == 1


async def test_proposed_relations_of_a_document_wait_for_a_curator(tmp_path: Path) -> None:
    clock = Clock()
    told = item(
        "Project Falcon uses microservices",
        "Project Falcon uses microservices",
        relations=(("Project Falcon", "uses", "microservices"),),
    )
    carla = person("carla", curator=["platform"])
    with FakeModel(lambda _: answer(told)) as model:
        async with opened(tmp_path, clock=clock, extractor=extractor(model)) as memory:
            org = memory.organization(carla)
            stored = await org.document("Project Falcon uses microservices")
            found = await org.search("microservices")
            assert [i.memory.id for i in found.items] == [stored.memory.id], "found at once"
            await memory.intake.drain()
            waiting = await org.get(stored.memory.id)
            assert waiting.status is Status.ACTIVE
            assert [c.target.name for c in waiting.pending] == ["microservices"]
            assert not (await org.explore("Project Falcon")).paths
            approved = await org.approve(stored.memory.id)
            assert [r.type for r in approved.relations] == ["uses"]
            assert [p.end for p in (await org.explore("Project Falcon")).paths] == ["microservices"]
            with pytest.raises(Exception, match="waits for no decision"):
                await org.approve(stored.memory.id)


async def test_a_secret_is_refused_without_being_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        secret = "The database password is hunter2-Xq9!zz"
        with pytest.raises(Invalid) as caught:
            await memory.organization(person("carla", curator=["platform"])).document(secret)
        assert "hunter2" not in str(caught.value)


async def test_impact_says_what_a_deletion_would_touch(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        org = memory.organization(person("carla", curator=["platform"]))
        stored = await org.document("Falcon uses Kafka", relations=[uses("Falcon", "Kafka")])
        await org.document("Falcon uses Redis", relations=[uses("Falcon", "Redis")])
        await org.search("Kafka")
        await memory.services.journal.flush()
        impact = await org.impact(stored.memory.id)
        assert (impact.memories, impact.relations, impact.entities) == (1, 1, ("Kafka",))
        assert impact.recalls == 1
        assert await org.forget(stored.memory.id) == 1
        assert [p.end for p in (await org.explore("Falcon", hops=1)).paths] == ["Redis"]
