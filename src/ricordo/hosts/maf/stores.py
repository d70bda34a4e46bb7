"""The framework's own histories as stores: where a conversation lies, and how it is removed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agent_framework import FileHistoryProvider, HistoryProvider, InMemoryHistoryProvider

Remove = Callable[[str], Awaitable[None]]
"""Removes the conversation of a key from a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One of the framework's histories, with what the shapes need to know about it.

    Args:
        provider: keeps the messages.
        remove: removes a conversation; None where the store cannot.
    """

    provider: HistoryProvider
    remove: Remove | None

    @property
    def in_session(self) -> bool:
        """Whether the session itself carries the messages."""
        return isinstance(self.provider, InMemoryHistoryProvider)


def store_of(provider: HistoryProvider) -> Store:
    """Any history as a store; it can remove a conversation when it has a method `clear`."""
    if isinstance(provider, FileHistoryProvider):
        return Store(provider=provider, remove=_from_files(provider))
    clear: Any = getattr(provider, "clear", None)
    return Store(provider=provider, remove=cast("Remove", clear) if callable(clear) else None)


def _from_files(provider: FileHistoryProvider) -> Remove:
    async def remove(key: str) -> None:
        await asyncio.to_thread(_unlink, provider.storage_path, key)

    return remove


def _unlink(folder: Path, key: str) -> None:
    # A key is made of hexadecimal digits and a dot, which the framework takes as a name verbatim.
    for suffix in ("jsonl", "msgpack"):
        (folder / f"{key}.{suffix}").unlink(missing_ok=True)
