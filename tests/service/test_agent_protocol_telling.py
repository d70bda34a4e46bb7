"""What the platform is told, and of whom: no run of others, and no log that holds up another."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ricordo import Principal, Said, Speaker, Turn
from ricordo.events import UserMemoryRecalled
from ricordo.model import Origin
from tests.service.test_agent_protocol import Served, alice, now, serving
from tests.support.agent_platform import PATIENCE, Platform, person
from tests.support.fake_model import FakeModel
from tests.support.nats_server import NatsServer
from tests.support.talking import extractor
from tests.support.workers import collecting

EVERYBODY = {"*": "*"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as started:
        yield started


@pytest.fixture
async def platform(server: NatsServer) -> AsyncIterator[Platform]:
    async with Platform(server.url) as there:
        yield there


@pytest.fixture(scope="module")
def model() -> Iterator[FakeModel]:
    with FakeModel(collecting) as running:
        yield running


async def learn(served: Served, turn: Turn, principal: Principal) -> None:
    """A turn that comes another way than by the protocol."""
    await served.memory.user(principal, agent=turn.agent).observe(turn)
    await served.memory.intake.drain()


def said(agent: str, *, run: str, thing: str = "stamps", **more: Any) -> Turn:
    line = Said(speaker=Speaker.USER, text=f"I collect {thing}.", **more)
    where = {"thread_id": "thread-1", "display_id": "display-1", "run_id": run}
    return Turn(agent=agent, at=now(), said=(line,), **where)


async def test_a_mark_opens_no_run_of_others(
    tmp_path: Path, platform: Platform, model: FakeModel
) -> None:
    """Promise 1: ids of messages are chosen by whoever sends them; the ledger's mark is not."""
    async with serving(tmp_path, platform, trust=EVERYBODY, extract=extractor(model)) as served:
        await platform.store("I collect coins.", run="own")
        [turn] = await served.turns(1)
        await served.memory.intake.drain()
        await platform.until(lambda: bool(platform.told("StoreUserMemoryEvent", run="own")))
        mallory = Principal(tenant="globex", user="mallory")
        for number, mark in enumerate(("agent-protocol.forged.0", turn.said[0].id)):
            forged = said(platform.agent, run=f"other-{number}", id=mark)
            await learn(served, forged, mallory)
            await learn(served, replace(forged, run_id="own"), mallory)
            await learn(served, said(platform.agent, run=f"mine-{number}", id=mark), alice())
        await platform.store("I collect shells.", run="last")
        await served.turns(1)
        await served.memory.intake.drain()
        await platform.until(lambda: bool(platform.told("StoreUserMemoryEvent", run="last")))
        runs = [told.run for told in platform.told("StoreUserMemoryEvent")]
    assert runs == ["own", "last"]


async def test_a_recall_is_announced_as_of_its_run(tmp_path: Path, platform: Platform) -> None:
    """Promise 9."""
    async with serving(tmp_path, platform) as served:
        await served.memory.user(alice()).remember("Alice collects coins")
        await platform.recall("coins", run="run-9", user=person())
        await served.memory.services.journal.flush()
        events = [event for _, event in await served.memory.ledger.announced(after=0, limit=100)]
    [origin] = [e.origins[0] for e in events if isinstance(e, UserMemoryRecalled)]
    where = (origin.agent, origin.thread_id, origin.display_id, origin.run_id)
    assert where == (platform.agent, "thread-1", "display-1", "run-9")


async def test_the_run_that_said_it_is_told_and_which_model_heard_it(
    tmp_path: Path, platform: Platform, model: FakeModel
) -> None:
    """Promise 9: also where a run of earlier is handed over later."""
    async with serving(tmp_path, platform, extract=extractor(model)) as served:
        await platform.store("I collect coins.", run="second")
        await served.turns(1)
        await served.memory.intake.drain()
        await platform.store("I collect coins.", run="first", created_at=1_700_000_000_000_000_000)
        await served.turns(1)
        await served.memory.intake.drain()
        await platform.until(lambda: len(platform.told("StoreUserMemoryEvent")) == 2)
        [memory] = (await served.memory.user(alice()).list()).memories
    told = platform.told("StoreUserMemoryEvent")
    assert [each.run for each in told] == ["second", "first"]
    assert {each.data["llm_model_name"] for each in told} == {memory.model}
    assert memory.model


async def test_a_log_that_takes_nothing_holds_up_no_other(
    tmp_path: Path, platform: Platform, model: FakeModel
) -> None:
    """Its events go to the dead letters after a few tries; the other agents' are told."""
    async with Platform(platform.url) as full:
        async with serving(
            tmp_path, platform, trust={"*": "acme"}, extract=extractor(model)
        ) as served:
            config = (await full.js.stream_info(full.stream)).config
            await full.js.update_stream(config.evolve(max_msgs=1, discard="new"))
            await full.say("Filling", {})
            for thing in ("stamps", "coins"):
                await learn(served, said(full.agent, run=f"run-{thing}", thing=thing), alice())
            await learn(served, said(platform.agent, run="run-told", thing="shells"), alice())
            await platform.until(lambda: bool(platform.told("StoreUserMemoryEvent")))
            letters = await platform.dead(served.prefix, count=2)
            latest = await served.memory.ledger.latest()
            async with asyncio.timeout(PATIENCE):
                while await served.memory.ledger.position("protocol:swiss-ai-agent") != latest:
                    await asyncio.sleep(0.02)
        assert served.host.counts.untold == 2
    assert [told.run for told in platform.told("StoreUserMemoryEvent")] == ["run-told"]
    assert [letter["error"] for letter in letters] == ["Conflict", "Conflict"]
    assert all(f"agent.{full.agent_class}.hr." in letter["subject"] for letter in letters)


async def test_subjects_that_a_known_log_is_given_are_read(
    tmp_path: Path, platform: Platform
) -> None:
    """A class of agents that the platform adds to a stream which is served already."""
    added = Platform(platform.url, agent_class="AddedAgent")
    async with serving(tmp_path, platform, trust={"*": "acme"}) as served:
        await platform.store("I collect coins.", run="run-1")
        await served.turns(1)
        config = (await platform.js.stream_info(platform.stream)).config
        subjects = [*(config.subjects or []), "agent.AddedAgent.>"]
        await platform.js.update_stream(config.evolve(subjects=subjects))
        wrapped = added.start_event("I collect stamps.", run="run-2")
        subject = "MemoryStorageRequestedEvent"
        await platform.say(subject, {"start_event": wrapped}, run="run-2", agent_class="AddedAgent")
        found = await served.turns(2)
    assert [turn.run_id for turn in found] == ["run-1", "run-2"]


async def test_a_run_is_stored_once_and_what_differs_is_refused(
    tmp_path: Path, platform: Platform, model: FakeModel
) -> None:
    """Promise 4: nothing is dropped without a trace, while it waits and after it was extracted."""
    async with serving(tmp_path, platform, extract=extractor(model)) as served:
        await platform.store("I collect stamps.", event="once")
        await platform.store("I collect stamps.", event="again")
        await platform.store("I collect coins.", event="other")
        [letter] = await platform.dead(served.prefix, count=1)
        await served.memory.intake.drain()
        await platform.store("I collect stamps.", event="later")
        await platform.store("I collect shells.", event="another")
        letters = await platform.dead(served.prefix, count=2)
        counts = served.host.counts
        assert (counts.stored, counts.repeated, counts.refused) == (1, 2, 2)
    assert letter["error"] == "Invalid"
    assert [each["subject"].rpartition(".")[2] for each in letters] == ["other", "another"]


@pytest.mark.parametrize(
    ("trust", "tenant", "stored"),
    [
        ({"{}": "acme"}, "acme", True),
        ({"{}": "acme", "Writer": "acme"}, "acme", True),
        ({"Writer": "acme"}, "acme", True),
        ({"*": "globex", "{}": "acme"}, "acme", True),
        ({"{}": "acme", "Writer": "*"}, None, True),
        ({"{}": "acme", "Writer": "globex"}, "acme", False),
        ({"{}": "acme"}, "globex", False),
        ({"Other": "acme"}, "acme", False),
    ],
)
async def test_a_writer_hands_over_for_the_tenant_of_the_origin_s_agent(
    tmp_path: Path,
    platform: Platform,
    trust: dict[str, str],
    tenant: str | None,
    stored: bool,
) -> None:
    """Promise 1: a writer speaks for nobody for whom the origin's agent does not."""
    rules = {name.format(platform.agent_class): found for name, found in trust.items()}
    async with (
        Platform(platform.url, agent_class="Writer") as writer,
        serving(tmp_path, platform, trust=rules, protocol_writer="Writer") as served,
    ):
        event = platform.start_event("I collect coins.", user=person(tenant=tenant))
        fields = {k: v for k, v in event.items() if k not in {"event_id", "created_at"}}
        await writer.say("StoreUserMemoryRequestedEvent", fields, run="writer-run")
        if stored:
            [turn] = await served.turns(1)
            assert (turn.agent, turn.run_id) == (platform.agent, "run-1")
        else:
            [letter] = await platform.dead(served.prefix, count=1)
            assert letter["error"] == "Denied"


async def test_what_is_documented_without_an_author_is_told_by_trust_only(
    tmp_path: Path, platform: Platform
) -> None:
    origin = Origin(at=now(), agent=platform.agent, thread_id="t", display_id="d", run_id="r")
    async with serving(tmp_path, platform, trust=EVERYBODY) as served:
        organization = served.memory.organization(alice(curator=[None]), namespace=None)
        await organization.document("Falcon uses microservices", origin=origin)
        await platform.store("I collect coins.")
        await served.turns(1)
        latest = await served.memory.ledger.latest()
        async with asyncio.timeout(PATIENCE):
            while await served.memory.ledger.position("protocol:swiss-ai-agent") != latest:
                await asyncio.sleep(0.02)
    assert platform.told("StoreOrganizationMemoryEvent") == []
