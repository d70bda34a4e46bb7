"""Promise 4 on a server: what was acknowledged is there after `kill -9` of the server itself."""

import asyncio
import itertools
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ricordo import Ricordo, Said, Speaker, Turn
from ricordo.adapters.postgres import PostgresLedger
from ricordo.errors import RicordoError
from ricordo.model import Listing, UserScope
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import entity, graph, memory, relation, sound, store, turn
from tests.conftest import KINDS
from tests.service.nursery import PACE, extractor, now
from tests.service.test_crash_extraction import collecting, extracted_exactly_once
from tests.support import opening
from tests.support.fake_model import FakeModel
from tests.support.postgres import Server, running

ROUNDS = 3
DEATHS = 2
PEOPLE = tuple(UserScope(tenant="acme", user=f"user-{number}") for number in range(4))


def kill(server: Server) -> None:
    """Every process of the server at once, as a machine's end would."""
    postmaster = server.process.pid
    children = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True, check=False
    ).stdout.split()
    for pid in (postmaster, *map(int, children)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    server.process.wait(timeout=30)


@dataclass
class Kept:
    """What was acknowledged, and when that is enough."""

    ids: list[str]
    goal: int
    enough: asyncio.Event

    def add(self, each: str) -> None:
        self.ids.append(each)
        if len(self.ids) >= self.goal:
            self.enough.set()


async def _write(ledger: PostgresLedger, person: UserScope, tag: str, kept: "Kept") -> None:
    """Write until the server is gone; note what was acknowledged."""
    number = 0
    while True:
        number += 1
        name = f"{tag}-{person.user}-{number}"
        known = memory(name, id=f"m_{name}", scope=person)
        a, b = entity(f"a {name}", scope=person), entity(f"b {name}", scope=person)
        try:
            await store(ledger, known)
            kept.add(f"m_{name}")
            await graph(ledger, [a, b], [relation(a, b, known)])
            await ledger.accept(turn(name), scope=person)
            kept.add(f"run-{name}")
        except RicordoError:
            return


async def found_in(ledger: PostgresLedger) -> set[str]:
    found: set[str] = set()
    listing = Listing()
    for person in PEOPLE:
        found |= set(
            await ledger.read(
                lambda tx, person=person: tx.ids(listing, scope=person), scopes=[person]
            )
        )
        found |= {each.run_id for each in await ledger.waiting(scope=person, limit=10_000)}
    return found


@pytest.fixture
def server() -> Iterator[Server]:
    """One of this test's own, that waits for the disk."""
    with running(KINDS[0], safe=True) as running_server:
        yield running_server


async def test_acknowledged_is_there_after_the_server_was_killed(server: Server) -> None:
    """Nothing acknowledged is lost, nothing is half there, and the same ledger goes on."""
    url = server.url(server.ledger())
    kept: list[str] = []
    async with PostgresLedger.open(url, clock=HandClock(), patience=5) as ledger:
        for round_ in range(ROUNDS):
            enough = asyncio.Event()
            goal = len(kept) + 40
            writers = [
                asyncio.create_task(_write(ledger, person, f"r{round_}", Kept(kept, goal, enough)))
                for person in PEOPLE
            ]
            await enough.wait()
            kill(server)
            await asyncio.gather(*writers)
            await asyncio.to_thread(server.again)
            assert set(kept) <= await found_in(ledger)
            await sound(ledger)
    assert len(kept) >= 40 * ROUNDS


@dataclass
class Talk:
    """What people say, until it is in the middle of being learned from."""

    memory: Ricordo
    model: FakeModel
    acknowledged: list[list[str]] = field(default_factory=list)

    async def until_dead(self, server: Server, tag: str) -> None:
        """Let people talk; kill the server once enough was acknowledged and the model was asked.

        Each time others: what a worker had at the death waits for its lease to end.
        """
        enough = asyncio.Event()
        said, asked = len(self.acknowledged) + 20, len(self.model.requests) + 3
        speakers = [
            asyncio.create_task(self._speak(tag + lane, enough, said=said, asked=asked))
            for lane in "abc"
        ]
        async with asyncio.timeout(120):
            await enough.wait()
        kill(server)
        await asyncio.gather(*speakers)

    async def _speak(self, user: str, enough: asyncio.Event, *, said: int, asked: int) -> None:
        mine = self.memory.user(opening.person(f"user-{user}"), agent="coder")
        for number in itertools.count():
            name = f"{user}n{number}"
            words = (Said(speaker=Speaker.USER, text=f"I collect {name}."),)
            turn_ = Turn(thread_id="t", run_id=name, agent="coder", at=now(), said=words)
            try:
                await mine.observe(turn_)
            except RicordoError:
                return
            self.acknowledged.append(["turn", user, name])
            await asyncio.sleep(0.005)  # others have to get their turn, too
            if len(self.acknowledged) >= said and len(self.model.requests) >= asked:
                enough.set()


async def test_every_turn_is_learned_once_though_the_server_was_killed(
    server: Server, tmp_path: Path
) -> None:
    """Promise 4 as a whole: the memory and its worker live on; nobody has to start them anew."""
    (tmp_path / "address").write_text(server.url(server.ledger()))
    settings = PACE.model_copy(update={"postgres_patience": 3})
    with FakeModel(collecting) as model:
        async with opening.opened(
            tmp_path, clock=now, settings=settings, extractor=extractor(model.base_url)
        ) as memory:
            talk = Talk(memory, model)
            for round_ in range(DEATHS):
                await talk.until_dead(server, f"r{round_}")
                await asyncio.to_thread(server.again)
        await extracted_exactly_once(tmp_path, talk.acknowledged, model.base_url)
    assert len(talk.acknowledged) >= 20 * DEATHS
