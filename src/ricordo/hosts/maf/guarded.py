"""Other memories of the framework, made safe to plug in: mem0 and the framework's own.

Closed on identity and open on faults, as Ricordo's own providers are: the owner is set from the
session's principal, a failing memory never costs the answer, and an agent that is called as a tool
teaches it nothing.
"""

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

from agent_framework import AgentSession, ContextProvider, SessionContext, SupportsAgentRun

from ricordo.errors import Denied
from ricordo.hosts.maf.identity import OWNER_KEY, Resolve, owner_of, place_of, principal_of
from ricordo.hosts.maf.nesting import InsideTools, Run, outer_run
from ricordo.hosts.maf.turns import without_injected
from ricordo.model import Principal, new_id

logger = logging.getLogger("ricordo.maf")

Choose = Callable[[str], Awaitable[ContextProvider]]
"""Finds the provider to use for an owner."""


class GuardedProvider(ContextProvider):
    """Lets another provider remember, for whoever the session belongs to.

    Args:
        choose: finds the provider for an owner, as `owner_of` names them.
        source_id: the provider's name in the framework.
        resolve: finds the person of a session; raises `Denied` when nobody is known.
        deadline: seconds that a run waits before the model is called.
        patience: seconds that it waits after the answer.
        on_close: closes what `choose` opened.
    """

    after_run_once_per_turn = True

    def __init__(
        self,
        choose: Choose,
        *,
        source_id: str,
        resolve: Resolve = principal_of,
        deadline: float,
        patience: float,
        on_close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        super().__init__(source_id=source_id)
        self._choose = choose
        self._resolve = resolve
        self._deadline = deadline
        self._patience = patience
        self._on_close = on_close
        self._lost = 0

    @property
    def lost(self) -> int:
        """How many turns the memory failed to keep; each was logged."""
        return self._lost

    async def close(self) -> None:
        """Close what the provider opened itself; a client that it was given stays open."""
        if self._on_close is not None:
            await self._on_close()

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Let the memory add what it knows. Raises `Denied` when the session names nobody."""
        principal = self._person(session)
        owner = session.state[OWNER_KEY] = owner_of(principal)
        context.extend_middleware(self.source_id, InsideTools(_run(agent, session, principal)))
        try:
            async with asyncio.timeout(self._deadline):
                memory = await self._choose(owner)
                await memory.before_run(agent=agent, session=session, context=context, state=state)
        except Exception as error:  # noqa: BLE001 - the host's edge: recall fails open
            logger.warning(
                "%s failed before the run (%s); it goes on without", self.source_id, _name(error)
            )

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Let the memory learn; whatever goes wrong is counted and logged, never raised.

        It is not shown what was injected, what tools returned, or whose label says untrusted.
        """
        if outer_run() is not None:
            return
        try:
            principal = self._person(session)
            heard = copy.copy(context)
            heard.input_messages = without_injected(context.input_messages, principal=principal)
            async with asyncio.timeout(self._patience):
                memory = await self._choose(owner_of(principal))
                await memory.after_run(agent=agent, session=session, context=heard, state=state)
        except Exception as error:  # noqa: BLE001 - the host's edge: the answer is there already
            self._lost += 1
            logger.error(  # noqa: TRY400 - a traceback could carry what was said
                "%s lost a turn after the answer (%s)", self.source_id, _name(error)
            )

    def _person(self, session: AgentSession) -> Principal:
        try:
            return self._resolve(session)
        except Denied:
            outer = outer_run()
            if outer is None:
                raise
            return outer.principal


def _run(agent: SupportsAgentRun, session: AgentSession, principal: Principal) -> Run:
    return Run(
        id=new_id("run"),
        at=datetime.now(UTC),
        principal=principal,
        agent=agent.name or agent.id,
        place=place_of(session),
    )


def _name(error: Exception) -> str:
    return type(error).__name__
