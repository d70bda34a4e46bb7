"""Three memories, one line to swap: each function returns the `context_providers` of an agent.

Each list keeps the conversation itself in the session, so that short-term memory works next to
long-term memory, whichever that is.
"""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent_framework import (
    ContextProvider,
    HistoryProvider,
    MemoryContextProvider,
    MemoryFileStore,
)

from ricordo.hosts.maf.guarded import GuardedProvider
from ricordo.hosts.maf.history import ShortTermHistory
from ricordo.hosts.maf.identity import OWNER_KEY
from ricordo.hosts.maf.providers import RicordoProvider
from ricordo.memory.engine import Ricordo


def make_ricordo_context_provider(
    memory: Ricordo,
    *,
    history: HistoryProvider | None = None,
    recent_turns: int | None = None,
    **options: Any,
) -> list[ContextProvider]:
    """Ricordo: private per user and agent, shared across the organization.

    Args:
        memory: what `open_memory` opened.
        history: the conversation itself, from `open_history` or `make_history_provider`; by default
            the session carries it.
        recent_turns: how much of the conversation is sent to the model; None for all of it. A
            `history` of yours has its own.
        options: of `RicordoProvider`.
    """
    if history is None:
        history = ShortTermHistory(recent_turns=recent_turns)
    elif recent_turns is not None:
        raise ValueError("give recent_turns to the history that you made")
    return [history, RicordoProvider(memory, **options)]


def make_memory_context_provider(
    path: str | Path,
    *,
    recent_turns: int | None = None,
    deadline: float = 2.0,
    patience: float = 30.0,
    **options: Any,
) -> list[ContextProvider]:
    """The framework's `MemoryContextProvider`: topics in Markdown files, extracted by the agent.

    It belongs to the framework's experimental features and says so once, as a warning.

    Args:
        path: folder of the files; each owner has one of their own below it.
        recent_turns: how much of the conversation is sent to the model; None for all of it.
        deadline, patience: seconds that a run waits for it, before the model and after the answer.
        options: of `MemoryContextProvider`.
    """
    store = MemoryFileStore(path, owner_state_key=OWNER_KEY)
    files = MemoryContextProvider(store=store, **options)

    async def choose(owner: str) -> ContextProvider:
        del owner  # the store finds it in the session
        return files

    guarded = GuardedProvider(
        choose, source_id=files.source_id, deadline=deadline, patience=patience
    )
    return [ShortTermHistory(recent_turns=recent_turns), guarded]


def make_mem0_context_provider(
    *,
    client: Any = None,
    config: Mapping[str, Any] | None = None,
    api_key: str | None = None,
    recent_turns: int | None = None,
    deadline: float = 2.0,
    patience: float = 30.0,
) -> list[ContextProvider]:
    """mem0 2.x, on your own machine or hosted, with one memory per user.

    Its telemetry is switched off, and a search finds what the same user stored, and nothing else.

    Args:
        client: an `AsyncMemory` or `AsyncMemoryClient` of yours; you close it.
        config: of mem0's `AsyncMemory.from_config`, instead of a client.
        api_key: of mem0's hosted service, instead of a client. It is tried at the first run.
            What `config` or `api_key` open is closed by ``await providers[-1].close()``.
        recent_turns: how much of the conversation is sent to the model; None for all of it.
        deadline, patience: seconds that a run waits for it, before the model and after the answer.

    Raises:
        ImportError: the extra ``ricordo[mem0]`` is not installed.
        ValueError: not exactly one of `client`, `config` and `api_key`, or a synchronous client.
    """
    if sum(given is not None for given in (client, config, api_key)) != 1:
        raise ValueError("give exactly one of client, config and api_key")
    provider_class, open_source, hosted = _import_mem0()
    opened_here = client is None
    if config is not None:
        client = open_source.from_config(dict(config))
    if client is not None and not isinstance(client, (open_source, hosted)):
        raise ValueError(
            f"client is a {type(client).__name__}; give mem0's AsyncMemory or AsyncMemoryClient"
        )
    opening = asyncio.Lock()
    clients: list[Any] = [] if client is None else [client]

    async def choose(owner: str) -> ContextProvider:
        async with opening:
            if not clients:  # its constructor calls the service, so it must not run on the loop
                clients.append(await asyncio.to_thread(hosted, api_key=api_key))
        return provider_class(mem0_client=clients[0], user_id=owner, search_user_id=owner)

    async def on_close() -> None:
        while opened_here and clients:
            await clients.pop().__aexit__(None, None, None)

    guarded = GuardedProvider(
        choose, source_id="mem0", deadline=deadline, patience=patience, on_close=on_close
    )
    return [ShortTermHistory(recent_turns=recent_turns), guarded]


def _import_mem0() -> tuple[Any, Any, Any]:
    os.environ.setdefault("MEM0_TELEMETRY", "False")  # read by mem0 when it is imported
    try:
        from agent_framework_mem0 import Mem0ContextProvider
        from mem0 import AsyncMemory, AsyncMemoryClient
    except ImportError as error:
        raise ImportError(
            "mem0 is not installed; install the extra with: pip install 'ricordo[mem0]'"
        ) from error
    return Mem0ContextProvider, AsyncMemory, AsyncMemoryClient
