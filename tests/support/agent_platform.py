"""A platform that speaks the Swiss AI Agent Protocol: plain nats-py and JSON, no code of ours.

It keeps every event of its agents in a stream of its own, and sees all that is published there.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import nats

PATIENCE = 60.0
"""Seconds for what surely happens, on however slow a machine."""

_numbers = count()


@dataclass(frozen=True)
class Seen:
    """An event as it was published."""

    subject: str
    data: dict[str, Any]

    @property
    def sort(self) -> str:
        return self.subject.split(".")[6]

    @property
    def name(self) -> str:
        return self.subject.split(".")[7]

    @property
    def run(self) -> str:
        return self.subject.split(".")[5]


@dataclass
class Platform:
    """The platform, as far as memory has to do with it.

    Args:
        url: of the NATS server.
        agent_class: of its one class of agents.
    """

    url: str
    agent_class: str = field(default_factory=lambda: f"RAGAgent{next(_numbers)}")
    seen: list[Seen] = field(default_factory=list)

    @property
    def stream(self) -> str:
        return f"agent_{self.agent_class}_stream"

    @property
    def agent(self) -> str:
        return f"{self.agent_class}/hr"

    def subject(
        self,
        name: str,
        *,
        event: str,
        run: str = "run-1",
        thread: str = "thread-1",
        display: str = "display-1",
        sort: str = "control_event",
        agent_class: str | None = None,
    ) -> str:
        where = f"{agent_class or self.agent_class}.hr.{thread}.{display}.{run}"
        return f"agent.{where}.{sort}.{name}.{event}"

    async def say(
        self,
        name: str,
        fields: Mapping[str, Any],
        *,
        event: str | None = None,
        headers: dict[str, str] | None = None,
        **where: str,
    ) -> str:
        """Publish an event, and see it kept. Returns its id."""
        event = event or f"event-{next(_numbers)}"
        data = {
            "event_id": event,
            "created_at": time.time_ns(),
            "_event_name": name,
            "_parent_event_names": [name, "ControlEvent"],
            "display_name": {"en": name},
            "display_description": {"en": ""},
            **fields,
        }
        subject = self.subject(name, event=event, **where)
        await self.publish(subject, json.dumps(data).encode(), headers=headers)
        return event

    async def publish(
        self, subject: str, payload: bytes, *, headers: dict[str, str] | None = None
    ) -> None:
        await self.js.publish(subject, payload, headers=headers, stream=self.stream, timeout=30)

    async def start(self, *, run: str = "run-1", user: Any = None, **where: str) -> None:
        """A run begins: its first event says for whom."""
        fields = {"user": person() if user is None else user, "messages": []}
        await self.say("UserMessageStartEvent", fields, run=run, **where)

    async def store(
        self,
        *lines: str,
        run: str = "run-1",
        thread: str = "thread-1",
        user: Any = None,
        headers: dict[str, str] | None = None,
        event: str | None = None,
        sort: str = "control_event",
        **changes: Any,
    ) -> str:
        """An agent asks for what was said in its run to be kept."""
        wrapped = self.start_event(*lines, run=run, thread=thread, user=user, **changes)
        fields = {
            "start_event": wrapped,
            "target_agent_class": "MemoryWriterAgent",
            "target_agent_id": "memory-writer",
        }
        return await self.say(
            "MemoryStorageRequestedEvent",
            fields,
            run=run,
            thread=thread,
            headers=headers,
            event=event,
            sort=sort,
        )

    def start_event(
        self,
        *lines: str,
        run: str = "run-1",
        thread: str = "thread-1",
        user: Any = None,
        **changes: Any,
    ) -> dict[str, Any]:
        said = [message("user", line) for line in lines]
        return {
            "event_id": f"event-{next(_numbers)}",
            "created_at": time.time_ns(),
            "_event_name": "StoreUserMemoryRequestedEvent",
            "_parent_event_names": ["StoreUserMemoryRequestedEvent", "StartEvent", "ControlEvent"],
            "locale": "en",
            "user": person() if user is None else user,
            "messages": [*said, message("assistant", "I see.")],
            "origin_thread_id": thread,
            "origin_display_id": "display-1",
            "origin_run_id": run,
            "origin_agent_class": self.agent_class,
            "origin_agent_id": "hr",
            "origin_agent_name": {"en": "HR", "de": None},
            "origin_agent_description": {"en": "Answers questions about HR."},
            "origin_memory_llm": None,
            **changes,
        }

    async def recall(self, query: Any, *, run: str = "run-1", **more: Any) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        where = {name: more.pop(name) for name in ("headers", "thread", "event") if name in more}
        before = len(self.told("MemoryRecalledEvent", run=run))
        await self.say("RecallMemoryEvent", {"query": query, **more}, run=run, **where)
        await self.until(lambda: len(self.told("MemoryRecalledEvent", run=run)) > before)
        return self.told("MemoryRecalledEvent", run=run)[-1].data

    def told(self, name: str, *, run: str | None = None) -> list[Seen]:
        """The events of that name so far."""
        return [s for s in self.seen if s.name == name and run in (None, s.run)]

    async def until(self, true: Callable[[], bool]) -> None:
        """Until that is true of what was seen."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                await asyncio.sleep(0.01)

    async def dead(self, prefix: str, *, count: int) -> list[dict[str, Any]]:
        """The notes of the first so many messages that were refused."""
        async with asyncio.timeout(PATIENCE):
            while True:
                state = (await self.js.stream_info(f"{prefix}_dead")).state
                if state.messages >= count:
                    break
                await asyncio.sleep(0.01)
        found = [await self.js.get_msg(f"{prefix}_dead", seq=n + 1) for n in range(state.messages)]
        return [json.loads(each.data or b"") for each in found]

    async def connect(self) -> None:
        """Hear all that is published; call it again when the server was away."""
        self.client = await nats.connect(self.url, max_reconnect_attempts=5)
        self.js = self.client.jetstream(timeout=30)

        async def hear(received: Any) -> None:
            parts = received.subject.split(".")
            if len(parts) == 9:
                with suppress(ValueError, RecursionError):  # what a test published on purpose
                    self.seen.append(Seen(received.subject, json.loads(received.data)))

        self.listening = await self.client.subscribe(f"agent.{self.agent_class}.>", cb=hear)
        await self.client.flush()

    async def __aenter__(self) -> "Platform":
        await self.connect()
        await self.js.add_stream(name=self.stream, subjects=[f"agent.{self.agent_class}.>"])
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.js.delete_stream(self.stream)
        await self.client.close()


def person(user: str = "alice", tenant: str | None = "acme") -> dict[str, Any]:
    """A user as the platform writes one."""
    within = None if tenant is None else {"id": tenant, "name": tenant, "access_rules": []}
    return {
        "id": user,
        "name": user.title(),
        "email": f"{user}@example.org",
        "roles": [],
        "acting_within_tenant": within,
    }


def message(role: str, text: str, *, kind: str = "text") -> dict[str, Any]:
    """A chat message as the platform writes one."""
    return {
        "role": role,
        "additional_kwargs": {},
        "blocks": [{"block_type": kind, "text": text}],
    }


@asynccontextmanager
async def running(work: Any) -> AsyncIterator[None]:
    """Let that go on meanwhile; end it as an operator would."""
    task = asyncio.create_task(work)
    try:
        yield
        assert not task.done(), task
    finally:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.result()
