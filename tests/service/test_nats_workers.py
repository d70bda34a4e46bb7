"""Workers over NATS on a real server: signs wake them, and nothing depends on signs."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import nats
import pytest

from ricordo import Ricordo, Settings
from ricordo.adapters.nats.connection import heed_cancelling
from ricordo.wiring.messaging import dead_stream, prepare, work_stream
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.nats_server import NatsServer
from tests.support.opening import opened
from tests.support.talking import extractor
from tests.support.workers import (
    PATIENCE,
    Gate,
    at_work,
    collecting,
    heard,
    learned,
    now,
    observe,
    until,
    worker_settings,
)

FORGED = json.dumps(
    {"version": 1, "id": "0123456789abcdef", "due": "2026-01-01T00:00:00Z", "seal": "00"}
).encode()

_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        yield running


@pytest.fixture
def settings(server: NatsServer) -> Settings:
    return worker_settings(server.url, prefix=f"w{next(_numbers)}")


@asynccontextmanager
async def process(
    folder: Path, settings: Settings, model: FakeModel | None = None
) -> AsyncIterator[Ricordo]:
    """A memory as another process has it, with a connection of its own."""
    more: dict[str, Any] = {} if model is None else {"extractor": extractor(model)}
    async with opened(folder, clock=now, settings=settings, **more) as memory:
        yield memory


async def signs_left(settings: Settings) -> int:
    async with connected(settings) as client:
        info = await client.jetstream(timeout=10).stream_info(work_stream(settings))
        return info.state.messages


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Any]:
    client = await nats.connect(settings.nats_url)
    try:
        yield client
    finally:
        await client.close()


async def dead(settings: Settings) -> list[tuple[str, dict[str, Any]]]:
    """Letters about refused messages: subject and contents."""
    async with connected(settings) as client:
        js = client.jetstream(timeout=10)
        last = (await js.stream_info(dead_stream(settings))).state.last_seq
        found = [await js.get_msg(dead_stream(settings), seq=n) for n in range(1, last + 1)]
        return [(each.subject, json.loads(each.data)) for each in found]


async def test_a_sign_brings_another_processs_turn_to_a_worker(
    tmp_path: Path, settings: Settings
) -> None:
    """The worker would look at the ledger by itself an hour later only."""
    with FakeModel(collecting) as model:
        async with (
            process(tmp_path, settings) as agent,
            process(tmp_path, settings, model) as memory,
        ):
            await prepare(agent.ledger, settings)
            slowly(memory)
            async with at_work(memory):
                await until(lambda: listening(memory))
                for name in ("stamps", "coins"):
                    await observe(agent, name)
                    await until(lambda name=name: knows(agent, name))
                await until(lambda: settled(settings))
    assert await signs_left(settings) == 0


async def test_a_lost_sign_strands_nothing(tmp_path: Path, settings: Settings) -> None:
    """Promise 4: what NATS never carried is found by looking at the ledger."""
    with FakeModel(collecting) as model:
        async with (
            process(tmp_path, worker_settings(None)) as agent,  # tells nobody
            process(tmp_path, settings, model) as memory,
        ):
            await prepare(agent.ledger, settings)
            async with at_work(memory):
                await until(lambda: listening(memory))
                await observe(agent, "stamps")
                await until(lambda: knows(agent, "stamps"))


async def test_without_nats_workers_go_on(tmp_path: Path, server: NatsServer) -> None:
    """Observing neither fails nor waits while NATS is away, and what is observed is learned."""
    with FakeModel(collecting) as model, NatsServer(tmp_path / "mine") as mine:
        settings = worker_settings(mine.url)
        async with (
            process(tmp_path, settings) as agent,
            process(tmp_path, settings, model) as memory,
        ):
            await prepare(agent.ledger, settings)
            async with at_work(memory):
                await until(lambda: listening(memory))
                mine.kill()
                await observe(agent, "stamps")
                await until(lambda: knows(agent, "stamps"))
                mine.start()
                await until(lambda: listening(memory))
                slowly(memory)
                await observe(agent, "coins")
                await until(lambda: knows(agent, "coins"))


async def test_no_tenant_delays_another(tmp_path: Path, settings: Settings) -> None:
    """500 turns of a hundred users wait; one of another tenant comes last, and is second."""
    order: list[str] = []

    def answer(request: Request) -> Reply:
        order.extend(name for _, name in heard(request))
        return collecting(request)

    one = settings.model_copy(update={"model_concurrency": 1, "batch_size": 4})
    with FakeModel(answer) as model:
        async with (
            process(tmp_path, one) as agent,
            process(tmp_path, one, model) as memory,
        ):
            await prepare(agent.ledger, one)
            for number in range(500):
                await observe(agent, f"n{number}", user=f"user-{number % 100}")
            await observe(agent, "single", user="dora", tenant="globex")
            async with at_work(memory):
                await until(lambda: knows(agent, "single", user="dora", tenant="globex"))
    assert order.index("single") <= one.batch_size


async def test_calls_of_the_model_are_bounded(tmp_path: Path, settings: Settings) -> None:
    """However many signs there are, a worker takes as many as it has calls to make."""
    two = settings.model_copy(update={"model_concurrency": 2})
    gate = Gate()
    with FakeModel(gate) as model:
        async with process(tmp_path, two) as agent, process(tmp_path, two, model) as memory:
            await prepare(agent.ledger, two)
            for number in range(20):
                await observe(agent, f"n{number}", user=f"user-{number}")
            async with at_work(memory):
                await until(lambda: asked(model, 2))
                assert await in_hand(two) <= 2
                gate.open.set()
                await until(lambda: knows(agent, "n19", user="user-19"))
    assert model.most_in_flight == 2


async def test_a_worker_that_is_told_to_end_finishes_what_it_began(
    tmp_path: Path, settings: Settings
) -> None:
    one = settings.model_copy(update={"model_concurrency": 1})
    gate = Gate()
    with FakeModel(gate) as model:
        async with process(tmp_path, one) as agent, process(tmp_path, one, model) as memory:
            await prepare(agent.ledger, one)
            await observe(agent, "stamps", user="alice")
            await observe(agent, "coins", user="bob")
            async with at_work(memory):
                await until(lambda: asked(model, 1))
                ending = asyncio.create_task(memory.intake.wind_down(within=PATIENCE))
                await asyncio.sleep(0)
                gate.open.set()
                assert await ending
            known = await learned(agent, user="alice") + await learned(agent, user="bob")
            assert known in (["stamps"], ["coins"])  # the other one was not begun with
            assert (await agent.ledger.backlog()).waiting == 1


async def test_a_worker_that_is_not_let_finish_gives_back(
    tmp_path: Path, settings: Settings
) -> None:
    """Another worker has it at once: no lease is waited for."""
    gate = Gate()
    with FakeModel(gate) as model:
        async with process(tmp_path, settings) as agent:
            await prepare(agent.ledger, settings)
            await observe(agent, "stamps")
            async with process(tmp_path, settings, model) as memory, at_work(memory):
                await until(lambda: asked(model, 1))
                assert not await memory.intake.wind_down(within=0)
            gate.open.set()
            model.answer = collecting
            async with process(tmp_path, settings, model) as memory, at_work(memory):
                await until(lambda: knows(agent, "stamps"))
            assert await learned(agent) == ["stamps"]


async def test_a_failed_call_brings_its_sign_back(tmp_path: Path, settings: Settings) -> None:
    """The model is away for one call, which its client tries three times; the sign returns when the
    batch may be tried again."""
    quick = settings.model_copy(update={"retry_seconds": 0.2})
    tries = threading.Semaphore(4)

    def answer(request: Request) -> Reply:
        return Reply(status=503) if tries.acquire(blocking=False) else collecting(request)

    with FakeModel(answer) as model:
        async with process(tmp_path, quick) as agent, process(tmp_path, quick, model) as memory:
            await prepare(agent.ledger, quick)
            slowly(memory)
            async with at_work(memory):
                await until(lambda: listening(memory))
                await observe(agent, "stamps")
                await until(lambda: knows(agent, "stamps"))
                await until(lambda: settled(quick))
            assert memory.services.measures.counts()["signs"]["returned"] >= 1


async def test_a_worker_says_that_it_is_still_at_it(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a model is being asked, a sign stays with its worker, however long that takes."""
    monkeypatch.setattr("ricordo.memory.heeding.BEAT", 0.05)
    gate = Gate()
    said: list[bytes] = []

    async def listen(message: Any) -> None:
        said.append(message.data)

    async def often() -> bool:
        return said.count(b"+WPI") >= 3

    with FakeModel(gate) as model:
        async with (
            process(tmp_path, settings) as agent,
            process(tmp_path, settings, model) as memory,
            connected(settings) as client,
        ):
            await prepare(agent.ledger, settings)
            slowly(memory)
            await client.subscribe(f"$JS.ACK.{work_stream(settings)}.workers.>", cb=listen)
            await client.flush()
            async with at_work(memory):
                await until(lambda: listening(memory))
                await observe(agent, "stamps")
                await until(often)
                gate.open.set()
                await until(lambda: knows(agent, "stamps"))
                await until(lambda: settled(settings))


async def test_a_turn_waits_for_others_and_then_no_longer(
    tmp_path: Path, settings: Settings
) -> None:
    """`batch_wait` holds over NATS: two turns share a call, and an alarm ends the wait."""
    patient = settings.model_copy(update={"batch_wait": 1.0})
    with FakeModel(collecting) as model:
        async with process(tmp_path, patient) as agent, process(tmp_path, patient, model) as memory:
            await prepare(agent.ledger, patient)
            slowly(memory)
            async with at_work(memory):
                await until(lambda: listening(memory))
                await observe(agent, "stamps")
                await observe(agent, "coins")
                await until(lambda: knows(agent, "coins"))
    assert together(model) == ["stamps", "coins"]


NO_SIGNS = (
    (b"\xff\x00", "Unreadable"),
    (b"[" * 1_000, "Unreadable"),
    (b"[]", "Unreadable"),
    (b"{}", "Unreadable"),
    (b"{" + b" " * 5_000 + b"}", "Unreadable"),
    (b'{"version": true}', "Unreadable"),
    (b'{"version": 1}', "Unreadable"),
    (b'{"version": NaN}', "Unreadable"),
    (b'{"version": 2, "id": "00"}', "UnknownVersion"),
    (b'{"version": 1, "id": "0123456789abcdef", "seal": "x"}', "Unreadable"),
    (FORGED, "Denied"),
    (FORGED.replace(b"2026-01-01T00:00:00Z", b"0001-01-01T00:00:00+01:00"), "Unreadable"),
    (FORGED.replace(b"2026-01-01T00:00:00Z", b"9999-12-31T23:59:59-01:00"), "Unreadable"),
)


async def test_what_is_no_sign_goes_to_the_dead_letters(tmp_path: Path, settings: Settings) -> None:
    """Malformed, of another version, forged: refused with a reason, and the worker goes on."""
    subject = f"{settings.nats_prefix}.acme.work.x"
    with FakeModel(collecting) as model:
        async with process(tmp_path, settings) as agent, process(tmp_path, settings, model) as one:
            await prepare(agent.ledger, settings)
            async with connected(settings) as client:
                for payload, _ in NO_SIGNS:
                    await client.publish(subject, payload)
                await client.flush()
            async with at_work(one):
                await until(lambda: settled(settings))
                await observe(agent, "stamps")
                await until(lambda: knows(agent, "stamps"))
            letters = await dead(settings)
    for (where, letter), (payload, error) in zip(letters, NO_SIGNS, strict=True):
        assert where == f"{settings.nats_prefix}.acme.dead.work"
        assert letter["error"] == error, payload[:80]
        assert (letter["version"], letter["bytes"]) == (1, len(payload))
        assert letter["subject"] == subject
        assert letter["reason"]
    counted = one.services.measures.counts()["messages.refused"]
    assert counted == Counter(error for _, error in NO_SIGNS)


@pytest.mark.parametrize("status", ["100", "404", "408", "409", "503"])
async def test_a_message_that_speaks_as_the_server_does_is_one_like_any_other(
    tmp_path: Path, settings: Settings, status: str
) -> None:
    """Whoever may publish there could otherwise write what the client takes for the server's word:
    the message would lie for ever, or the worker hear nothing any more."""
    subject = f"{settings.nats_prefix}.acme.work.x"
    headers = {"Status": status, "Description": "Idle Heartbeat"}
    with FakeModel(collecting) as model:
        async with process(tmp_path, settings) as agent, process(tmp_path, settings, model) as one:
            await prepare(agent.ledger, settings)
            slowly(one)
            async with connected(settings) as client:
                await client.publish(subject, b"", headers=headers)
                await client.publish(subject, FORGED, headers=headers)
                await client.flush()
            async with at_work(one):
                await until(lambda: settled(settings))
                await observe(agent, "stamps")
                await until(lambda: knows(agent, "stamps"))
    assert [letter["error"] for _, letter in await dead(settings)] == ["Unreadable", "Denied"]


async def test_another_ledgers_sign_is_forged(tmp_path: Path, settings: Settings) -> None:
    """A sign that is moved to another subject, or made with another secret, is refused."""
    (tmp_path / "other").mkdir()
    with FakeModel(collecting) as model:
        async with process(tmp_path, settings, model) as memory:
            await prepare(memory.ledger, settings)
            async with process(tmp_path / "other", settings) as other:
                await observe(other, "stamps")
                await until(lambda: told(settings, 1))
            async with connected(settings) as client:
                js = client.jetstream()
                sign = await js.get_msg(work_stream(settings), seq=1)
                await js.publish(f"{settings.nats_prefix}.globex.work.x", sign.data)
            async with at_work(memory):
                await until(lambda: settled(settings))
    assert [letter["error"] for _, letter in await dead(settings)] == ["Denied", "Denied"]


async def test_a_sign_tells_nothing_of_a_person(tmp_path: Path, settings: Settings) -> None:
    async with process(tmp_path, settings) as agent:
        await prepare(agent.ledger, settings)
        await observe(agent, "stamps", user="alice@example.org")
        await until(lambda: told(settings, 1))
    async with connected(settings) as client:
        sign = await client.jetstream().get_msg(work_stream(settings), seq=1)
    written = f"{sign.subject} {sign.data} {sign.headers}"
    assert "alice" not in written
    assert "stamps" not in written
    assert sign.subject.startswith(f"{settings.nats_prefix}.acme.work.")


def slowly(memory: Ricordo) -> None:
    """Let a worker look at the ledger by itself an hour later only."""
    intake: Any = memory.intake
    object.__setattr__(intake._pace, "look", 3_600.0)


def together(model: FakeModel) -> list[str]:
    [only] = model.requests
    return [name for _, name in heard(only)]


async def listening(memory: Ricordo) -> bool:
    heeding = memory.intake._heeding
    return heeding is not None and heeding.heard


async def knows(memory: Ricordo, name: str, *, user: str = "alice", tenant: str = "acme") -> bool:
    return name in await learned(memory, user=user, tenant=tenant)


async def settled(settings: Settings) -> bool:
    return await signs_left(settings) == 0


async def told(settings: Settings, number: int) -> bool:
    return await signs_left(settings) == number


async def asked(model: FakeModel, number: int) -> bool:
    return len(model.requests) >= number


async def in_hand(settings: Settings) -> int:
    """Signs that workers have and have not settled."""
    async with connected(settings) as client:
        info = await client.jetstream().consumer_info(work_stream(settings), "workers")
        return info.num_ack_pending


async def test_who_is_cancelled_ends_even_where_a_client_swallowed_it() -> None:
    """Before Python 3.12 `asyncio.wait_for` does, now and then; a worker must end all the same."""

    async def swallowing() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(PATIENCE)
        heed_cancelling()
        raise AssertionError("it goes on")

    task = asyncio.create_task(swallowing())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
