"""Opens a memory: engines from settings, closed again by whoever opened it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from ricordo.adapters.local import LocalEvents, LocalGraph, LocalIndex
from ricordo.adapters.words import SnowballAnalyzer
from ricordo.errors import Invalid
from ricordo.memory.consolidation import Habit
from ricordo.memory.engine import Ricordo
from ricordo.memory.intake import Pace
from ricordo.memory.journal import Journal
from ricordo.memory.measuring import Measures
from ricordo.memory.pruning import Retention
from ricordo.memory.screening import review_reasons
from ricordo.memory.services import AT_ONCE, Bounds, Policy, Services
from ricordo.memory.spacing import Spacing
from ricordo.memory.vocabulary import Vocabulary
from ricordo.model import new_id
from ricordo.ports import Embedder, Extractor, Telemetry
from ricordo.settings import Settings
from ricordo.wiring.background import running
from ricordo.wiring.histories import places_outside
from ricordo.wiring.ledgers import open_ledger
from ricordo.wiring.messaging import make_relay, make_signs
from ricordo.wiring.models import make_embedder, make_extractor, make_reworder
from ricordo.wiring.searching import index_for_large
from ricordo.wiring.telling import make_telemetry
from ricordo.wiring.views import make_views, viewed_graph

_log = logging.getLogger(__name__)

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


@asynccontextmanager
async def open_memory(
    path: str | Path | None = None,
    *,
    settings: Settings | None = None,
    extractor: Extractor | None = None,
    embedder: Embedder | None = None,
    telemetry: Telemetry | None = None,
    consolidation_client: object | None = None,
    clock: Clock = now,
    ids: Callable[[str], str] = new_id,
) -> AsyncGenerator[Ricordo]:
    """Open a memory; everything is closed at the end of the ``async with``.

    Args:
        path: the file, made if need be, or the ``postgresql://`` address of a database that
            ``ricordo init --postgres`` made ready; by default the one of the settings.
        settings: by default those built in; `ricordo.settings.load_settings` reads file and
            environment.
        extractor: the model that reads conversations; by default the one of the settings. Without
            any, turns wait until a provider offers its agent's own chat client.
        embedder: the model of meaning; by default the one of the settings. Yours to close.
        telemetry: is told what is done and how long it takes; by default as the settings say.
        consolidation_client: a chat client of the Agent Framework that may propose other wordings
            of memories that say the same; by default the model of the settings, or none.
        clock: tells the time, with a time zone.
        ids: makes ids; takes their kind, for example ``"m"``.

    Raises:
        ForeignFile, WrongSchema, Corrupt: the file, or database, is not one of ours, or damaged.
        NotFound: the database is not there, or has no memory in it.
        Denied: the server refused the role that connects, or does not guard rows against it.
        Unavailable: it cannot be opened or written just now.
        Invalid: the settings ask for searches in a database that cannot do that; says what is
            missing.
        ImportError: the settings want telemetry, and `ricordo[otel]` is not installed; or a
            PostgreSQL address, and `ricordo[postgres]` is not; or events over NATS, and
            `ricordo[nats]` is not.
    """
    settings = settings or Settings()
    if extractor is None and settings.model is not None:
        extractor = make_extractor(settings)
    async with AsyncExitStack() as stack:
        if embedder is None:
            embedder = await make_embedder(settings, stack)
        services, events = await _services(
            path or settings.database,
            settings,
            embedder,
            telemetry=make_telemetry(settings) if telemetry is None else telemetry,
            clock=clock,
            ids=ids,
            stack=stack,
        )
        relay = await make_relay(settings, services.ledger, clock=clock)
        if relay is not None:
            stack.push_async_callback(relay.close)
        signs = await make_signs(settings, services.ledger, services.measures)
        if signs is not None:
            stack.push_async_callback(signs.close)
        learns = isinstance(services.rules, Vocabulary)
        memory = Ricordo(
            services,
            events=events,
            relay=relay,
            signs=signs,
            keep=Retention(
                events=settings.events_keep_days * 86_400,
                turns=settings.turns_keep_days * 86_400,
                audit=settings.audit_keep_days * 86_400,
            ),
            pace=_pace(settings),
            # Without its rules nothing can be learned: what is said waits until they are back.
            extractor=extractor if learns else None,
            make_extractor=(lambda client: make_extractor(settings, client=client))
            if learns
            else None,
            habit=Habit(
                every=settings.consolidation_hours * 3_600,
                # A pass may take a model's call and its repair, and nothing renews it meanwhile.
                lease=max(180.0, 5 * settings.model_timeout),
            ),
            reworder=make_reworder(settings, client=consolidation_client),
        )
        stack.push_async_callback(services.journal.flush)
        await stack.enter_async_context(_warming())
        if settings.worker:
            await stack.enter_async_context(running(memory.run(), name="ricordo"))
        yield memory


async def _services(
    path: str | Path,
    settings: Settings,
    embedder: Embedder,
    *,
    telemetry: Telemetry | None,
    clock: Clock,
    ids: Callable[[str], str],
    stack: AsyncExitStack,
) -> tuple[Services, LocalEvents]:
    ledger = await stack.enter_async_context(open_ledger(str(path), settings, clock=clock))
    analyzer = SnowballAnalyzer()
    space = Spacing(ledger, embedder=embedder, analyzer=analyzer)
    index = await stack.enter_async_context(
        LocalIndex(ledger, space=space, max_bytes=settings.index_memory_mb * 1_000_000)
    )
    views = await make_views(settings, ledger, space=space, clock=clock)
    stack.push_async_callback(views.close)
    events = LocalEvents(ledger)
    outside = await places_outside(settings, stack)
    stack.push_async_callback(events.close)
    services = Services(
        ledger=ledger,
        index=await index_for_large(settings, views, index, ledger, space=space, stack=stack),
        graph=viewed_graph(settings, views, LocalGraph(ledger), ledger),
        embedder=embedder,
        analyzer=analyzer,
        spacing=space,
        rules=await _rules(settings),
        journal=Journal(ledger, new_id=ids),
        views=views,
        clock=clock,
        new_id=ids,
        visibility=settings.preference_visibility,
        policy=Policy(
            auto_approve=settings.review_auto_approve,
            min_confidence=settings.review_min_confidence,
        ),
        bounds=Bounds(
            limit=settings.recall_limit,
            tokens=settings.recall_tokens,
            deadline=settings.recall_deadline,
            hops=settings.recall_hops,
            at_once=max(AT_ONCE, 2 * settings.postgres_connections),
        ),
        measures=Measures(telemetry),
        outside=outside,
    )
    return services, events


async def _rules(settings: Settings) -> Vocabulary | Invalid:
    """The vocabulary, or why there is none: nobody must be kept from reading and deleting."""
    try:
        return await asyncio.to_thread(
            Vocabulary.load, settings.vocabulary, mode=settings.vocabulary_mode
        )
    except Invalid as error:
        _log.warning("nothing is learned or related for want of a vocabulary: %s", error)
        return error


def _pace(settings: Settings) -> Pace:
    return Pace(
        batch=settings.batch_size,
        patience=settings.batch_wait,
        tokens=settings.batch_tokens,
        lease=settings.lease_seconds,
        # A batch may take a call and its repair, and again for its first turn alone.
        longest=max(settings.lease_seconds, 5 * settings.model_timeout),
        attempts=settings.max_attempts,
        backoff=settings.retry_seconds,
        at_once=settings.model_concurrency,
    )


@asynccontextmanager
async def _warming() -> AsyncGenerator[None]:
    """Compile what screening compiles once, on a thread, before the first text needs it."""
    task = asyncio.create_task(
        asyncio.to_thread(review_reasons, "ricordo", confidence=1.0, trusted=True)
    )
    try:
        yield
    finally:
        await task
