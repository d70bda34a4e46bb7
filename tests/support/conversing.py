"""Conversations for tests of histories: sessions, messages, and a durable history that counts."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_framework import AgentSession, FileHistoryProvider, HistoryProvider, Message

from ricordo import Principal
from ricordo.hosts.maf import HybridHistory, OwnedHistory, new_session
from tests.support.opening import person


def session_of(thread: str = "t1", *, who: Principal | None = None) -> AgentSession:
    """A session with an owner, as an application makes it."""
    return new_session(thread, principal=who or person())


def user(text: str, **more: Any) -> Message:
    return Message(role="user", contents=[text], **more)


def assistant(text: str, **more: Any) -> Message:
    return Message(role="assistant", contents=[text], **more)


async def keep(
    history: OwnedHistory, session: AgentSession, *texts: str, agent: str = "coder"
) -> None:
    """Append user messages, durably."""
    conversation = history.conversation(session, agent=agent)
    messages = [user(text, message_id=f"id of {text}") for text in texts]
    await history.store(conversation, messages, state={})


async def read(history: OwnedHistory, session: AgentSession, *, agent: str = "coder") -> list[str]:
    """What a run would load now."""
    conversation = history.conversation(session, agent=agent)
    return [message.text for message in await history.load(conversation, state={})]


async def settled(history: HybridHistory) -> None:
    """Wait for what goes on in the background, except for debts to a cache that is gone."""
    while readings := [flight.task for flight in history._flights.values()]:
        await asyncio.gather(*readings, return_exceptions=True)
        await asyncio.sleep(0)


class Counting(HistoryProvider):
    """The framework's files behind a door that counts readings, and can be shut."""

    def __init__(self, folder: Path) -> None:
        super().__init__("counting")
        self.files = FileHistoryProvider(folder)
        self.readings = 0
        self.broken = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.waiting = asyncio.Event()

    async def get_messages(self, session_id: str | None, **more: Any) -> list[Message]:
        self._check()
        self.readings += 1
        found = await self.files.get_messages(session_id, **more)
        self.waiting.set()
        await self.gate.wait()
        return found

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], **more: Any
    ) -> None:
        self._check()
        await self.files.save_messages(session_id, messages, **more)

    def _check(self) -> None:
        if self.broken:
            raise OSError("the disk is gone")


def words(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


__all__ = [
    "Counting",
    "HistoryProvider",
    "assistant",
    "keep",
    "read",
    "session_of",
    "settled",
    "user",
    "words",
]
