"""The command line, wired: what each command opens, and what an agent of `chat` is made of."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ricordo.hosts.cli import main
from ricordo.hosts.cli.given import Given, Kit, Made, Prepared, Service, Serving

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo
    from ricordo.model import Principal, Recollection
    from ricordo.ports import Ledger
    from ricordo.ports.moving import Movable
    from ricordo.settings import Settings


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. Engines are imported when a command opens them."""
    return main(
        argv,
        given=Given(
            opener=opened,
            demo=demo,
            companion=companion,
            founder=founded,
            preparer=prepared,
            mover=movable,
            answerer=answerer,
            server=served,
        ),
    )


def opened(settings: "Settings", /) -> AbstractAsyncContextManager["Ricordo"]:
    """The memory that the settings describe."""
    from ricordo.wiring.opening import open_memory

    return open_memory(settings=settings)


async def founded(
    address: str, /, *, role: str, password: str | None, approximate: int | None
) -> Made:
    """Make a PostgreSQL database a memory, and see to the indexes of its large partitions."""
    from ricordo.wiring.ledgers import found, tune

    made = await found(address, role=role, password=password)
    tuned = None if approximate is None else await tune(address, least=approximate)
    return Made(
        name=made.name,
        role=made.role,
        password=made.password,
        created=made.created,
        lacking=made.lacking,
        indexed=() if tuned is None else tuned.made,
        unindexed=() if tuned is None else tuned.removed,
    )


async def prepared(
    ledger: "Ledger",
    settings: "Settings",
    /,
    *,
    consumers: Sequence[tuple[str, str | None]],
    dry_run: bool,
) -> Sequence[Prepared]:
    """Make the streams that events over NATS need."""
    from ricordo.wiring.messaging import prepare

    return await prepare(ledger, settings, consumers=consumers, dry_run=dry_run)


def movable(address: str, /, *, fill: bool = False) -> AbstractAsyncContextManager["Movable"]:
    """One end of a move of a whole memory."""
    from ricordo.wiring.ledgers import open_movable

    return open_movable(address, fill=fill)


def answerer(memory: "Ricordo", settings: "Settings", /) -> AbstractAsyncContextManager[Service]:
    """What answers requests of other programs."""
    from ricordo.wiring.answering import answering

    return answering(memory, settings)


def served(memory: "Ricordo", settings: "Settings", /) -> AbstractAsyncContextManager[Serving]:
    """The platform that the settings name."""
    from ricordo.wiring.protocol import open_protocol

    return open_protocol(memory, settings)


def companion(
    memory: "Ricordo",
    settings: "Settings",
    /,
    *,
    principal: "Principal",
    on_recall: Callable[["Recollection"], None],
) -> Kit:
    """The parts of an agent that talks to the endpoint in the settings and has this memory."""
    from agent_framework import InMemoryHistoryProvider

    from ricordo.hosts.maf import RicordoProvider, new_session
    from ricordo.wiring.models import make_chat_client

    provider = RicordoProvider(
        memory,
        agent_name=settings.agent,
        on_recall=lambda _, found: on_recall(found),
    )
    return Kit(
        client=make_chat_client(settings),
        providers=[InMemoryHistoryProvider(), provider],
        session=new_session(principal=principal),
    )


async def demo(*, as_json: bool, color: bool, database: Path | None) -> int:
    """Play the demonstration."""
    from ricordo.wiring.demo import show

    return await show(as_json=as_json, color=color, database=database)
