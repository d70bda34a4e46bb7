"""The end of a session, explicitly or by inactivity: promoted first, put away then."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent_framework import AgentSession

from ricordo.access import user_scope
from ricordo.errors import RicordoError, Unavailable
from ricordo.hosts.maf.identity import Resolve, place_of, principal_of
from ricordo.hosts.maf.shaped import ShapedHistory
from ricordo.memory.engine import Ricordo
from ricordo.memory.promotion import promote
from ricordo.model import Conversation, UserScope

logger = logging.getLogger("ricordo.maf")

_AGENT = "agent:"

_PAGE = 1_000
"""Sessions that are taken over at a time."""

_INSTANT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What became of a session that ended.

    Args:
        thread_id: the session.
        waiting: turns that are not extracted yet; while there are any, nothing is put away. End the
            session again, or let the worker go on.
        parked: turns in the dead letters.
        put_away: conversations that were moved to the archive.
        unsaved: messages that wait in the session, for their history could not take them; while
            there are any, nothing is put away either.
    """

    thread_id: str
    waiting: int
    parked: int
    put_away: int = 0
    unsaved: int = 0


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
    unsaved = 0 if history is None else await history.store_waiting(session)
    ended = await _end(
        scope,
        thread,
        memory=memory,
        history=None if unsaved else history,
        rooms=rooms,
        patience=patience,
    )
    return replace(ended, unsaved=unsaved)


class SessionWatch:
    """Ends sessions in which nobody has spoken for a while.

    It knows the sessions that this process has heard of, and takes over those of processes that
    died: threads of which the ledger took in no turn for twice as long.

    Args:
        idle: seconds without a turn after which a session has ended.
        patience: seconds that extraction may take, of all sessions that are looked at together.
        clock: seconds that only grow.
        most: conversations that are known at once; the one that was silent longest goes first.
        agents: of the distributed shape: names of agents that may have taken part in a session of
            a process that died, besides those that were heard here.
        back: seconds of the past in which a watch that begins looks for such sessions.
    """

    def __init__(
        self,
        memory: Ricordo,
        *,
        idle: float,
        patience: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        most: int = 100_000,
        agents: Sequence[str] = (),
        back: float = 7 * 86_400.0,
    ) -> None:
        if idle <= 0:
            raise ValueError("idle must be more than 0 seconds")
        self._memory = memory
        self._idle = idle
        self._patience = patience
        self._clock = clock
        self._most = most
        self._seen: dict[Conversation, float] = {}
        self._agents = set(agents)
        self._back = timedelta(seconds=back)
        self._adopted: datetime | None = None

    def heard(self, conversation: Conversation) -> None:
        """A turn was said; give this to a history as `on_turn`."""
        self._seen.pop(conversation, None)
        self._seen[conversation] = self._clock()
        if conversation.room.startswith(_AGENT):
            self._agents.add(conversation.room.removeprefix(_AGENT))
        if len(self._seen) > self._most:
            self._seen.pop(next(iter(self._seen)))

    async def adopt(self, *, history: ShapedHistory) -> int:
        """Take over sessions that were silent for twice the time and are not known here: whoever
        heard them may have died. `end_idle` ends them then. Returns how many threads those were.

        Sessions that lie further back than the last look are not looked for again.
        """
        now = self._memory.services.clock()
        after = self._adopted or now - self._back
        until = now - timedelta(seconds=2 * self._idle)
        page = min(_PAGE, self._most - len(self._seen))
        if page < 1 or until <= after:
            return 0
        found = await self._memory.ledger.threads(after=after, until=until, limit=page)
        known = {(each.scope, each.thread) for each in self._seen}
        fresh = [each for each in found if (each.scope, each.thread_id) not in known]
        due = self._clock() - self._idle
        for each in fresh:
            for room in history.rooms(each.scope, each.thread_id, agents=sorted(self._agents)):
                self._seen[room] = due
        # Of a full page the last instant may have more.
        rest = found[-1].at - _INSTANT if len(found) == page else until
        self._adopted = max(rest, found[0].at if found else rest)
        return len(fresh)

    async def end_idle(self, *, history: ShapedHistory | None = None) -> list[Ended]:
        """End every session that is idle now; one that could not be ended is tried next time.

        One with which another process went on is left to that one.
        """
        ended: list[Ended] = []
        # While a model fails, each would take all the time there is: they share it.
        last = asyncio.get_running_loop().time() + self._patience
        for (scope, thread), rooms in self._idle_ones().items():
            since = {room: self._seen[room] for room in rooms}
            try:
                done = await _end(
                    scope,
                    thread,
                    memory=self._memory,
                    history=history,
                    rooms=rooms,
                    patience=max(last - asyncio.get_running_loop().time(), 0.0),
                    idle=True,
                )
            except RicordoError as error:
                # Its store may be away, and no other's.
                logger.warning("an idle session cannot be ended just now: %s", error)
                self._put_off(since)
                continue
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
            try:
                if history is not None:
                    await self.adopt(history=history)
                await self.end_idle(history=history)
            except RicordoError as error:
                logger.warning("idle sessions cannot be ended just now: %s", error)
            await asyncio.sleep(self._idle / 4)

    def _put_off(self, since: dict[Conversation, float]) -> None:
        """Look at these after all others."""
        for room, heard in since.items():
            if self._seen.get(room) == heard:
                del self._seen[room]
                self._seen[room] = heard

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
    idle: bool = False,
) -> Ended:
    found = await promote(
        memory.services, memory.intake, scope=scope, thread_id=thread, patience=patience
    )
    put_away = 0
    if found.done and history is not None:
        for room in sorted(rooms, key=lambda conversation: conversation.room):
            put_away += await _put_away(history, room, idle=idle)
    return Ended(thread_id=thread, waiting=found.waiting, parked=found.parked, put_away=put_away)


async def _put_away(history: ShapedHistory, conversation: Conversation, *, idle: bool) -> bool:
    try:
        return await history.put_away(conversation, unless_continued=idle)
    except RicordoError:
        raise
    except Exception as error:
        raise Unavailable(
            f"thread {conversation.thread!r}: its history cannot be put away "
            f"({type(error).__name__}); end the session again"
        ) from error
