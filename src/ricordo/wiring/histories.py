"""Short-term memory from settings: stores by their addresses, in one of three shapes."""

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ricordo.adapters.local import LocalHistoryCache
from ricordo.errors import Invalid
from ricordo.ports import HistoryCache, Outside
from ricordo.settings import Settings
from ricordo.wiring.background import running

if TYPE_CHECKING:
    from ricordo.adapters.histories import Opened
    from ricordo.hosts.maf import ShapedHistory
    from ricordo.memory.engine import Ricordo

_log = logging.getLogger(__name__)


@asynccontextmanager
async def open_history(
    memory: "Ricordo | None" = None, *, settings: Settings | None = None, **options: Any
) -> AsyncGenerator["ShapedHistory"]:
    """The conversations' history that the settings describe; closed at the end.

    Args:
        memory: with it, sessions that are idle for `session_idle` seconds are ended in the
            background: extracted first, then put away.
        settings: by default those built in.
        options: of `OwnedHistory`, for example `recent_turns`.

    Raises:
        Invalid: an address that cannot be used. Denied: a server refuses the credentials.
        ImportError: an address needs an extra that is not installed.
    """
    from ricordo.hosts.maf import SessionWatch, make_history_provider

    settings = settings or Settings()
    async with AsyncExitStack() as stack:
        parts = await _open(settings, stack)
        watch = None
        if memory is not None and settings.session_idle is not None:
            watch = SessionWatch(memory, idle=settings.session_idle)
            options.setdefault("on_turn", watch.heard)
        history = make_history_provider(
            shape=settings.shape,
            store=parts.store and parts.store.provider,
            stores={agent: opened.provider for agent, opened in parts.stores.items()},
            cache=parts.cache,
            groups=settings.history_groups or {},
            archive=parts.archive and parts.archive.provider,
            staleness=settings.history_staleness,
            **options,
        )
        stack.push_async_callback(history.close)
        if memory is not None and isinstance(parts.cache, LocalHistoryCache):
            # A cache of this process is found by nobody else, so the memory is told of it.
            memory.services.outside.append(parts.cache)
            stack.callback(memory.services.outside.remove, parts.cache)
        if watch is not None:
            await stack.enter_async_context(running(watch.run(history=history), name="sessions"))
        yield history


async def places_outside(settings: Settings, stack: AsyncExitStack) -> list[Outside]:
    """Where conversations lie, so that they are erased with their person; the truth first."""
    # Who only reads and deletes is not kept from it by a cache.
    parts = await _open(settings, stack, refusable=True)
    stores = [parts.store, *parts.stores.values(), parts.archive]
    places: list[Outside] = [opened.outside for opened in stores if opened is not None]
    if parts.cache is not None and not isinstance(parts.cache, LocalHistoryCache):
        places.append(parts.cache)
    return _named_apart(places)


@dataclass(slots=True)
class _Parts:
    store: "Opened | None" = None
    stores: "dict[str, Opened]" = field(default_factory=dict[str, Any])
    archive: "Opened | None" = None
    cache: Any = None


async def _open(settings: Settings, stack: AsyncExitStack, *, refusable: bool = False) -> _Parts:
    return _Parts(
        store=await _store(settings.history_url, settings, stack),
        stores={
            agent: opened
            for agent, url in (settings.history_urls or {}).items()
            if (opened := await _store(url, settings, stack)) is not None
        },
        archive=await _store(settings.history_archive_url, settings, stack),
        cache=await _cache(settings, stack, refusable=refusable),
    )


async def _store(url: str | None, settings: Settings, stack: AsyncExitStack) -> "Opened | None":
    if url is None:
        return None
    scheme = urlsplit(url).scheme
    from ricordo.adapters import histories

    if scheme == "file":
        return histories.open_files(_folder(url))
    if scheme in ("redis", "rediss", "unix"):
        return await stack.enter_async_context(histories.open_redis(url))
    if scheme == "cosmos":
        key = settings.history_key
        secret = key.get_secret_value() if key else None
        return await stack.enter_async_context(histories.open_cosmos(url, key=secret))
    raise Invalid(f"{scheme}:// is no known kind of history; give file://, redis:// or cosmos://")


async def _cache(
    settings: Settings, stack: AsyncExitStack, *, refusable: bool
) -> "HistoryCache | None":
    url = settings.history_cache_url
    if url is None:
        return None
    if url == "memory://":
        return LocalHistoryCache(lifetime=settings.history_ttl)
    from ricordo.adapters.redis import RedisHistoryCache

    return await stack.enter_async_context(
        RedisHistoryCache.open(
            url,
            lifetime=settings.history_ttl,
            deadline=settings.history_deadline,
            refusable=refusable,
        )
    )


def _named_apart(places: list[Outside]) -> list[Outside]:
    """Two places of one kind must not overwrite each other in a receipt."""
    seen: dict[str, int] = {}
    for place in places:
        seen[place.name] = seen.get(place.name, 0) + 1
        if seen[place.name] > 1:
            place.name = f"{place.name} {seen[place.name]}"
    return places


def _folder(url: str) -> Path:
    return Path(url.removeprefix("file://")).expanduser()
