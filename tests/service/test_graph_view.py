"""A graph view outside, on a real Bolt server: fed, checked, and without it everything goes on."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from ricordo import EntityClaim, RelationClaim, Ricordo, Settings
from ricordo.access import user_scope
from ricordo.adapters.neo4j import Neo4jGraphView
from ricordo.errors import Denied, Invalid, RicordoError, Unavailable
from ricordo.memory.viewing.feeding import CHECK, Feeder
from ricordo.memory.viewing.rebuilding import rebuild
from ricordo.memory.viewing.verifying import Difference, verify
from tests.support import bolt
from tests.support.bolt import Bolt
from tests.support.opening import Clock, opened, person
from tests.support.serving import free_port

SCOPE = user_scope(person())


@pytest.fixture(params=bolt.KINDS)
def server(request: pytest.FixtureRequest) -> Bolt:
    return bolt.shared(request.param)


def settings(server: Bolt, **more: Any) -> Settings:
    chosen = {
        "worker": False,
        "graph_view_url": server.url,
        "graph_view_user": server.user,
        "graph_view_password": server.password,
        "graph_view_database": server.database,
        "view_deadline": 30,
        "view_timeout": 60,
        "recall_deadline": 60,
    }
    return Settings(**(chosen | more))


@asynccontextmanager
async def viewed(folder: Path, server: Bolt) -> AsyncIterator[Ricordo]:
    """A memory with a graph view, of which nothing is left afterwards."""
    async with opened(folder, settings=settings(server)) as memory:
        yield memory
        for scope in await memory.ledger.scopes():
            feeder = await memory.services.views.named("graph").feeder()
            await feeder.erase(await memory.ledger.subject(scope=scope))


def relation(source: str, name: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation=name, target=EntityClaim(name=target)
    )


async def feed(memory: Ricordo) -> Feeder:
    feeder = await memory.services.views.named("graph").feeder()
    assert await feeder.turn()
    return feeder


async def differences(memory: Ricordo, *, repair: bool = False) -> list[Difference]:
    compared = verify(memory.ledger, memory.services.views.named("graph"), repair=repair)
    return [one async for one in compared if one is not None]


async def reached(memory: Ricordo, entity: str) -> set[str]:
    walk = await memory.user(person(), agent="coder").explore(entity)
    return {path.end for path in walk.paths}


@pytest.mark.usefixtures("engine")
async def test_the_graph_follows_the_ledger(tmp_path: Path, server: Bolt) -> None:
    """Relations, aliases, merges, corrections, forgetting and erasing: the view stays the same."""
    async with viewed(tmp_path, server) as memory:
        mine = memory.user(person(), agent="coder")
        first = await mine.remember(
            "Works on Falcon", relations=[relation("user", "works on", "Falcon")]
        )
        await mine.remember("Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")])
        await mine.remember(
            "Kafka needs Disks", relations=[relation("Apache Kafka", "uses", "Disks")]
        )
        feeder = await feed(memory)
        assert await differences(memory) == []
        assert await reached(memory, "Falcon") == {"user", "Kafka"}
        await mine.alias("Kafka", name="the log")
        merge = await mine.merge("Apache Kafka", into="Kafka")
        assert await reached(memory, "Falcon") == {"user", "Kafka", "Disks"}, "before it is fed"
        await feeder.sweep()
        assert await reached(memory, "the log") == {"user", "Falcon", "Disks"}
        assert await differences(memory) == []
        await mine.unmerge(merge)
        await feeder.sweep()
        assert await reached(memory, "the log") == {"user", "Falcon"}
        await mine.forget(first.memory.id)
        key = await memory.ledger.subject(scope=SCOPE)
        left = set(await feeder.sync.view.inventory(key))
        await feed(memory)
        assert await differences(memory) == []
        assert set(await feeder.sync.view.inventory(key)) == left, "forgetting reached it at once"
        receipt = await mine.erase()
        assert receipt.clean
        assert receipt.remaining["view graph"] == 0


async def test_the_view_is_asked_and_holds_no_name(tmp_path: Path, server: Bolt) -> None:
    """What is in the view says nothing to whoever reads it, and the walk still knows the names."""
    async with viewed(tmp_path, server) as memory:
        mine = memory.user(person(), agent="coder")
        await mine.remember("Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")])
        feeder = await feed(memory)
        view: Any = feeder.sync.view
        asked: list[str] = []
        named = view.named

        async def listening(keys: Any, **more: Any) -> Any:
            asked.extend(keys)
            return await named(keys, **more)

        view.named = listening
        assert await reached(memory, "Falcon") == {"Kafka"}
        assert asked, "the view was not asked"
        rows = await view._server.read(
            "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN properties(n) AS n, properties(r) AS r", {}
        )
        told = str(rows).casefold()
        assert "uses" in told
        for name in ("falcon", "kafka", "alice", "acme"):
            assert name not in told


async def test_a_stale_view_is_not_believed(tmp_path: Path, server: Bolt) -> None:
    """What the ledger does not hold is not told, though the view thinks that it is up to date."""
    async with viewed(tmp_path, server) as memory:
        mine = memory.user(person(), agent="coder")
        told = await mine.remember(
            "Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")]
        )
        feeder = await feed(memory)
        view: Any = feeder.sync.view
        removed = view.remove
        view.remove = _nothing
        await mine.forget(told.memory.id)
        position = await memory.ledger.read(
            lambda tx: tx.graph_position(scope=SCOPE), scopes=[SCOPE]
        )
        key = await memory.ledger.subject(scope=SCOPE)
        await memory.ledger.mark(feeder.sync.build, marks={(key, ""): position})
        assert await view.inventory(key)
        assert await reached(memory, "Falcon") == set()
        view.remove = removed
        [difference] = await differences(memory, repair=True)
        assert (difference.extra, difference.missing) == (3, 0)
        assert await differences(memory) == []


async def _nothing(*_: Any, **__: Any) -> None:
    """A removal that gets lost."""


async def test_a_rebuild_switches(tmp_path: Path, server: Bolt) -> None:
    """The new build has everything; of the old one nothing is left, in ledger and server."""
    async with viewed(tmp_path, server) as memory:
        mine = memory.user(person(), agent="coder")
        await mine.remember("Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")])
        old = (await feed(memory)).sync.build
        outside = memory.services.views.named("graph")
        async for _ in rebuild(memory.ledger, outside, grace=0):
            pass
        [build] = await memory.ledger.builds()
        assert build.build != old.build
        assert await differences(memory) == []
        assert await reached(memory, "Falcon") == {"Kafka"}


async def test_a_server_that_lost_everything_is_not_believed(tmp_path: Path, server: Bolt) -> None:
    """Walks go on over the ledger's rows at once; then the view is fed anew."""
    clock = Clock()
    chosen = settings(server)
    async with opened(tmp_path, settings=chosen, clock=clock) as memory:
        mine = memory.user(person(), agent="coder")
        await mine.remember("Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")])
        feeder = await feed(memory)
        key = await memory.ledger.subject(scope=SCOPE)
        whole = set(await feeder.sync.view.inventory(key))
        for scope in await feeder.sync.view.scopes():  # its own entry too
            await feeder.sync.view.drop(scope)
        assert await reached(memory, "Falcon") == {"Kafka"}
        assert await reached(memory, "Nobody") == set()
        assert await differences(memory) != []
        clock.pass_by(seconds=CHECK.total_seconds())
        await feed(memory)
        assert set(await feeder.sync.view.inventory(key)) == whole
        assert await differences(memory) == []
        await mine.erase()


async def test_a_server_that_dies_stops_nothing(tmp_path: Path) -> None:
    """Promise 5: killed in the middle of work, nothing acknowledged is lost; walks go on."""
    with bolt.arcadedb() as server:
        async with opened(tmp_path, settings=settings(server, view_timeout=5)) as memory:
            mine = memory.user(person(), agent="coder")
            await mine.remember(
                "Falcon uses Kafka", relations=[relation("Falcon", "uses", "Kafka")]
            )
            feeder = await feed(memory)
            server.program.kill()
            await mine.remember("Kafka uses Disks", relations=[relation("Kafka", "uses", "Disks")])
            with pytest.raises(Unavailable):
                await feeder.turn()
            assert await reached(memory, "Falcon") == {"Kafka", "Disks"}
            recollection = await mine.recall("What does Falcon use?", deadline=60)
            assert recollection.degraded == ()
            [standing] = await memory.services.views.standing()
            assert standing.behind, "the lag is visible"
            assert (await mine.erase()).pending == ("graph",)


def view_of(
    url: str, *, user: str = "neo4j", password: str = "x", patience: float = 60
) -> Neo4jGraphView:
    return Neo4jGraphView(
        url, name="graph", user=user, password=password, build="t", patience=patience
    )


async def failure(view: Neo4jGraphView) -> RicordoError:
    with pytest.raises(RicordoError) as failed:
        await view.open(create=True)
    await view.close()
    return failed.value


async def test_a_wrong_password_is_told(server: Bolt) -> None:
    error = await failure(view_of(server.url, user=server.user, password="guessed-wrong"))
    assert isinstance(error, Denied)
    assert "graph_view_password" in str(error)
    assert "guessed-wrong" not in str(error)


async def test_a_wrong_address_is_told() -> None:
    error = await failure(view_of(f"bolt://127.0.0.1:{free_port()}"))
    assert isinstance(error, Unavailable)
    assert "is not reached" in str(error)
    assert isinstance(await failure(view_of("http://127.0.0.1:7474")), Invalid)


@pytest.fixture
def silent() -> Iterator[int]:
    """A server that takes connections and says nothing."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


async def test_a_server_that_says_nothing_does_not_hang(silent: int) -> None:
    async with asyncio.timeout(30):
        error = await failure(view_of(f"bolt://127.0.0.1:{silent}", patience=0.5))
    assert isinstance(error, Unavailable)


async def test_an_old_server_is_refused() -> None:
    """A server that says it is of another generation is told apart before anything is sent."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Bolt 4.4 by hand: the handshake, then success for each message, the first with an agent.
        await reader.readexactly(20)
        writer.write(b"\x00\x00\x04\x04")
        agent = b"Neo4j/4.4.0"
        said = b"\xb1\x70\xa2\x86server" + bytes([0x80 + len(agent)]) + agent
        said += b"\x8dconnection_id\x81x"
        while True:
            try:
                size = int.from_bytes(await reader.readexactly(2))
                if not size:
                    continue
                await reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                break
            writer.write(len(said).to_bytes(2) + said + b"\x00\x00")
        writer.close()

    listening = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        error = await failure(view_of(f"bolt://127.0.0.1:{port}"))
    assert isinstance(error, Invalid)
    assert "needs Neo4j 5 or newer" in str(error)
