"""`OwnedHistory`: a conversation's history that knows whose it is, and who shares it.

One object serves any number of users, agents and sessions: whose conversation a run belongs to is
read from its session, and which agents share it follows from the shape. Without an identity the
run fails; with one, no fault after the answer ever costs the answer.
"""

import asyncio
import copy
import logging
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self, cast

from agent_framework import (
    AgentSession,
    HistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from ricordo.access import room_of, user_scope
from ricordo.errors import DeadlineExceeded, Denied, RicordoError, Unavailable
from ricordo.hosts.maf.identity import Resolve, place_of, principal_of
from ricordo.hosts.maf.nesting import outer_run
from ricordo.hosts.maf.replay import recognise, stamp
from ricordo.model import Conversation, Principal, Shape, UserScope, check_id

logger = logging.getLogger("ricordo.maf")

CONVERSATION = "conversation"
"""Key of the conversation in the state of a provider."""

UNSAVED = "unsaved"
"""Key, in the state of a provider, of messages that could not be stored yet."""

NO_GROUPS: Mapping[str, Collection[str]] = {}


class OwnedHistory(HistoryProvider):
    """A history in which each person's conversations lie apart, and each room's.

    Args:
        shape: who shares a conversation.
        groups: of the hybrid shape: the agents of each group.
        recent_turns: load only so many turns, each from a user's message on; None loads all.
        resolve: finds the person of a session; raises `Denied` when nobody is known.
        agent_name: the name of the agent; by default its own.
        patience: seconds that a run waits for the history, before the model and after the answer.
        on_turn: is told of each conversation that a turn was stored in.
        source_id: the provider's name in the framework, and of its slot in the session's state.
    """

    def __init__(
        self,
        *,
        shape: Shape = Shape.SHARED,
        groups: Mapping[str, Collection[str]] = NO_GROUPS,
        recent_turns: int | None = None,
        resolve: Resolve = principal_of,
        agent_name: str | None = None,
        patience: float = 10.0,
        on_turn: Callable[[Conversation], None] | None = None,
        source_id: str = "history",
    ) -> None:
        if recent_turns is not None and recent_turns < 1:
            raise ValueError("recent_turns must be at least 1, or None for all")
        super().__init__(source_id)
        self._shape = shape
        self._groups = {name: frozenset(agents) for name, agents in groups.items()}
        _one_group_each(self._groups)
        self._recent_turns = recent_turns
        self._resolve = resolve
        self._agent_name = None if agent_name is None else check_id(agent_name, what="agent name")
        self._patience = patience
        self._on_turn = on_turn
        self._home: AgentSession | None = None
        self._lost = [0]

    @property
    def lost(self) -> int:
        """How often a turn could not be stored at once; it is kept in its session, and tried again
        at the session's next run. Each was logged."""
        return self._lost[0]

    def within(self, session: AgentSession) -> Self:
        """The same history for agents inside a workflow, acting in the conversation of `session`.

        Hand-offs and other workflows give each agent an empty session of its own.
        """
        self._resolve(session)
        bound = copy.copy(self)
        bound._home = session  # noqa: SLF001 - its own class
        return bound

    def conversation(self, session: AgentSession, *, agent: str) -> Conversation:
        """The history that an agent has of a session. Raises `Denied` without an identity."""
        home = self._home or session
        name = self._agent_name or check_id(agent, what="agent name")
        return Conversation(
            scope=user_scope(self._person(home)),
            room=room_of(name, shape=self._shape, groups=self._groups),
            thread=place_of(home).thread_id,
        )

    def conversations(
        self, session: AgentSession, *, agents: Sequence[str] = ()
    ) -> set[Conversation]:
        """The histories of a session: of every group, and of these agents and those known here."""
        home = self._home or session
        scope = user_scope(self._person(home))
        return self.rooms(scope, place_of(home).thread_id, agents=agents)

    def rooms(
        self, scope: UserScope, thread_id: str, *, agents: Sequence[str] = ()
    ) -> set[Conversation]:
        """The same of a session that is not at hand, by its person and thread."""
        named = {*agents, *(agent for group in self._groups.values() for agent in group)}
        if self._agent_name is not None:
            named = {self._agent_name}
        if self._shape is Shape.SHARED or (self._shape is Shape.HYBRID and not self._groups):
            named = {"everybody"}
        return {
            Conversation(
                scope=scope,
                room=room_of(name, shape=self._shape, groups=self._groups),
                thread=thread_id,
            )
            for name in named
        }

    async def messages(self, session: AgentSession, *, agent: str) -> list[Message]:
        """What the agent has of the session, oldest first, for a user interface or an operator."""
        state = cast("dict[str, Any]", session.state.setdefault(self.source_id, {}))
        return await self._known(self.conversation(session, agent=agent), state=state)

    @abstractmethod
    async def load(self, conversation: Conversation, *, state: dict[str, Any]) -> list[Message]:
        """The stored messages, oldest first."""

    @abstractmethod
    async def store(
        self, conversation: Conversation, messages: Sequence[Message], *, state: dict[str, Any]
    ) -> None:
        """Append messages durably; those whose ids are there already change nothing."""

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The turns to load, oldest first.

        Raises:
            Denied: the state was not prepared by a run; a session's id alone opens nothing.
        """
        del session_id, kwargs  # a session's id alone says neither whose it is, nor which room
        return self._recent(await self._known(_stamped(state), state=state or {}))

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append messages; when it returns, they are stored. Raises as `get_messages`."""
        del session_id, kwargs
        conversation = _stamped(state)
        stamp(messages)
        await self.store(conversation, messages, state=state or {})

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Load the conversation, unless the service keeps it.

        Raises:
            Denied: the session names nobody.
            Unavailable: the history cannot be read; an answer would be one without the context.
        """
        if session.service_session_id is not None:
            return
        conversation = self.conversation(session, agent=agent.name or agent.id)
        state[CONVERSATION] = conversation_state(conversation)
        try:
            async with asyncio.timeout(self._patience):
                await self._make_up(conversation, state)
                await super().before_run(agent=agent, session=session, context=context, state=state)
        except RicordoError:
            raise
        except TimeoutError as error:
            raise DeadlineExceeded(
                f"thread {conversation.thread!r}: its history took longer than {self._patience} s"
            ) from error
        except Exception as error:
            raise Unavailable(
                f"thread {conversation.thread!r}: its history cannot be read "
                f"({type(error).__name__}); try again"
            ) from error
        self._say_once(context)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Store the new messages; what cannot be stored now waits in the session, never raised."""
        if session.service_session_id is not None:
            return
        try:
            conversation = self.conversation(session, agent=agent.name or agent.id)
            state[CONVERSATION] = conversation_state(conversation)
            answer = context.response.messages if context.response is not None else ()
            stamp([*context.input_messages, *answer])
            earlier = _waiting(state)
            # Noted first: whatever happens now, even a cancellation, the session still has them.
            state[UNSAVED] = [*earlier, *context.input_messages, *answer]
            async with asyncio.timeout(self._patience):
                if earlier:  # first what was said first
                    await self._store_missing(conversation, earlier, state)
                await super().after_run(agent=agent, session=session, context=context, state=state)
            del state[UNSAVED]
            if self._on_turn is not None:
                self._on_turn(conversation)
        except Exception as error:  # noqa: BLE001 - the host's edge: the answer is there already
            self._lost[0] += 1
            logger.error(  # noqa: TRY400 - a traceback could carry what was said
                "thread %r: the turn is not in its history yet (%s); it waits in the session",
                session.session_id,
                type(error).__name__,
            )

    async def store_waiting(self, session: AgentSession) -> int:
        """Store what earlier runs of a session could not; how many messages wait still."""
        state = cast("dict[str, Any]", session.state.get(self.source_id) or {})
        if _waiting(state) and state.get(CONVERSATION) is not None:
            await self._make_up(_stamped(state), state)
        return len(_waiting(state))

    async def close(self) -> None:
        """Release what the history holds itself; stores that it was given stay open."""

    async def _known(self, conversation: Conversation, *, state: dict[str, Any]) -> list[Message]:
        stored = await self.load(conversation, state=state)
        ids = {message.message_id for message in stored}
        return [*stored, *(m for m in _waiting(state) if m.message_id not in ids)]

    async def _make_up(self, conversation: Conversation, state: dict[str, Any]) -> None:
        """Store what an earlier run could not; while that fails, the session goes on with it."""
        waiting = _waiting(state)
        if not waiting:
            return
        try:
            await self._store_missing(conversation, waiting, state)
        except Exception as error:  # noqa: BLE001 - whatever a store raises, the turns are here
            logger.warning(
                "thread %r: earlier turns still wait in the session (%s)",
                conversation.thread,
                type(error).__name__,
            )
            return
        del state[UNSAVED]

    async def _store_missing(
        self, conversation: Conversation, messages: Sequence[Message], state: dict[str, Any]
    ) -> None:
        stored = {message.message_id for message in await self.load(conversation, state=state)}
        missing = [message for message in messages if message.message_id not in stored]
        if missing:
            await self.store(conversation, missing, state=state)

    def _say_once(self, context: SessionContext) -> None:
        """Leave out of the loaded history what the input says again, as hand-overs do."""
        history = context.context_messages.get(self.source_id, [])
        recognise(context.input_messages, history=history)
        again = {m.message_id for m in context.input_messages if m.message_id}
        kept = [message for message in history if message.message_id not in again]
        context.context_messages[self.source_id] = kept
        stamp(context.input_messages)

    def _recent(self, messages: list[Message]) -> list[Message]:
        if self._recent_turns is None:
            return messages
        starts = [n for n, message in enumerate(messages) if str(message.role) == "user"]
        return messages[starts[-self._recent_turns :][0] :] if starts else messages

    def _person(self, session: AgentSession) -> Principal:
        try:
            return self._resolve(session)
        except Denied:
            outer = outer_run()
            if outer is None:
                raise
            return outer.principal


def _one_group_each(groups: Mapping[str, Collection[str]]) -> None:
    seen: dict[str, str] = {}
    for name, agents in groups.items():
        for agent in agents:
            check_id(agent, what="agent name")
            if agent in seen:
                raise ValueError(
                    f"agent {agent!r} is in the groups {seen[agent]!r} and {name!r}; what it says "
                    "belongs to one of them, so put it into one"
                )
            seen[agent] = name


def _waiting(state: Mapping[str, Any]) -> list[Message]:
    return cast("list[Message]", state.get(UNSAVED) or [])


def conversation_state(conversation: Conversation) -> dict[str, str]:
    """A conversation as a session's state keeps it: plain JSON."""
    return {
        "tenant": conversation.scope.tenant,
        "user": conversation.scope.user,
        "room": conversation.room,
        "thread": conversation.thread,
    }


def _stamped(state: Mapping[str, Any] | None) -> Conversation:
    noted = (state or {}).get(CONVERSATION)
    if not isinstance(noted, Mapping):
        raise Denied(
            "a session's id alone opens no history; run an agent with the session, or ask "
            "messages(session, agent=...)"
        )
    known = cast("Mapping[str, str]", noted)
    return Conversation(
        scope=UserScope(tenant=known["tenant"], user=known["user"]),
        room=known["room"],
        thread=known["thread"],
    )
