"""What a tenant's credentials open at a real server: their own events, and nothing of others."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import ConsumerConfig
from pydantic import SecretStr

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Conflict, Invalid
from ricordo.model import UserScope
from ricordo.settings import Settings
from ricordo.wire import consumer_of, permissions_of, written
from ricordo.wiring.messaging import events_stream, make_relay, prepare
from tests.support.nats_server import NatsServer
from tests.support.publishing import validator
from tests.support.relaying import PATIENCE, now, stored

TENANTS = ("acme", "umbrella corp. *>")
STREAM = "ricordo_events"
RELAY = (
    "ricordo.*.events.>",
    f"$JS.API.STREAM.INFO.{STREAM}",
    f"$JS.API.STREAM.MSG.GET.{STREAM}",
    f"$JS.API.STREAM.PURGE.{STREAM}",
)
"""What the how-to says that a relay needs."""


def _users() -> str:
    users = ['{ user: "ricordo", password: "operator" }']
    for number, tenant in enumerate(TENANTS):
        allowed = written(
            permissions_of(tenant, prefix="ricordo", stream=STREAM, consumers=["billing"])
        )
        users.append(f'{{ user: "tenant{number}", password: "secret{number}", {allowed} }}')
    allowed = ", ".join(f'"{subject}"' for subject in RELAY)
    users.append(
        f'{{ user: "relay", password: "relays", permissions: {{ publish: {{ allow: [{allowed}] }}, '
        'subscribe: { allow: ["_INBOX.>"] } } }'
    )
    return "authorization { users: [\n" + "\n".join(users) + "\n] }"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats"), config=_users()) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    return Settings(
        nats_url=server.url, nats_user="ricordo", nats_password="operator", nats_timeout=10
    )


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=now) as opened:
        yield opened


class Guest:
    """A tenant's client, and what the server complained of."""

    def __init__(self, client: Client, errors: "asyncio.Queue[str]") -> None:
        self.client = client
        self.errors = errors

    async def refused(self) -> str:
        """The next refusal, which is told beside the call."""
        async with asyncio.timeout(PATIENCE):
            return (await self.errors.get()).lower()


@asynccontextmanager
async def guest(server: NatsServer, number: int) -> AsyncIterator[Guest]:
    errors: asyncio.Queue[str] = asyncio.Queue()

    async def hear(error: Exception) -> None:
        errors.put_nowait(str(error))

    inbox = permissions_of(TENANTS[number], prefix="ricordo", stream=STREAM).inbox
    client = await nats.connect(
        server.url,
        user=f"tenant{number}",
        password=f"secret{number}",
        error_cb=hear,
        inbox_prefix=inbox,
    )
    try:
        yield Guest(client, errors)
    finally:
        await client.close()


@asynccontextmanager
async def operator(server: NatsServer) -> AsyncIterator[JetStreamContext]:
    client = await nats.connect(server.url, user="ricordo", password="operator")
    try:
        yield client.jetstream()
    finally:
        await client.close()


async def relay_some(ledger: SqliteLedger, settings: Settings) -> None:
    """Three events of each tenant."""
    relay = await make_relay(settings, ledger, clock=now)
    assert relay is not None
    for tenant in TENANTS:
        scope = UserScope(tenant=tenant, user="alice")
        for number in range(3):
            event = stored(scope, number)
            await ledger.write(lambda tx, event=event: tx.emit(event), scope=scope)
    await relay.drain()
    scope = UserScope(tenant=TENANTS[0], user="gone")
    await ledger.write(lambda tx: tx.emit(stored(scope, 9)), scope=scope)
    await relay.drain()
    await ledger.write(lambda tx: tx.erase(scope=scope, at=now()), scope=scope)
    await relay.drain()
    await relay.resign()
    await relay.close()


async def test_a_tenant_hears_and_reads_its_own_events_and_no_other_s(
    server: NatsServer, ledger: SqliteLedger, settings: Settings
) -> None:
    """Promise 1 at the bus: with plain nats-py and the published schema, no code of Ricordo's."""
    await prepare(ledger, settings, consumers=[("billing", tenant) for tenant in TENANTS])
    async with guest(server, 0) as mine, guest(server, 1) as theirs:
        heard = await mine.client.subscribe("ricordo.acme.events.>")
        await mine.client.flush()
        mere = {"nats_user": "relay", "nats_password": SecretStr("relays")}
        await relay_some(ledger, settings.model_copy(update=mere))
        live = [(await heard.next_msg(timeout=PATIENCE)).data for _ in range(3)]
        kept = await pulled(mine.client, "acme_billing", 0)
        assert live == kept
        for payload in kept:
            event = json.loads(payload)
            validator("UserMemoryStored").validate(event)
            assert event["type"] == "ricordo.user.memory.stored.v1"
            assert event["data"]["scope"]["tenant"] == "acme"
            assert "alice" not in payload.decode()
        assert [json.loads(p)["data"]["memory_id"] for p in kept] == ["m_0", "m_1", "m_2"]
        others = await pulled(theirs.client, "umbrella=20corp=2e=20=2a=3e_billing", 1)
        assert {json.loads(p)["data"]["scope"]["tenant"] for p in others} == {TENANTS[1]}
        assert mine.errors.empty()
        assert theirs.errors.empty()

        for pattern in (
            "ricordo.umbrella=20corp=2e=20=2a=3e.events.>",
            "ricordo.*.events.>",
            "ricordo.>",
            ">",
            "*.acme.events.>",
            "_INBOX.>",
            "_INBOX_umbrella=20corp=2e=20=2a=3e.>",
            "$JS.>",
        ):
            await mine.client.subscribe(pattern)
            await mine.client.flush()
            assert f'"{pattern.lower()}"' in await mine.refused()

        for subject, payload in (
            ("ricordo.acme.events.user.memory.stored.x", b"forged"),
            (f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.umbrella=20corp=2e=20=2a=3e_billing", b"1"),
            (f"$JS.API.CONSUMER.CREATE.{STREAM}", b"{}"),
            (f"$JS.API.CONSUMER.CREATE.{STREAM}.own.ricordo.>", b"{}"),
            (f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.own", b"{}"),
            (f"$JS.API.STREAM.MSG.GET.{STREAM}", b'{"seq":4}'),
            (f"$JS.API.DIRECT.GET.{STREAM}", b'{"seq":4}'),
            (f"$JS.API.STREAM.INFO.{STREAM}", b""),
            (f"$JS.API.STREAM.PURGE.{STREAM}", b""),
            (f"$JS.API.STREAM.DELETE.{STREAM}", b""),
            ("$JS.API.STREAM.CREATE.copy", b"{}"),
        ):
            await mine.client.publish(subject, payload, reply=mine.client.new_inbox())
            await mine.client.flush()
            assert f'"{subject.lower()}"' in await mine.refused()


async def pulled(client: Client, consumer: str, number: int) -> list[bytes]:
    """Three messages from a consumer that is there."""
    inbox = permissions_of(TENANTS[number], prefix="ricordo", stream=STREAM).inbox
    js: Any = client.jetstream(timeout=10)
    reader = await js.pull_subscribe_bind(
        consumer=consumer, stream=STREAM, inbox_prefix=f"{inbox}.".encode()
    )
    found: list[bytes] = []
    async with asyncio.timeout(PATIENCE):
        while len(found) < 3:
            for message in await reader.fetch(3 - len(found), timeout=PATIENCE):
                found.append(message.data)
                await message.ack()
    return found


def test_no_two_consumers_share_a_name() -> None:
    """Promise 1: one tenant's credentials open no consumer of another's, nor one of all's."""
    tenants = ("acme", "acme_x", "=", "all", "a.b", None)
    names = ("y", "x-y", "billing")
    made = [consumer_of(tenant, name) for tenant in tenants for name in names]
    assert len(set(made)) == len(made)
    for tenant, name in (("acme", "x_y"), (None, "acme_billing"), ("acme", "="), ("acme", "")):
        with pytest.raises(Invalid):
            consumer_of(tenant, name)


async def test_a_consumer_never_gets_another_tenants_events(
    server: NatsServer, ledger: SqliteLedger, settings: Settings
) -> None:
    """Promise 1: one that is there, whoever made it, is not turned to other subjects."""
    apart = settings.model_copy(update={"nats_prefix": "apart"})
    stream = events_stream(apart)
    await prepare(ledger, apart)
    async with operator(server) as js:
        theirs = ConsumerConfig(durable_name="acme_hand", filter_subject="apart.globex.events.>")
        await js.add_consumer(stream, theirs)
        for dry_run in (True, False):
            with pytest.raises(Conflict, match="acme_hand"):
                await prepare(ledger, apart, consumers=[("hand", "acme")], dry_run=dry_run)
        found = await js.consumer_info(stream, "acme_hand")
        assert found.config.filter_subject == "apart.globex.events.>"


def test_a_tenant_without_consumers_may_publish_nothing() -> None:
    """To a server, an empty list of what is allowed would allow everything."""
    assert 'publish: { deny: ">" }' in written(
        permissions_of("acme", prefix="ricordo", stream=STREAM)
    )
    assert events_stream(Settings()) == STREAM
