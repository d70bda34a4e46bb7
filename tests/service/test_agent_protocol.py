"""A platform that speaks the Swiss AI Agent Protocol is served, on a real server."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ricordo import Principal, Ricordo, Settings, Speaker, Turn, grants_of
from ricordo.hosts.swiss import AgentProtocol
from ricordo.model import Origin, UserScope
from ricordo.wiring.messaging import prepare
from ricordo.wiring.protocol import open_protocol
from tests.support.agent_platform import PATIENCE, Platform, message, person, running
from tests.support.asking import AUDIENCE, ISSUER, SECRET, token
from tests.support.fake_model import FakeModel
from tests.support.nats_server import NatsServer
from tests.support.opening import opened
from tests.support.talking import answer, extractor, item

_numbers = count()

EVENTS = (
    "MemoryStorageRequestedEvent",
    "StoreUserMemoryRequestedEvent",
    "RecallMemoryEvent",
    "MemoryRecalledEvent",
    "RetrieveUserMemoryEvent",
    "RetrieveOrganizationMemoryEvent",
    "StoreUserMemoryEvent",
    "StoreOrganizationMemoryEvent",
    "AddUserMemoryToChatHistoryEvent",
    "AddOrganizationMemoryToChatHistoryEvent",
)
"""Every event of the protocol that has to do with memory."""


TOKENS: dict[str, Any] = {
    "token_secret": SECRET,
    "token_issuer": ISSUER,
    "token_audience": AUDIENCE,
}
"""Settings by which tokens are known."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as started:
        yield started


@pytest.fixture
async def platform(server: NatsServer) -> AsyncIterator[Platform]:
    async with Platform(server.url) as there:
        yield there


def now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Served:
    """A memory, and what serves the platform with it."""

    memory: Ricordo
    host: AgentProtocol
    settings: Settings

    @property
    def prefix(self) -> str:
        return self.settings.nats_prefix

    async def turns(self, count: int, *, user: str = "alice", tenant: str = "acme") -> list[Turn]:
        """What waits to become memory, as soon as it is so much."""
        scope = UserScope(tenant=tenant, user=user)
        async with asyncio.timeout(PATIENCE):
            while len(found := await self.memory.ledger.waiting(scope=scope, limit=99)) < count:
                await asyncio.sleep(0.01)
        return list(found)


@asynccontextmanager
async def serving(
    folder: Path, platform: Platform, *, ready: Any = None, **more: Any
) -> AsyncIterator[Served]:
    """A memory that serves the platform, trusted for the people of acme unless said otherwise."""
    trust = more.pop("trust", {platform.agent_class: "acme"})
    extract = more.pop("extract", None)
    operator = more.pop("operator", {})
    clock = more.pop("clock", now)
    settings = Settings(
        worker=False,
        nats_url=more.pop("url", platform.url),
        nats_prefix=more.pop("prefix", None) or f"r{next(_numbers)}",
        nats_timeout=30,
        protocol="swiss-ai-agent",
        protocol_trust=trust,
        **{"protocol_deadline": 30, **more},
    )
    async with opened(folder, clock=clock, settings=settings, extractor=extract) as memory:
        await prepare(memory.ledger, settings.model_copy(update=operator))
        if ready is not None:
            await ready(memory)
        async with open_protocol(memory, settings) as host, running(host.run()):
            yield Served(memory, host, settings)


def alice(**roles: Any) -> Principal:
    return Principal(tenant="acme", user="alice", grants=grants_of(**roles))


async def _knows(memory: Ricordo, platform: Platform) -> None:
    mine = memory.user(alice(), agent=platform.agent)
    await mine.remember("Alice works on Project Falcon")
    await mine.remember("Alice prefers short answers", kind="preference")
    organization = memory.organization(alice(curator=[None]), namespace=None)
    await organization.document("Project Falcon uses microservices")


def text_of(block: list[dict[str, Any]]) -> str:
    return "\n".join(part["text"] for each in block for part in each["blocks"])


# ── Storing ─────────────────────────────────────────────────────────────────────────────────


async def test_a_run_is_kept_under_its_own_ids(tmp_path: Path, platform: Platform) -> None:
    """The turn carries thread, display, run and agent of the run that it comes from."""
    async with serving(tmp_path, platform) as served:
        event = await platform.store(
            "I work on Project Falcon",
            messages=[
                message("system", "You are helpful."),
                message("user", "I work on Project Falcon"),
                {"role": "user", "content": "and I like tea"},
                message("assistant", "Noted."),
                message("tool", "42 rows"),
                message("user", "<ricordo-memory>\nold\n</ricordo-memory>"),
                message("user", "a picture", kind="image"),
            ],
            unknown_field={"is": "let be"},
        )
        [turn] = await served.turns(1)
    assert (turn.thread_id, turn.display_id, turn.run_id) == ("thread-1", "display-1", "run-1")
    assert turn.agent == f"{platform.agent_class}/hr"
    assert [(s.speaker, s.text, s.trusted) for s in turn.said] == [
        (Speaker.USER, "I work on Project Falcon", True),
        (Speaker.USER, "and I like tea", True),
        (Speaker.ASSISTANT, "Noted.", True),
        (Speaker.TOOL, "42 rows", False),
        (Speaker.USER, "<ricordo-memory>\nold\n</ricordo-memory>", False),
    ]
    assert all(s.id is not None and event in s.id for s in turn.said)


async def test_the_same_run_again_changes_nothing(tmp_path: Path, platform: Platform) -> None:
    """Promise 4: the same event published again, and another event of the same run."""
    async with serving(tmp_path, platform) as served:
        await platform.store("I work on Project Falcon", event="once")
        await platform.store("I work on Project Falcon", event="once")
        await platform.store("I work on Project Falcon", event="twice")
        await platform.store("I like tea", run="run-2")
        found = await served.turns(2)
        await _until(lambda: served.host.counts.repeated == 2)
    assert [turn.run_id for turn in found] == ["run-1", "run-2"]
    assert served.host.counts.stored == 2


async def test_runs_are_queued_in_the_order_in_which_they_were_handed_over(
    tmp_path: Path, platform: Platform
) -> None:
    async with serving(tmp_path, platform) as served:
        for number in range(20):
            await platform.store(f"It is {number}", run=f"run-{number}")
        found = await served.turns(20)
    assert [turn.run_id for turn in found] == [f"run-{n}" for n in range(20)]


async def test_two_processes_share_the_work_and_keep_the_order(
    tmp_path: Path, platform: Platform
) -> None:
    async with (
        serving(tmp_path, platform) as served,
        open_protocol(served.memory, served.settings) as other,
        running(other.run()),
    ):
        for number in range(30):
            await platform.store(f"It is {number}", run=f"run-{number}")
        found = await served.turns(30)
        await _until(lambda: served.host.counts.stored + other.counts.stored == 30)
    assert [turn.run_id for turn in found] == [f"run-{n}" for n in range(30)]


async def test_a_server_that_was_killed_is_served_again(tmp_path: Path) -> None:
    """Promise 4: what the platform published is stored once, and asked again is answered."""
    with NatsServer(tmp_path / "nats") as mine:
        async with Platform(mine.url) as platform, serving(tmp_path, platform) as served:
            await platform.store("before", run="run-1")
            await served.turns(1)
            await platform.client.close()
            mine.kill()
            mine.start()
            await platform.connect()
            await platform.store("after", run="run-2")
            found = await served.turns(2)
            answer = await platform.recall("Falcon", run="run-3", user=person())
    assert [turn.run_id for turn in found] == ["run-1", "run-2"]
    assert answer["user_block"] == []


async def test_what_was_handed_over_while_nobody_served_is_kept_later(
    tmp_path: Path, platform: Platform
) -> None:
    """Also of a class of agents that the platform added meanwhile."""
    async with serving(tmp_path, platform) as served:
        await platform.store("first", run="run-1")
        await served.turns(1)
    await platform.store("second", run="run-2")
    async with Platform(platform.url) as added:
        await added.store("third", run="run-3")
        trust = {"*": "acme"}
        async with serving(tmp_path, platform, prefix=served.prefix, trust=trust) as again:
            found = await again.turns(3)
    assert sorted(turn.run_id for turn in found) == ["run-1", "run-2", "run-3"]


async def test_keeping_can_be_off(tmp_path: Path, platform: Platform) -> None:
    async with serving(tmp_path, platform, protocol_store=False) as served:
        await platform.store("I work on Project Falcon")
        await _until(lambda: served.host.counts.dropped == 1)
        assert await served.turns(0) == []


async def test_what_somebody_said_before_they_were_erased_does_not_come_back(
    tmp_path: Path, platform: Platform
) -> None:
    """Promise 11, also where the platform's clock goes ahead."""
    async with serving(tmp_path, platform) as served:
        await platform.store("I work on Project Falcon")
        await served.turns(1)
    late = platform.start_event("I like tea", run="run-2", created_at=4_000_000_000_000_000_000)
    await platform.say("MemoryStorageRequestedEvent", {"start_event": late}, run="run-2")

    async def erase(memory: Ricordo) -> None:
        await memory.user(alice()).erase()

    async with serving(tmp_path, platform, prefix=served.prefix, ready=erase) as again:
        await _until(lambda: again.host.counts.dropped == 1)
        assert await again.turns(0) == []


# ── Whose memory ────────────────────────────────────────────────────────────────────────────


async def test_nobody_is_believed_by_default(tmp_path: Path, platform: Platform) -> None:
    """Without trust or token nothing is kept, and every answer is empty."""

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(tmp_path, platform, trust=None, ready=ready) as served:
        await platform.store("I work on Project Falcon")
        [note] = await platform.dead(served.prefix, count=1)
        await platform.start()
        found = await platform.recall("Project Falcon", user=person())
        assert await served.turns(0) == []
    assert note["error"] == "Denied"
    assert (found["user_block"], found["organization_block"]) == ([], [])


async def test_another_tenants_user_is_nobody(tmp_path: Path, platform: Platform) -> None:
    """Who publishes for acme speaks for nobody of another tenant."""
    stranger = person(tenant="globex")

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(tmp_path, platform, ready=ready) as served:
        await platform.start(user=stranger)
        await platform.store("I work on Project Falcon", user=stranger)
        found = await platform.recall("Project Falcon")
        notes = await platform.dead(served.prefix, count=2)
        assert await served.turns(0) == []
        assert await served.turns(0, tenant="globex") == []
    assert [note["error"] for note in notes] == ["Denied", "Denied"]
    assert (found["user_block"], found["organization_block"]) == ([], [])


async def test_a_whole_platform_can_be_trusted_to_name_the_tenant(
    tmp_path: Path, platform: Platform
) -> None:
    async with serving(tmp_path, platform, trust={"*": "*"}) as served:
        await platform.store("I work on Falcon", user=person(tenant="globex"))
        await platform.store("I work on Kestrel", user=person(tenant=None), run="run-2")
        await served.turns(1, tenant="globex")
        [note] = await platform.dead(served.prefix, count=1)
    assert note["error"] == "Denied"


async def test_a_token_names_the_person(tmp_path: Path, platform: Platform) -> None:
    """What a token says holds; whoever it does not name is not believed to be meant."""
    bob = Principal(tenant="globex", user="bob")

    async def ready(memory: Ricordo) -> None:
        await memory.user(bob).remember("Bob works on Project Kestrel")
        await _knows(memory, platform)

    async with serving(tmp_path, platform, trust=None, ready=ready, **TOKENS) as served:
        good = {"Authorization": f"Bearer {token('bob', 'globex')}"}
        forgery = token("bob", "globex", key="another secret, just as long as that")
        bad = {"Authorization": f"Bearer {forgery}"}
        as_bob = person("bob", "globex")
        await platform.store("I like tea", user=as_bob, headers=good)
        await platform.store("I like tea", run="run-2", user=as_bob, headers=bad)
        await platform.store("I like tea", run="run-3", headers=good)
        await served.turns(1, user="bob", tenant="globex")
        found = await platform.recall("Project Kestrel", run="run-4", headers=good)
        other = await platform.recall("Project Falcon", run="run-5", headers=good, user=person())
        forged = await platform.recall("Project Falcon", run="run-6", headers=bad)
        assert len(await served.turns(1, user="bob", tenant="globex")) == 1
        await platform.dead(served.prefix, count=4)
    assert "Kestrel" in text_of(found["user_block"])
    assert other["user_block"] == forged["user_block"] == []


# ── Recalling ───────────────────────────────────────────────────────────────────────────────


async def test_a_recall_is_answered_with_both_blocks(tmp_path: Path, platform: Platform) -> None:
    """Promises 1 and 5: each block is the product's own rendering, as reference data."""

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(tmp_path, platform, ready=ready, protocol_namespaces=[""]) as served:
        await platform.start()
        found = await platform.recall("short answers on Project Falcon", tool_call_id="call-1")
        person_key = await served.memory.ledger.subject(
            scope=UserScope(tenant="acme", user="alice")
        )
    own, shared = text_of(found["user_block"]), text_of(found["organization_block"])
    assert own.startswith("<ricordo-memory>")
    assert "Alice works on Project Falcon" in own
    assert "prefers short answers" in own
    assert "microservices" not in own
    assert "Project Falcon uses microservices" in shared
    assert "Alice works" not in shared
    assert found["user_block"][0]["role"] == "user"
    assert found["tool_call_id"] == "call-1"
    for name in ("RetrieveUserMemoryEvent", "RetrieveOrganizationMemoryEvent"):
        [told] = platform.told(name)
        assert told.data["memories"]
        assert all(each["id"].startswith("m_") for each in told.data["memories"])
        assert all(each["memory"] == "" for each in told.data["memories"])
        assert "Falcon" not in json.dumps(told.data)
        assert "alice" not in json.dumps(told.data)
    assert platform.told("RetrieveUserMemoryEvent")[0].data["memories"][0]["owner_id"] == person_key
    _check_core(platform)


async def test_a_preference_is_recalled_by_the_agent_that_learned_it_only(
    tmp_path: Path, platform: Platform
) -> None:
    """Promise 2: two agents of one class are two agents."""

    async def ready(memory: Ricordo) -> None:
        other = memory.user(alice(), agent=f"{platform.agent_class}/it")
        await other.remember("Alice prefers long answers", kind="preference")
        await _knows(memory, platform)

    async with serving(tmp_path, platform, ready=ready):
        found = await platform.recall("answers", user=person())
    assert "short answers" in text_of(found["user_block"])
    assert "long answers" not in text_of(found["user_block"])


async def test_namespaces_narrow_what_is_granted_and_never_widen_it(
    tmp_path: Path, platform: Platform
) -> None:
    async def ready(memory: Ricordo) -> None:
        curator = Principal(tenant="acme", user="carol", grants=grants_of(curator=["hr", "it"]))
        for name in ("hr", "it"):
            organization = memory.organization(curator, namespace=name)
            await organization.document(f"Holidays are planned in {name}")

    async with serving(tmp_path, platform, ready=ready, protocol_namespaces=["hr"]):
        asked = {"user": person()}
        every = await platform.recall("holidays", run="run-1", **asked)
        one = await platform.recall("holidays", run="run-2", org_memory_namespaces=["hr"], **asked)
        none = await platform.recall("holidays", run="run-3", org_memory_namespaces=["it"], **asked)
    assert "planned in hr" in text_of(every["organization_block"])
    assert "planned in it" not in text_of(every["organization_block"])
    assert one["organization_block"] == every["organization_block"]
    assert none["organization_block"] == []


@pytest.mark.parametrize(
    "more",
    [
        {"protocol_recall": False},
        {"protocol_deadline": 1e-6},
    ],
    ids=["memory is off", "it takes too long"],
)
async def test_an_answer_is_empty_rather_than_none(
    tmp_path: Path, platform: Platform, more: dict[str, Any]
) -> None:
    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(tmp_path, platform, ready=ready, **more):
        found = await platform.recall("Project Falcon", user=person(), tool_call_id="call-1")
    assert (found["user_block"], found["organization_block"]) == ([], [])
    assert found["tool_call_id"] == "call-1"


@pytest.mark.parametrize(
    ("query", "more"),
    [
        ("Project Falcon", {}),
        ("  ", {"user": person()}),
        (42, {"user": person()}),
        ("Project Falcon", {"user": "alice"}),
        ("Project Falcon", {"user": {"id": ""}}),
        ("Project Falcon", {"user": person(), "org_memory_namespaces": "all"}),
        ("Project Falcon", {"user": person(), "tool_call_id": 7}),
        ("Project Falcon", {"user": person(), "tool_call_id": "\ud800"}),
        ("Project Falcon", {"user": person(), "tool_call_id": "x" * 900_000}),
    ],
    ids=[
        "no identity",
        "no question",
        "no text",
        "no object",
        "no id",
        "no list",
        "no call",
        "a call that cannot be written",
        "a call as large as a message",
    ],
)
async def test_whoever_asks_badly_gets_an_empty_answer(
    tmp_path: Path, platform: Platform, query: Any, more: dict[str, Any]
) -> None:
    """A waiter never hangs, not even one whose request is refused."""

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(tmp_path, platform, ready=ready):
        found = await platform.recall(query, **more)
    assert (found["user_block"], found["organization_block"]) == ([], [])


async def test_an_answer_comes_where_the_platform_keeps_nothing_else(
    tmp_path: Path, server: NatsServer
) -> None:
    """Which memories were found is told besides: where no stream keeps that, whoever waits has the
    answer all the same."""
    narrow = Platform(server.url, agent_class="Narrow")
    await narrow.connect()
    kept = ("UserMessageStartEvent", "RecallMemoryEvent", "MemoryRecalledEvent")
    await narrow.js.add_stream(
        name=narrow.stream,
        subjects=[f"agent.Narrow.*.*.*.*.control_event.{name}.*" for name in kept],
    )
    try:

        async def ready(memory: Ricordo) -> None:
            await _knows(memory, narrow)

        async with serving(tmp_path, narrow, ready=ready) as served:
            found = await narrow.recall("Project Falcon", user=person())
            assert "Alice works on Project Falcon" in text_of(found["user_block"])
            again = await narrow.recall("Project Falcon", user=person(), run="run-2")
            assert "Alice works on Project Falcon" in text_of(again["user_block"])
            assert served.host.counts.refused == 0
    finally:
        await narrow.js.delete_stream(narrow.stream)
        await narrow.client.close()


async def test_what_was_asked_long_ago_is_answered_with_nothing(
    tmp_path: Path, platform: Platform
) -> None:
    """A platform that lost its consumer hands all requests out anew: memories are not told again
    to whoever has long ceased to wait."""

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    late = timedelta()

    async with serving(tmp_path, platform, ready=ready, clock=lambda: now() + late):
        found = await platform.recall("Project Falcon", user=person())
        assert found["user_block"]
        late = timedelta(minutes=5)
        found = await platform.recall("Project Falcon", user=person(), run="run-2")
    assert (found["user_block"], found["organization_block"]) == ([], [])
    assert platform.told("RetrieveUserMemoryEvent", run="run-2") == []


async def test_the_same_request_again_has_the_same_answer(
    tmp_path: Path, platform: Platform
) -> None:
    """At least once; whoever counts ids sees one answer."""
    async with serving(tmp_path, platform):
        await platform.recall("Project Falcon", event="once")
        await platform.recall("Project Falcon", event="once")
    assert len({seen.data["event_id"] for seen in platform.told("MemoryRecalledEvent")}) == 1


# ── What is told ────────────────────────────────────────────────────────────────────────────


async def test_what_was_stored_is_told_to_its_run_by_ids(
    tmp_path: Path, platform: Platform
) -> None:
    """Control events of the origin's run; no text, no name of a person, nothing on display."""
    said = "I work on Project Falcon"
    reply = answer(item("Alice works on Project Falcon", said))
    with FakeModel(lambda _: reply) as model:
        async with serving(tmp_path, platform, extract=extractor(model)) as served:
            await platform.store(said, run="run-7", thread="thread-7")
            await served.turns(1)
            await served.memory.intake.drain()
            await platform.until(lambda: bool(platform.told("StoreUserMemoryEvent")))
            curator = alice(curator=[None])
            origin = Origin(
                at=now(),
                agent=platform.agent,
                thread_id="thread-7",
                display_id="display-1",
                run_id="run-8",
            )
            organization = served.memory.organization(curator, namespace=None)
            await organization.document("Falcon uses microservices", origin=origin)
            await platform.until(lambda: bool(platform.told("StoreOrganizationMemoryEvent")))
            [memory] = (await served.memory.user(alice()).list()).memories
    [told] = platform.told("StoreUserMemoryEvent")
    assert told.subject.startswith(
        f"agent.{platform.agent_class}.hr.thread-7.display-1.run-7.control_event."
    )
    assert told.data["added_memories"] == [memory.id]
    assert told.data["updated_memories"] == told.data["deleted_memories"] == []
    assert told.data["deleted_relations"] == []
    [shared] = platform.told("StoreOrganizationMemoryEvent")
    assert shared.run == "run-8"
    assert len(shared.data["added_memories"]) == 1
    for seen in (told, shared):
        assert "Falcon" not in json.dumps(seen.data)
        assert "alice" not in json.dumps(seen.data).lower()
    _check_core(platform)


async def test_what_another_tenant_stores_is_not_told(tmp_path: Path, platform: Platform) -> None:
    """An origin's ids are chosen by whoever writes; they open no thread of others."""
    origin = Origin(
        at=now(),
        agent=platform.agent,
        thread_id="t",
        display_id="d",
        run_id="r",
        message_ids=("agent-protocol.forged.0",),
    )
    async with serving(tmp_path, platform) as served:
        mallory = Principal(tenant="globex", user="mallory")
        await served.memory.user(mallory).remember("I was here", origin=origin)
        await served.memory.user(alice()).remember("Alice likes tea", origin=origin)
        await platform.until(lambda: bool(platform.told("StoreUserMemoryEvent")))
    assert len(platform.told("StoreUserMemoryEvent")) == 1


async def test_display_events_trigger_nothing(tmp_path: Path, platform: Platform) -> None:
    """Every event's name is sent as a display event, and nothing happens."""

    async def ready(memory: Ricordo) -> None:
        await _knows(memory, platform)

    async with serving(
        tmp_path, platform, ready=ready, protocol_writer=platform.agent_class
    ) as served:
        for name in EVENTS:
            fields = {
                "query": "Project Falcon",
                "user": person(),
                "start_event": platform.start_event("shown", run="shown"),
                **{
                    key: value
                    for key, value in platform.start_event("shown", run="shown").items()
                    if key.startswith(("origin", "messages", "locale"))
                },
            }
            await platform.say(name, fields, run="shown", sort="display_event")
        await platform.store("I like tea", run="real")
        await platform.recall("Project Falcon", run="real", user=person())
        found = await served.turns(1)
    assert [turn.run_id for turn in found] == ["real"]
    sent = [s for s in platform.seen if s.run == "shown" and s.sort == "control_event"]
    assert sent == []
    assert served.host.counts.refused == 0


def _check_core(platform: Platform) -> None:
    """What we publish has the core fields, and is a control event."""
    ours = [s for s in platform.seen if s.name.startswith(("MemoryRecalled", "Retrieve", "StoreU"))]
    assert ours
    for seen in ours:
        data = seen.data
        assert seen.sort == "control_event"
        assert data["event_id"] == seen.subject.rpartition(".")[2]
        assert data["_event_name"] == seen.name == data["_parent_event_names"][0]
        assert "ControlEvent" in data["_parent_event_names"]
        assert "DisplayEvent" not in data["_parent_event_names"]
        assert data["created_at"] > 1_700_000_000_000_000_000
        assert data["display_name"]["de"]
        assert data["display_description"]["en"]


async def _until(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.01)
