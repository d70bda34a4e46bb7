"""Notes what was recalled, off the path of the answer."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.errors import RicordoError
from ricordo.events import Event, OrganizationMemoryRecalled, UserMemoryRecalled
from ricordo.model import Memory, Origin, Scope, UserScope
from ricordo.ports import Ledger, Writing

_log = logging.getLogger(__name__)

BUFFER = 10_000
"""Most recalls kept until the next write; older ones are dropped, for they are only counters."""


@dataclass(frozen=True, slots=True)
class _Note:
    scope: Scope
    ids: tuple[str, ...]
    agent: str | None
    at: datetime
    origin: Origin | None


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

    def note(
        self,
        memories: Sequence[Memory],
        *,
        agent: str | None,
        at: datetime,
        origin: Origin | None = None,
    ) -> None:
        """Remember that these memories were given to `agent`, in the run that `origin` names."""
        by_scope: dict[Scope, list[str]] = {}
        for memory in memories:
            by_scope.setdefault(memory.scope, []).append(memory.id)
        self._notes += [_Note(s, tuple(ids), agent, at, origin) for s, ids in by_scope.items()]
        del self._notes[:-BUFFER]
        if self._notes:
            self._noted.set()

    def drop(self, scope: Scope) -> None:
        """Forget what was noted of a scope, as when it is being erased."""
        self._notes = [note for note in self._notes if note.scope != scope]

    async def flush(self) -> None:
        """Write down everything noted so far; what cannot be written now is kept for later."""
        self._noted.clear()
        for scope in dict.fromkeys(note.scope for note in self._notes):
            some = [note for note in self._notes if note.scope == scope]
            # Taken before the write: a cancelled one may be committed, and nothing counts twice.
            self.drop(scope)
            try:
                await self._write(scope, some)
            except RicordoError as error:
                _log.warning("recalls could not be counted just now: %s", error)
                self._notes = [*some, *self._notes][-BUFFER:]
                self._noted.set()
                return

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
                id=event_id,
                at=note.at,
                scope=note.scope,
                origins=() if note.origin is None else (note.origin,),
                memory_ids=ids,
                agent=note.agent,
            )
        # Without the run: a person's ids do not enter the organization's events.
        return OrganizationMemoryRecalled(
            id=event_id, at=note.at, scope=note.scope, memory_ids=ids, agent=note.agent
        )
