"""Short-term memory next to long-term memory: the conversation itself, kept in the session."""

from typing import Any

from agent_framework import (
    AgentSession,
    InMemoryHistoryProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)


class ShortTermHistory(InMemoryHistoryProvider):
    """The framework's history in the session, silent while the model's service keeps its own.

    Args:
        recent_turns: load only so many turns, each from a user's message on; None loads all.
    """

    def __init__(self, *, recent_turns: int | None = None) -> None:
        if recent_turns is not None and recent_turns < 1:
            raise ValueError("recent_turns must be at least 1, or None for all")
        super().__init__()
        self._recent_turns = recent_turns

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """The turns to load, oldest first."""
        messages = await super().get_messages(session_id, state=state, **kwargs)
        if self._recent_turns is None:
            return messages
        starts = [n for n, message in enumerate(messages) if message.role == "user"]
        return messages[starts[-self._recent_turns :][0] :] if starts else messages

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Load the conversation, unless the service already holds it."""
        if session.service_session_id is None:
            await super().before_run(agent=agent, session=session, context=context, state=state)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Keep the new messages, unless the service does."""
        if session.service_session_id is None:
            await super().after_run(agent=agent, session=session, context=context, state=state)
