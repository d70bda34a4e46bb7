"""A history that is connected to at its first use; one that is away keeps no memory closed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agent_framework import HistoryProvider, Message

Connect = Callable[[], Awaitable[Any]]
"""Gives the connected history, which also has `clear`."""


class Late:
    """Makes something once, at its first use; what fails is tried again at the next."""

    def __init__(self, make: Connect) -> None:
        self._make = make
        self._making = asyncio.Lock()
        self._made: Any = None

    async def __call__(self) -> Any:
        """What was made."""
        async with self._making:
            if self._made is None:
                self._made = await self._make()
            return self._made


class LateHistory(HistoryProvider):
    """One of the framework's histories, connected to when it is first asked."""

    def __init__(self, source_id: str, *, history: Connect) -> None:
        super().__init__(source_id)
        self._history = history

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The stored messages, oldest first."""
        return await (await self._history()).get_messages(session_id, state=state, **kwargs)

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append messages."""
        await (await self._history()).save_messages(session_id, messages, state=state, **kwargs)

    async def clear(self, session_id: str | None) -> None:
        """Remove a conversation."""
        await (await self._history()).clear(session_id)
