"""Notes what was recalled, off the path of the answer."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.events import Event, OrganizationMemoryRecalled, UserMemoryRecalled
from ricordo.model import Memory, Scope, UserScope
from ricordo.ports import Ledger, Writing

BUFFER = 10_000
"""Most recalls kept until the next write; older ones are dropped, for they are only counters."""


@dataclass(frozen=True, slots=True)
class _Note:
    scope: Scope
    ids: tuple[str, ...]
    agent: str | None
    at: datetime


class Journal:
    """Collects recalls and writes their counters and events a little later.

    A recall is a read and must not wait for a commit; what is lost in a crash are counters of the
    last moments, never memory.
    """

    def __init__(self, ledger: Ledger, *, new_id: Callable[[str], str]) -> None:
        self._ledger = ledger
        self._new_id = new_id
        self._notes: list[_Note] = []
        self._noted = asyncio.Event()

    def note(self, memories: Sequence[Memory], *, agent: str | None, at: datetime) -> None:
        """Remember that these memories were given to `agent`."""
        by_scope: dict[Scope, list[str]] = {}
        for memory in memories:
            by_scope.setdefault(memory.scope, []).append(memory.id)
        self._notes += [_Note(s, tuple(ids), agent, at) for s, ids in by_scope.items()]
        del self._notes[:-BUFFER]
        if self._notes:
            self._noted.set()

    def drop(self, scope: Scope) -> None:
        """Forget what was noted of a scope that is being erased."""
        self._notes = [note for note in self._notes if note.scope != scope]

    async def flush(self) -> None:
        """Write down everything noted so far."""
        self._noted.clear()
        notes, self._notes = self._notes, []
        by_scope: dict[Scope, list[_Note]] = {}
        for note in notes:
            by_scope.setdefault(note.scope, []).append(note)
        for scope, some in by_scope.items():
            await self._write(scope, some)

    async def run(self, *, every: float = 1.0) -> None:
        """Flush about every `every` seconds, until cancelled; then once more."""
        try:
            while True:
                await self._noted.wait()
                await asyncio.sleep(every)
                await self.flush()
        finally:
            await self.flush()

    async def _write(self, scope: Scope, notes: Sequence[_Note]) -> None:
        async def work(tx: Writing) -> None:
            for note in notes:
                known = await tx.memories(note.ids, scope=scope)
                if not known:
                    continue  # forgotten meanwhile: nothing may be written about it
                ids = tuple(memory.id for memory in known)
                await tx.recalled(ids, at=note.at, scope=scope)
                await tx.emit(self._event(note, ids))

        await self._ledger.write(work, scope=scope)

    def _event(self, note: _Note, ids: tuple[str, ...]) -> Event:
        event_id = self._new_id("e")
        if isinstance(note.scope, UserScope):
            return UserMemoryRecalled(
                id=event_id, at=note.at, scope=note.scope, memory_ids=ids, agent=note.agent
            )
        return OrganizationMemoryRecalled(
            id=event_id, at=note.at, scope=note.scope, memory_ids=ids, agent=note.agent
        )
