"""A platform that is served, from settings."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

from ricordo.errors import Invalid
from ricordo.hosts.swiss import (
    AgentProtocol,
    Manner,
    Trust,
    wanted_for_recalling,
    wanted_for_storing,
)
from ricordo.memory.engine import Ricordo
from ricordo.settings import Settings
from ricordo.wire import COMMON
from ricordo.wiring.answering import make_verifier
from ricordo.wiring.messaging import dead_stream, make_connection


@asynccontextmanager
async def open_protocol(
    memory: Ricordo, settings: Settings, *, heartbeat: float = 5.0, ack_wait: float = 20.0
) -> AsyncGenerator[AgentProtocol]:
    """The host of the platform in the settings, reached and ready to run.

    Tokens are known where the settings name their issuer.

    Args:
        heartbeat: seconds between signs that a message is being worked on.
        ack_wait: seconds without one after which another process gets it; of consumers that are
            made now.

    Raises:
        Invalid: the settings name no protocol, or say badly how tokens are known.
        NotFound: `ricordo events init` was not run.
        Denied: the server refuses the credentials. Unavailable: it does not answer.
        ImportError: the extra ``nats`` is not installed.
    """
    from ricordo.adapters.nats import NatsExchange, Wanted

    if settings.protocol is None:
        raise Invalid("no protocol is set; set protocol to swiss-ai-agent")
    since = memory.services.clock()
    manner = _manner(settings, heartbeat=heartbeat)
    verifier = None if settings.token_issuer is None else await make_verifier(settings)
    dead = (dead_stream(settings), f"{settings.nats_prefix}.{COMMON}.dead.protocol")
    async with AsyncExitStack() as stack:

        def reaching(name: str, subjects: tuple[str, ...], *, in_order: bool) -> NatsExchange:
            exchange = NatsExchange(
                make_connection(settings, name=f"ricordo protocol {name}"),
                wanted=Wanted(
                    consumer=f"{settings.nats_prefix}_{name}",
                    subjects=subjects,
                    in_order=in_order,
                    since=since,
                    ack_wait=ack_wait,
                ),
                dead=dead,
            )
            stack.push_async_callback(exchange.close)
            return exchange

        host = AgentProtocol(
            memory,
            stores=reaching("store", wanted_for_storing(manner.writer), in_order=True),
            recalls=reaching("recall", wanted_for_recalling(), in_order=False),
            manner=manner,
            verifier=verifier,
        )
        await host.open()
        yield host


def _manner(settings: Settings, *, heartbeat: float) -> Manner:
    return Manner(
        trust=Trust(
            tenants=settings.protocol_trust or {},
            namespaces=[name or None for name in settings.protocol_namespaces or []],
        ),
        writer=settings.protocol_writer,
        store=settings.protocol_store,
        recall=settings.protocol_recall,
        deadline=settings.protocol_deadline,
        heartbeat=heartbeat,
    )
