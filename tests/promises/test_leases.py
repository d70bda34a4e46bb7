"""Promises 4 and 6: a dead worker's batch is soon another's, and a slow model keeps its own."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ricordo import Ricordo, Settings
from ricordo.errors import Unavailable
from ricordo.memory.holding import Holding
from tests.support.fake_model import FakeModel, Reply, Request
from tests.support.holding import held, impatient
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn

SAID = "I work on Project Falcon."
FALCON = item("Works on Project Falcon", "I work on Project Falcon")
SETTINGS = Settings(worker=False, lease_seconds=30, model_timeout=100)


class Beats:
    """The pauses between a worker's signs of life: each ends when it is told to."""

    def __init__(self) -> None:
        self._begun = asyncio.Event()
        self._over = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        assert 0 < seconds <= SETTINGS.lease_seconds / 2, "a beat may be late by itself"
        self._begun.set()
        await self._over.wait()
        self._over.clear()

    async def one(self) -> None:
        """Let the worker show once that it lives."""
        async with asyncio.timeout(60):
            await self.begun()
            self._over.set()
            await self.begun()
        self._begun.set()

    async def last(self) -> None:
        """The same, where it is to be the last time."""
        async with asyncio.timeout(60):
            await self.begun()
            self._over.set()
            while any(task.get_name() == "ricordo-lease" for task in asyncio.all_tasks()):
                await asyncio.sleep(0.005)

    async def begun(self) -> None:
        await self._begun.wait()
        self._begun.clear()


class Model:
    """Answers when it is let."""

    def __init__(self, reply: Reply | None = None) -> None:
        self.reply = reply or answer(FALCON)
        self.asked = asyncio.Event()
        self.let = threading.Event()
        self._loop = asyncio.get_running_loop()

    def __call__(self, _: Request) -> Reply:
        self._loop.call_soon_threadsafe(self.asked.set)
        self.let.wait(300)
        return self.reply


@asynccontextmanager
async def at_work(
    folder: Path, clock: Clock, reply: Reply | None = None
) -> AsyncGenerator[tuple[Ricordo, Model, Beats, "asyncio.Task[int]"]]:
    """A worker whose model has just been asked, and takes its time."""
    model, beats = Model(reply), Beats()
    with FakeModel(model) as served:
        async with opened(
            folder, clock=clock, extractor=extractor(served), settings=SETTINGS
        ) as memory:
            holding: Any = memory.intake
            holding._holding._pause = beats
            await memory.user(person(), agent="coder").observe(turn(SAID, clock=clock))
            working = asyncio.create_task(memory.intake.drain())
            try:
                async with asyncio.timeout(60):
                    await model.asked.wait()
                yield memory, model, beats, working
            finally:
                model.let.set()
                await asyncio.gather(working, return_exceptions=True)


async def claimed(memory: Ricordo, clock: Clock) -> Any:
    return await memory.ledger.claim(at=clock(), size=1, patience=0, lease=30)


async def test_a_dead_workers_batch_is_anothers_within_half_a_minute(tmp_path: Path) -> None:
    """With the settings as they are, whatever the model may take."""
    clock, lease = Clock(), Settings().lease_seconds
    async with opened(tmp_path, clock=clock) as memory:
        await memory.user(person(), agent="coder").observe(turn(SAID, clock=clock))
        dead = await memory.ledger.claim(at=clock(), size=1, patience=0, lease=lease)
        assert dead is not None
        assert await claimed(memory, clock) is None
        clock.pass_by(seconds=30)
        mine = await claimed(memory, clock)
        assert mine is not None
        assert mine.jobs[0].id == dead.jobs[0].id


async def test_a_slow_model_keeps_its_batch(tmp_path: Path) -> None:
    """Six minutes of thinking, a lease of half a minute: nobody else gets the turn meanwhile, the
    model is asked once, and what it says is stored once."""
    clock = Clock()
    async with at_work(tmp_path, clock) as (memory, model, beats, working):
        for _ in range(18):
            clock.pass_by(seconds=20)
            await beats.one()
            assert await claimed(memory, clock) is None
        model.let.set()
        assert await working == 1
        [learned] = (await memory.user(person()).list()).memories
        assert len(learned.origins) == 1
        clock.pass_by(days=1)
        assert await claimed(memory, clock) is None, "it was committed, and is nobody's any more"


async def test_what_never_ends_is_let_go_and_cannot_commit(tmp_path: Path) -> None:
    """A call that takes longer than every patience allows costs the turn nothing: another worker
    has it, and what the first one brings then is refused."""
    clock = Clock()
    async with at_work(tmp_path, clock) as (memory, model, beats, working):
        clock.pass_by(seconds=5 * SETTINGS.model_timeout + 1)
        await beats.last()
        mine = await claimed(memory, clock)
        assert mine is not None
        model.let.set()
        assert await working == 1
        assert not (await memory.user(person()).list()).memories
        backlog = await memory.ledger.backlog()
        assert (backlog.leased, backlog.parked) == (1, 0)


async def test_a_worker_that_stood_still_has_lost_its_batch(tmp_path: Path) -> None:
    """Once another worker has it, no late sign of life brings it back."""
    clock = Clock()
    async with at_work(tmp_path, clock) as (memory, model, beats, working):
        clock.pass_by(seconds=31)
        mine = await claimed(memory, clock)
        assert mine is not None
        await beats.one()
        clock.pass_by(seconds=29)
        await memory.ledger.renew(mine, at=clock(), lease=30)
        model.let.set()
        assert await working == 1
        assert not (await memory.user(person()).list()).memories


async def test_what_cannot_be_given_back_just_now_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model and ledger are often away together: the turn does not wait for a lease to end then."""
    impatient(monkeypatch)
    clock, refused = Clock(), asyncio.Event()
    async with at_work(tmp_path, clock, Reply(status=500)) as (memory, model, _, working):
        retry = memory.ledger.retry

        async def heard(*batch: Any, **more: Any) -> None:
            try:
                await retry(*batch, **more)
            except Unavailable:
                refused.set()
                raise

        monkeypatch.setattr(memory.ledger, "retry", heard)
        with held(tmp_path / "memory.db"):
            model.let.set()
            async with asyncio.timeout(60):
                await refused.wait()
        assert await working == 1
        backlog = await memory.ledger.backlog()
        assert (backlog.waiting, backlog.leased, backlog.parked) == (1, 0, 0)


async def test_what_is_left_of_a_batch_is_kept_as_a_whole(tmp_path: Path) -> None:
    """After an unreadable answer turns are read one by one: those that still wait are not given
    away during a slow one, though the first of them are done."""
    clock, beats = Clock(), Beats()
    async with opened(tmp_path, clock=clock) as memory:
        for number in range(3):
            said = turn(f"number {number}", run=f"r{number}", clock=clock)
            await memory.user(person(), agent="coder").observe(said)
        ledger = memory.ledger
        batch = await ledger.claim(at=clock(), size=3, patience=0, lease=30)
        assert batch is not None
        holding = Holding(ledger, clock=clock, lease=30, longest=100, pause=beats)
        async with holding.kept(batch):
            for at, job in enumerate(batch.jobs):
                rest = type(batch)(scope=batch.scope, jobs=batch.jobs[at:], lease=batch.lease)
                one = type(batch)(scope=batch.scope, jobs=(job,), lease=batch.lease)
                await holding.renew(rest)
                async with holding.kept(one):
                    for _ in range(4):
                        clock.pass_by(seconds=20)
                        await beats.one()
                        assert await claimed(memory, clock) is None
                await ledger.write(lambda tx, done=one: tx.finish(done), scope=batch.scope)
        assert (await ledger.backlog()).leased == 0
