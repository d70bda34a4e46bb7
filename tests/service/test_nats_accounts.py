"""A tenant with an account of its own at a real server: what is imported is all that there is."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.aio.client import Client
from nats.errors import NoRespondersError

from ricordo import Ricordo, Settings
from ricordo.model import UserScope
from ricordo.wire import permissions_of, shared
from ricordo.wiring.messaging import make_relay, prepare
from tests.support.asking import answer_settings, answered, token
from tests.support.nats_server import NatsServer
from tests.support.opening import opened
from tests.support.relaying import PATIENCE, now, stored

STREAM = "ricordo_events"
NO_JETSTREAM = 10039
ACCOUNTS = {"ACME": "acme", "UMBRELLA": "umbrella corp. *>"}
READERS = {"ACME": "acme_billing", "UMBRELLA": "umbrella=20corp=2e=20=2a=3e_billing"}


def _configured() -> str:
    """Every tenant's parts, as the command line prints them, in one server's configuration."""
    exports: list[str] = []
    accounts: list[str] = []
    for account, tenant in ACCOUNTS.items():
        allowed = permissions_of(
            tenant, prefix="ricordo", stream=STREAM, consumers=["billing"], asking=True
        )
        theirs, _, imports = shared(allowed, account=account, own="RICORDO").partition("imports: [")
        exports += [line for line in theirs.splitlines() if line.startswith("  ")]
        users = f'users: [ {{ user: "{account}", password: "{account}" }} ]'
        accounts.append(f"{account}: {{ {users}\nimports: [{imports} }}")
    lines = "\n".join(exports)
    own = 'users: [ { user: "ricordo", password: "operator" } ]\njetstream: enabled'
    return "\n".join(
        ["accounts {", f"RICORDO: {{ {own}\nexports: [\n{lines}\n] }}", *accounts, "}"]
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with NatsServer(tmp_path / "nats", config=_configured()) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    known: dict[str, object] = {"nats_user": "ricordo", "nats_password": "operator"}
    return answer_settings(server.url, **known)


@pytest.fixture
async def memory(tmp_path: Path, settings: Settings) -> AsyncIterator[Ricordo]:
    async with opened(tmp_path, clock=now, settings=settings) as one:
        yield one


@pytest.fixture
async def guests(server: NatsServer) -> AsyncIterator[dict[str, Client]]:
    """A client of each tenant, by its account, with no permissions but the account's."""
    async with AsyncExitStack() as stack:
        found: dict[str, Client] = {}
        for account in ACCOUNTS:
            client = await nats.connect(server.url, user=account, password=account)
            stack.push_async_callback(client.close)
            found[account] = client
        yield found


async def _announce(memory: Ricordo, settings: Settings) -> None:
    relay = await make_relay(settings, memory.ledger, clock=now)
    assert relay is not None
    for number, tenant in enumerate(ACCOUNTS.values()):
        scope = UserScope(tenant=tenant, user="alice")
        event = stored(scope, number)
        await memory.ledger.write(lambda tx, event=event: tx.emit(event), scope=scope)
    await relay.drain()
    await relay.resign()
    await relay.close()


async def test_an_account_hears_reads_and_asks_for_its_tenant_only(
    memory: Ricordo, settings: Settings, guests: dict[str, Client]
) -> None:
    """Promise 1 at the bus. What is not imported is not there: it is not even refused."""
    await prepare(
        memory.ledger, settings, consumers=[("billing", tenant) for tenant in ACCOUNTS.values()]
    )
    everything = {name: await client.subscribe(">") for name, client in guests.items()}
    for client in guests.values():
        await client.flush()
    await _announce(memory, settings)

    for account, tenant in ACCOUNTS.items():
        heard = await everything[account].next_msg(timeout=PATIENCE)
        assert json.loads(heard.data)["data"]["scope"]["tenant"] == tenant
        js: Any = guests[account].jetstream(timeout=PATIENCE)
        reader = await js.pull_subscribe_bind(consumer=READERS[account], stream=STREAM)
        [kept] = await reader.fetch(1, timeout=PATIENCE)
        assert kept.data == heard.data
        await kept.ack_sync(timeout=PATIENCE)
        await reader.unsubscribe()
        await everything[account].unsubscribe()

    async with answered(memory, settings):
        body = json.dumps({"version": 1, "body": {"question": "Which project?"}}).encode()
        bearer = {"Authorization": f"Bearer {token()}"}
        subject = "ricordo.acme.ask.recall"
        reply = await guests["ACME"].request(subject, body, timeout=PATIENCE, headers=bearer)
        assert json.loads(reply.data)["result"]["items"] == []
        with pytest.raises(NoRespondersError):
            await guests["UMBRELLA"].request(subject, body, timeout=PATIENCE, headers=bearer)


async def test_an_account_reaches_neither_the_stream_nor_another_one(
    memory: Ricordo, settings: Settings, guests: dict[str, Client]
) -> None:
    await prepare(
        memory.ledger, settings, consumers=[("billing", tenant) for tenant in ACCOUNTS.values()]
    )
    acme = guests["ACME"]
    for subject, payload in (
        (f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{READERS['UMBRELLA']}", b"1"),
        (f"$JS.API.CONSUMER.CREATE.{STREAM}", b"{}"),
        (f"$JS.API.CONSUMER.DURABLE.CREATE.{STREAM}.own", b"{}"),
        (f"$JS.API.STREAM.MSG.GET.{STREAM}", b'{"seq":1}'),
        (f"$JS.API.DIRECT.GET.{STREAM}", b'{"seq":1}'),
        (f"$JS.API.STREAM.INFO.{STREAM}", b""),
        (f"$JS.API.STREAM.PURGE.{STREAM}", b""),
        (f"$JS.API.STREAM.DELETE.{STREAM}", b""),
    ):
        try:
            reply = await acme.request(subject, payload, timeout=PATIENCE)
        except NoRespondersError:
            continue
        # This is said of the account that asks: it has no streams of its own.
        assert json.loads(reply.data)["error"]["err_code"] == NO_JETSTREAM, subject


async def test_what_an_account_publishes_is_heard_by_nobody_else(
    memory: Ricordo, settings: Settings, server: NatsServer, guests: dict[str, Client]
) -> None:
    """Nobody speaks as Ricordo: not to another tenant, and not into the stream."""
    await prepare(memory.ledger, settings)
    own = await nats.connect(server.url, user="ricordo", password="operator")
    try:
        ours = await own.subscribe("ricordo.>")
        theirs = await guests["UMBRELLA"].subscribe("ricordo.>")
        await own.flush()
        await guests["UMBRELLA"].flush()
        before = (await own.jetstream().stream_info(STREAM)).state.last_seq
        for subject in (
            "ricordo.acme.events.user.memory.stored.x",
            "ricordo.umbrella=20corp=2e=20=2a=3e.events.user.memory.stored.x",
        ):
            await guests["ACME"].publish(subject, b"forged")
        await guests["ACME"].flush()
        # What comes after them on the same way is heard, and is the first.
        await own.publish("ricordo.umbrella=20corp=2e=20=2a=3e.events.true", b"true")
        async with asyncio.timeout(PATIENCE):
            assert (await theirs.next_msg(timeout=PATIENCE)).data == b"true"
            assert (await ours.next_msg(timeout=PATIENCE)).data == b"true"
        assert (await own.jetstream().stream_info(STREAM)).state.last_seq == before + 1
    finally:
        await own.close()
