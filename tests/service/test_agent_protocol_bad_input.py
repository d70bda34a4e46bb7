"""What is no sound event of the platform goes to the dead letters, and harms nothing."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tests.service.test_agent_protocol import Served, serving
from tests.support.agent_platform import PATIENCE, Platform, message, person
from tests.support.nats_server import NatsServer

STORE = "MemoryStorageRequestedEvent"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as started:
        yield started


@pytest.fixture
async def platform(server: NatsServer) -> AsyncIterator[Platform]:
    async with Platform(server.url) as there:
        yield there


def _event(platform: Platform, **changes: Any) -> dict[str, Any]:
    return {
        "event_id": "event",
        "created_at": 1_790_000_000_000_000_000,
        "_event_name": STORE,
        "_parent_event_names": [STORE, "ControlEvent"],
        "start_event": platform.start_event("I like tea", run="bad"),
        **changes,
    }


def _start(platform: Platform, **changes: Any) -> dict[str, Any]:
    return _event(platform, start_event=platform.start_event("I like tea", run="bad", **changes))


def _nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def payloads(platform: Platform) -> dict[str, bytes]:
    """By what is wrong with it."""
    whole = json.dumps(_event(platform))
    told: dict[str, Any] = {
        "no event id": _event(platform, event_id=None),
        "another event id": _event(platform, event_id="other"),
        "another name": _event(platform, _event_name="RecallMemoryEvent"),
        "no name": _event(platform, _event_name=None),
        "no time": _event(platform, created_at=None),
        "a time as text": _event(platform, created_at="now"),
        "a time that is true": _event(platform, created_at=True),
        "a time before 1970": _event(platform, created_at=-1),
        "a time too far": _event(platform, created_at=10**30),
        "parents that are no list": _event(platform, _parent_event_names="ControlEvent"),
        "parents that are no names": _event(platform, _parent_event_names=[1]),
        "nothing wrapped": _event(platform, start_event=None),
        "a list wrapped": _event(platform, start_event=[]),
        "an unknown version": _start(platform, _event_name="StoreUserMemoryRequestedEventV2"),
        "no person": _start(platform, user={}),
        "a person who is a number": _start(platform, user={"id": 7}),
        "a person who is text": _start(platform, user="alice"),
        "a tenant without id": _start(platform, user={"id": "alice", "acting_within_tenant": {}}),
        "no messages": _start(platform, messages=None),
        "messages that are text": _start(platform, messages="I like tea"),
        "a message that is text": _start(platform, messages=["I like tea"]),
        "a message without role": _start(platform, messages=[{"content": "I like tea"}]),
        "a role that is none": _start(platform, messages=[{"role": 1, "content": "tea"}]),
        "content that is a list": _start(platform, messages=[{"role": "user", "content": ["x"]}]),
        "blocks that are text": _start(platform, messages=[{"role": "user", "blocks": "x"}]),
        "a text that is none": _start(
            platform, messages=[{"role": "user", "blocks": [{"block_type": "text", "text": 1}]}]
        ),
        "too many messages": _start(platform, messages=[message("user", "x")] * 1_001),
        "a locale that is none": _start(platform, locale=1),
        "a name that is none": _start(platform, origin_agent_name={"en": 1}),
        "a model that is none": _start(platform, origin_memory_llm={}),
        "another thread": _start(platform, origin_thread_id="thread-2"),
        "another run": _start(platform, origin_run_id="run-2"),
        "another display": _start(platform, origin_display_id="display-2"),
        "another agent": _start(platform, origin_agent_id="it"),
        "another class": _start(platform, origin_agent_class="Other"),
        "no thread": _start(platform, origin_thread_id=None),
        "a thread with a dot": _start(platform, origin_thread_id="a.b"),
        "a thread of everything": _start(platform, origin_thread_id=">"),
        "a thread of anything": _start(platform, origin_thread_id="*"),
        "a thread with a space": _start(platform, origin_thread_id="a b"),
        "a thread with a line end": _start(platform, origin_thread_id="a\nb"),
        "a class with a slash": _start(platform, origin_agent_class="a/b"),
    }
    raw: dict[str, bytes] = {
        "empty": b"",
        "no JSON": b"{",
        "no text": b"\xff\xfe\x00",
        "a list": b"[]",
        "null": b"null",
        "nested too deep": _nested(100_000).encode(),
        "not a number": b'{"created_at": NaN}',
        "a field twice": whole.replace('{"event_id"', '{"event_id": "x", "event_id"', 1).encode(),
    }
    return raw | {name: json.dumps(data).encode() for name, data in told.items()}


async def test_malformed_events_are_refused_and_the_next_is_kept(
    tmp_path: Path, platform: Platform
) -> None:
    """Each has one letter that tells where it lies and why, and nothing that it says."""
    bad = payloads(platform)
    async with serving(tmp_path, platform) as served:
        for payload in bad.values():
            await platform.publish(platform.subject(STORE, event="event", run="bad"), payload)
        await platform.store("I like tea", run="good")
        [turn] = await served.turns(1)
        letters = await platform.dead(served.prefix, count=len(bad))
    assert turn.run_id == "good"
    assert [letter["sequence"] for letter in letters] == list(range(1, len(bad) + 1))
    for name, letter in zip(bad, letters, strict=True):
        wanted = "UnknownVersion" if "version" in name else "Unreadable"
        assert letter["error"] == wanted, (name, letter)
        assert letter["reason"], name
        assert letter["stream"] == platform.stream
        assert "tea" not in json.dumps(letter)
        assert "alice" not in json.dumps(letter)


async def test_a_run_speaks_for_another_one_only_as_the_writer(
    tmp_path: Path, platform: Platform
) -> None:
    """The platform's dispatcher hands requests to a writer, whose subject names its own run."""
    async with Platform(platform.url, agent_class=f"{platform.agent_class}Writer") as writer:
        trust = {"*": "acme"}
        async with serving(
            tmp_path, platform, trust=trust, protocol_writer=writer.agent_class
        ) as served:
            for teller in (platform, writer):
                request = platform.start_event("I like tea", run=f"of-{teller.agent_class}")
                request = {k: v for k, v in request.items() if k != "event_id"}
                await teller.say("StoreUserMemoryRequestedEvent", request, run="own-run")
            [turn] = await served.turns(1)
            [letter] = await platform.dead(served.prefix, count=1)
    assert turn.run_id == f"of-{writer.agent_class}"
    assert turn.agent == platform.agent
    assert letter["stream"] == platform.stream


async def test_nobody_speaks_as_the_writer_unless_it_is_set(
    tmp_path: Path, platform: Platform
) -> None:
    async with serving(tmp_path, platform) as served:
        request = platform.start_event("I like tea", run="other")
        await platform.say("StoreUserMemoryRequestedEvent", request | {"event_id": "e"}, event="e")
        await platform.store("I like tea", run="good")
        assert [turn.run_id for turn in await served.turns(1)] == ["good"]


def _raw(server: NatsServer, *words: bytes) -> None:
    """Say something to the server as no client library would; and see it taken."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
        reader = line.makefile("rb")
        assert reader.readline().startswith(b"INFO")
        line.sendall(b'CONNECT {"verbose":false,"headers":true}\r\n' + b"".join(words))
        line.sendall(b"PING\r\n")
        while not (heard := reader.readline()).startswith(b"PONG"):
            assert heard, "the server hung up"
            if heard.startswith(b"MSG"):
                reader.readline()


def _pub(subject: bytes, payload: bytes, headers: bytes = b"") -> bytes:
    if not headers:
        return b"PUB %s %d\r\n%s\r\n" % (subject, len(payload), payload)
    sizes = (len(headers), len(headers) + len(payload))
    return b"HPUB %s %d %d\r\n%s%s\r\n" % (subject, *sizes, headers, payload)


async def test_hostile_subjects_and_headers_harm_nothing(
    tmp_path: Path, platform: Platform, server: NatsServer
) -> None:
    """Wildcards, bytes that are no text, too many tokens; headers that speak as the server does."""
    of = platform.agent_class.encode()
    tail = b"control_event.MemoryStorageRequestedEvent"
    subjects = [
        b"agent.%s.*.t.d.r.%s.e" % (of, tail),
        b"agent.%s.hr.*.d.r.%s.e" % (of, tail),
        b"agent.%s.hr.t.d.>.%s.e" % (of, tail),
        b"agent.%s.hr.t.d.r.%s.>" % (of, tail),
        b"agent.%s.hr.t\xff\xfe.d.r.%s.e" % (of, tail),
        b"agent.%s.hr.t\xc2\xa0.d.r.%s.e" % (of, tail),
        b"agent.%s.hr.%s.d.r.%s.e" % (of, b"t" * 300, tail),
        b"agent.%s.a.b.c.hr.t.d.r.%s.e" % (of, tail),
        b"agent.%s.hr.t.d.r.other_event.MemoryStorageRequestedEvent.e" % of,
        b"agent.%s.hr.t.d.r.control_event.RecallMemoryEvent.\xff" % of,
    ]
    headers = [
        b"NATS/1.0 503\r\n\r\n",
        b"NATS/1.0 404 No Messages\r\n\r\n",
        b"NATS/1.0 100 Idle Heartbeat\r\n\r\n",
        b"NATS/1.0 \xff\xff \xff\r\n\r\n",
        b"NATS/1.0\r\nStatus: 408\r\n\r\n",
        b"NATS/1.0\r\n\xff\xff: \xff\r\nno colon\r\n\r\n",
        b"NATS/1.0\r\nAuthorization: Bearer \xff\r\n\r\n",
    ]
    good = platform.subject(STORE, event="event", run="bad").encode()
    async with serving(tmp_path, platform) as served:
        await platform.listening.unsubscribe()  # a plain client would not survive this
        said = [_pub(subject, b"{}") for subject in subjects]
        said += [_pub(good, b"{}", each) for each in headers]
        for each in said:
            await asyncio.to_thread(_raw, server, each)
        await platform.store("I like tea", run="good")
        [turn] = await served.turns(1)
        await _all_settled(platform, served)
    assert turn.run_id == "good"
    assert served.host.counts.refused >= 5 + len(headers)


async def _all_settled(platform: Platform, served: Served) -> None:
    """Nothing waits, and nothing will come again."""
    async with asyncio.timeout(PATIENCE):
        for name in ("store", "recall"):
            while True:
                consumer = f"{served.prefix}_{name}"
                info = await platform.js.consumer_info(platform.stream, consumer)
                if not info.num_pending and not info.num_ack_pending:
                    break
                await asyncio.sleep(0.02)


async def test_the_host_needs_no_more_permissions_than_the_how_to_says(tmp_path: Path) -> None:
    """With these it stores, recalls and refuses; it could not publish a display event."""
    page = Path(__file__).parents[2] / "docs/how-to/speak-the-swiss-ai-agent-protocol.md"
    allowed = page.read_text("utf-8").split("```\npublish: ")[1].split("\n```")[0]
    users = f"""authorization {{ users: [
      {{ user: "platform", password: "all" }}
      {{ user: "host", password: "some", permissions: {{ publish: {allowed} }} }}
    ] }}"""
    with NatsServer(tmp_path / "nats", config=users) as guarded:
        whole = guarded.url.replace("nats://", "nats://platform:all@")
        async with Platform(whole) as platform:
            operator = {"nats_user": "platform", "nats_password": SecretStr("all")}
            more: dict[str, Any] = {"nats_user": "host", "nats_password": "some"}
            async with serving(
                tmp_path, platform, prefix="ricordo", url=guarded.url, operator=operator, **more
            ) as served:
                await platform.publish(platform.subject(STORE, event="e", run="bad"), b"{}")
                await platform.store("I like tea", run="good")
                found = await platform.recall("tea", run="good", user=person())
                [turn] = await served.turns(1)
                [letter] = await platform.dead("ricordo", count=1)
                await _all_settled(platform, served)
    assert turn.run_id == "good"
    assert found["user_block"] == []
    assert letter["error"] == "Unreadable"
