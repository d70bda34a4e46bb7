"""What can be wrong with a server: each a clear message with a way out, and no hang."""

import asyncio
import os
import signal
import struct
import subprocess
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from ricordo import Settings, open_memory
from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.founding import found
from ricordo.adapters.postgres.moving import moving
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.moving import reading
from ricordo.errors import DeadlineExceeded, NotFound, SpaceMismatch, Unavailable
from ricordo.memory.moving import Migration
from ricordo.memory.moving.planning import plan
from ricordo.testing.embedding import HashingEmbedder
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import memory, store
from tests.conftest import KINDS
from tests.support.opening import Clock, person
from tests.support.postgres import Server, running
from tests.unit.test_moving import filled

PATIENCE = 60.0
"""Nothing here takes so long; but a slow machine may take its time."""


@asynccontextmanager
async def pretending(version: str) -> AsyncGenerator[str]:
    """Something that speaks as a server of that version would, as far as a greeting goes."""

    left = asyncio.Event()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            (length,) = struct.unpack("!I", await reader.readexactly(4))
            asked = await reader.readexactly(length - 4)
            if struct.unpack("!I", asked[:4])[0] >> 16 == 3:
                break
            writer.write(b"N")  # neither TLS nor GSS
        writer.write(_said(b"R", struct.pack("!I", 0)))
        for name, value in (("server_version", version), ("client_encoding", "UTF8")):
            writer.write(_said(b"S", f"{name}\0{value}\0".encode()))
        writer.write(_said(b"Z", b"I"))
        await writer.drain()
        await reader.read()  # until it is left
        writer.close()
        await writer.wait_closed()
        left.set()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"postgresql://u:s3cret@127.0.0.1:{port}/d"
        await left.wait()


def _said(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!I", len(content) + 4) + content


async def _opened(url: str) -> None:
    async with PostgresLedger.open(url, clock=HandClock()) as ledger:
        await ledger.counts()


async def _entered(url: str) -> None:
    async with moving(url) as end:
        await end.counts()


@pytest.mark.parametrize("way", [_opened, _entered])
async def test_an_old_server_is_told_when_it_is_opened(way) -> None:
    async with pretending("14.9") as url, asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable, match=r"runs PostgreSQL 14.*15 or newer.*Upgrade") as told:
            await way(url)
    assert "s3cret" not in str(told.value)


class Narrower(HashingEmbedder):
    """Vectors of another length under the same name."""

    async def dimension(self) -> int:
        return 32

    async def documents(self, texts):
        return [vector[: 4 * 32] for vector in await super().documents(texts)]

    async def question(self, text):
        return (await super().question(text))[: 4 * 32]


async def test_another_dimension_is_told(postgres: Server, database: str) -> None:
    """Both lengths, and what to do, at the first memory that is stored or recalled."""
    url = postgres.url(database)

    def opened(embedder: HashingEmbedder):
        return open_memory(url, settings=Settings(worker=False), clock=Clock(), embedder=embedder)

    async with opened(HashingEmbedder()) as kept:
        await kept.user(person()).remember("Works on Project Falcon")
    async with opened(Narrower()) as kept:
        with pytest.raises(SpaceMismatch, match=r"64 dimensions.*32 dimensions.*ricordo reindex"):
            await kept.user(person()).remember("Lives in Basel")
        with pytest.raises(SpaceMismatch, match="ricordo reindex"):
            await kept.user(person()).recall("falcon", deadline=PATIENCE)


@pytest.fixture
def alone() -> Iterator[Server]:
    """A server of this test's own, which may be killed."""
    with running(KINDS[0], safe=False) as server:
        yield server


def _until_it_waits(server: Server, database: str) -> None:
    """Return once a statement of ours is under way: it waits for a lock."""
    until = time.monotonic() + PATIENCE
    with psycopg.connect(server.admin(), autocommit=True) as connection:
        while time.monotonic() < until:
            row = connection.execute(
                "select count(*) from pg_stat_activity where datname = %s "
                "and application_name = 'ricordo' and wait_event_type = 'Lock'",
                (database,),
            ).fetchone()
            if row[0]:
                return
            time.sleep(0.02)
    raise TimeoutError


def _kill(server: Server) -> None:
    postmaster = server.process.pid
    listed = ["ps", "-o", "pid=", "--ppid", str(postmaster)]
    children = subprocess.run(listed, capture_output=True, text=True, check=False).stdout.split()
    for pid in (postmaster, *map(int, children)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    server.process.wait(timeout=60)


async def test_a_server_killed_in_the_midst_of_a_statement_is_told(alone: Server) -> None:
    """No hang, no half change; once it is there again, the same ledger goes on."""
    database = alone.ledger()
    opening = PostgresLedger.open(alone.url(database), clock=HandClock(), patience=5.0)
    async with asyncio.timeout(2 * PATIENCE), opening as ledger:
        await store(ledger, memory("before"))
        lock = psycopg.connect(alone.admin(database))
        lock.execute("lock table ricordo.memories in access exclusive mode")
        change = asyncio.create_task(store(ledger, memory("meanwhile")))
        await asyncio.to_thread(_until_it_waits, alone, database)
        _kill(alone)
        lock.close()
        with pytest.raises(Unavailable, match=r"cannot be reached|connection was lost"):
            await change
        await asyncio.to_thread(alone.again)
        await store(ledger, memory("after"))
        assert (await ledger.counts())["memories"] == 2


async def test_a_server_killed_in_the_midst_of_a_move_is_told(
    alone: Server, tmp_path: Path
) -> None:
    """The message says that it can be tried again, and it ends well then."""
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
    url = alone.admin(alone.ledger())

    async def move_and_kill() -> None:
        async with reading(tmp_path / "source.db") as source, moving(url) as target:
            migration = Migration(source, target, plan=await plan(source, target, restart=False))
            await migration.begin()
            steps = aiter(migration.move())
            for _ in range(5):
                await anext(steps)
            _kill(alone)
            async for _ in steps:
                pass

    async with asyncio.timeout(PATIENCE):
        with pytest.raises(Unavailable, match="try again"):
            await move_and_kill()
    await asyncio.to_thread(alone.again)
    async with reading(tmp_path / "source.db") as source, moving(url) as target:
        found_ = await plan(source, target, restart=False)
        assert found_.note.moved
        migration = Migration(source, target, plan=found_)
        async for _ in migration.move():
            pass
        async for _ in migration.verify():
            pass
        assert (await migration.finish()).sound


async def test_a_statement_beyond_the_deadline_is_ended(postgres: Server, database: str) -> None:
    """A slow server: what took too long is told, nothing of it is stored, the next one works."""
    postgres.run(
        "create function ricordo.slowly() returns trigger language plpgsql as "
        "$$ begin perform pg_sleep(600); return new; end $$",
        "create trigger slowly before insert on ricordo.memories for each row "
        "execute function ricordo.slowly()",
        database=database,
    )
    opening = PostgresLedger.open(postgres.url(database), clock=HandClock(), patience=4.0)
    try:
        async with asyncio.timeout(PATIENCE), opening as ledger:
            with pytest.raises(DeadlineExceeded, match=r"took too long; nothing was changed"):
                await store(ledger, memory())
            postgres.run("drop trigger slowly on ricordo.memories", database=database)
            await store(ledger, memory())
            assert (await ledger.counts())["memories"] == 1
    finally:
        postgres.run("drop function ricordo.slowly() cascade", database=database)


@pytest.mark.parametrize("way", [found, _entered])
async def test_an_administrator_s_wrong_address_is_told(postgres: Server, way) -> None:
    """Founding and moving say the same as opening."""
    with pytest.raises(NotFound, match="no such database"):
        await way(postgres.admin("nowhere"))
