"""The end of a session, explicitly or by inactivity: promoted first, put away then."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_framework import AgentSession

from ricordo.access import user_scope
from ricordo.errors import RicordoError, Unavailable
from ricordo.hosts.maf.identity import Resolve, place_of, principal_of
from ricordo.hosts.maf.shaped import ShapedHistory
from ricordo.memory.engine import Ricordo
from ricordo.memory.promotion import promote
from ricordo.model import Conversation, UserScope

logger = logging.getLogger("ricordo.maf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of a session that ended.

    Args:
        thread_id: the session.
        waiting: turns that are not extracted yet; while there are any, nothing is put away. End the
            session again, or let the worker go on.
        parked: turns in the dead letters.
        put_away: conversations that were moved to the archive.
    """

    thread_id: str
    waiting: int
    parked: int
    put_away: int = 0


async def end_session(
    session: AgentSession,
    *,
    memory: Ricordo,
    history: ShapedHistory | None = None,
    agents: Sequence[str] = (),
    patience: float = 30.0,
    resolve: Resolve = principal_of,
) -> Ended:
    """End a session: extract what it said, then put its history away.

    Ending it twice is no error, and a crash in between is made up for by ending it again: turns
    wait in the ledger's queue until they are memory, and a history goes only after that.

    Args:
        history: where the conversation lies; None leaves it alone.
        agents: of the distributed shape: names of the agents that took part.
        patience: seconds that extraction may take.
        resolve: finds the person of the session.

    Raises:
        Denied: the session names nobody.
        Unavailable: its history cannot be put away just now.
    """
    scope = user_scope(resolve(session))
    thread = place_of(session).thread_id
    rooms = (
        set[Conversation]() if history is None else history.conversations(session, agents=agents)
    )
    return await _end(scope, thread, memory=memory, history=history, rooms=rooms, patience=patience)


class SessionWatch:
    """Ends sessions in which nobody has spoken for a while.

    It knows the sessions that this process has heard of. What a process that died had heard is
    extracted by the worker all the same; only its histories stay where they are until somebody
    speaks in them again.

    Args:
        idle: seconds without a turn after which a session has ended.
        patience: seconds that extraction may take, of all sessions that are looked at together.
        clock: seconds that only grow.
        most: conversations that are known at once; the one that was silent longest goes first.
    """

    def __init__(
        self,
        memory: Ricordo,
        *,
        idle: float,
        patience: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        most: int = 100_000,
    ) -> None:
        if idle <= 0:
            raise ValueError("idle must be more than 0 seconds")
        self._memory = memory
        self._idle = idle
        self._patience = patience
        self._clock = clock
        self._most = most
        self._seen: dict[Conversation, float] = {}

    def heard(self, conversation: Conversation) -> None:
        """A turn was said; give this to a history as `on_turn`."""
        self._seen.pop(conversation, None)
        self._seen[conversation] = self._clock()
        if len(self._seen) > self._most:
            self._seen.pop(next(iter(self._seen)))

    async def end_idle(self, *, history: ShapedHistory | None = None) -> list[Ended]:
        """End every session that is idle now; one that could not be ended is tried next time."""
        ended: list[Ended] = []
        # While a model fails, each would take all the time there is: they share it.
        last = asyncio.get_running_loop().time() + self._patience
        for (scope, thread), rooms in self._idle_ones().items():
            since = {room: self._seen[room] for room in rooms}
            done = await _end(
                scope,
                thread,
                memory=self._memory,
                history=history,
                rooms=rooms,
                patience=max(last - asyncio.get_running_loop().time(), 0.0),
            )
            ended.append(done)
            for room in rooms:
                if self._seen.get(room) != since[room]:
                    continue
                del self._seen[room]
                if done.waiting:
                    self._seen[room] = since[room]  # after those that had less of the time
        return ended

    async def run(self, *, history: ShapedHistory | None = None) -> None:
        """End idle sessions until cancelled; a fault puts it off, and is logged."""
        while True:
            await asyncio.sleep(self._idle / 4)
            try:
                await self.end_idle(history=history)
            except RicordoError as error:
                logger.warning("idle sessions cannot be ended just now: %s", error)

    def _idle_ones(self) -> dict[tuple[UserScope, str], set[Conversation]]:
        """By person and thread, the rooms of sessions in which no room was used lately."""
        sessions: dict[tuple[UserScope, str], set[Conversation]] = {}
        for conversation in self._seen:
            sessions.setdefault((conversation.scope, conversation.thread), set()).add(conversation)
        last = self._clock() - self._idle
        return {
            session: rooms
            for session, rooms in sessions.items()
            if all(self._seen[room] <= last for room in rooms)
        }


async def _end(
    scope: UserScope,
    thread: str,
    *,
    memory: Ricordo,
    history: ShapedHistory | None,
    rooms: set[Conversation],
    patience: float,
) -> Ended:
    found = await promote(
        memory.services, memory.intake, scope=scope, thread_id=thread, patience=patience
    )
    put_away = 0
    if found.done and history is not None:
        for room in sorted(rooms, key=lambda conversation: conversation.room):
            put_away += await _put_away(history, room)
    return Ended(thread_id=thread, waiting=found.waiting, parked=found.parked, put_away=put_away)


async def _put_away(history: ShapedHistory, conversation: Conversation) -> bool:
    try:
        return await history.put_away(conversation)
    except RicordoError:
        raise
    except Exception as error:
        raise Unavailable(
            f"thread {conversation.thread!r}: its history cannot be put away "
            f"({type(error).__name__}); end the session again"
        ) from error
