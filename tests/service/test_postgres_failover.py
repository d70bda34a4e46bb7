"""Promise 4 on two servers: one dies for good, the other takes over, the same memory goes on."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.errors import DeadlineExceeded, RicordoError, Unavailable
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import memory, sound, store, turn
from tests.conftest import KINDS
from tests.service.test_postgres_crash import PEOPLE, found_in, kill
from tests.support.postgres import Server, running
from tests.support.standby import promote, standby_of, url_of

PATIENCE = 5.0
ENOUGH = 40
LIMIT = 120.0
"""Seconds in which anything here has happened."""


@pytest.fixture
def pair() -> Iterator[tuple[Server, Server]]:
    """A primary that waits for its disk, and its standby's; and that standby."""
    with ExitStack() as stack:
        primary = stack.enter_context(running(KINDS[0], safe=True))
        yield primary, stack.enter_context(standby_of(primary))


@dataclass
class Writers:
    """Write for everybody, again and again; what was refused is let be."""

    ledger: PostgresLedger
    kept: set[str] = field(default_factory=set)
    refused: int = 0

    async def run(self, person: int) -> None:
        scope, number = PEOPLE[person], 0
        while True:
            number += 1
            name = f"{scope.user}-{number}"
            try:
                await store(self.ledger, memory(name, id=f"m_{name}", scope=scope))
                self.kept.add(f"m_{name}")
                await self.ledger.accept(turn(name), scope=scope)
                self.kept.add(f"run-{name}")
            except RicordoError:
                self.refused += 1
                await asyncio.sleep(0.1)

    async def until(self, count: int) -> None:
        """Wait until so much was acknowledged."""
        async with asyncio.timeout(LIMIT):
            while len(self.kept) < count:
                await asyncio.sleep(0.02)


async def refused(standby: Server, database: str) -> None:
    """It would answer from what it has, and take nothing."""
    with pytest.raises(Unavailable, match="it is a standby"):
        async with PostgresLedger.open(standby.url(database), clock=HandClock()):
            pytest.fail("a standby was opened")


async def test_the_standby_takes_over(pair: tuple[Server, Server]) -> None:
    """Nothing acknowledged is lost when the primary never comes back; nobody opens anything anew:
    an address that names both servers finds whichever takes writes. A standby is refused before.
    """
    primary, standby = pair
    database = primary.ledger()
    await refused(standby, database)
    url = url_of([primary, standby], database)
    async with PostgresLedger.open(url, clock=HandClock(), patience=PATIENCE) as ledger:
        writers = Writers(ledger)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(writers.run(person)) for person in range(len(PEOPLE))]
            await writers.until(ENOUGH)
            kill(primary)
            acknowledged = len(writers.kept)
            await asyncio.to_thread(promote, standby)
            await writers.until(acknowledged + ENOUGH)
            for task in tasks:
                task.cancel()
        assert writers.kept <= await found_in(ledger)
        await sound(ledger)


@pytest.fixture
def alone() -> Iterator[Server]:
    """A server of this test's own, whose settings it changes."""
    with running(KINDS[0], safe=False) as server:
        yield server


async def test_a_commit_that_hangs_says_that_it_may_be_stored(alone: Server) -> None:
    """The standby is away, the primary has the change and waits: nobody hears that it is lost."""
    url = alone.url(alone.ledger())
    async with PostgresLedger.open(url, clock=HandClock(), patience=1.0) as ledger:
        alone.run("alter system set synchronous_standby_names = 'nobody'")
        alone.run("select pg_reload_conf()")
        tried: list[str] = []

        async def store_on() -> None:
            while True:  # the server takes its new settings a little later
                tried.append(f"m_{len(tried)}")
                await store(ledger, memory(tried[-1], id=tried[-1], scope=PEOPLE[0]))

        with pytest.raises(DeadlineExceeded, match="look whether it is there"):
            await asyncio.wait_for(store_on(), LIMIT)
        alone.run("alter system reset synchronous_standby_names")
        alone.run("select pg_reload_conf()")
        async with asyncio.timeout(LIMIT):
            while not await found_in(ledger) >= set(tried):
                await asyncio.sleep(0.1)
