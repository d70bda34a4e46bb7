"""Ricordo as context providers of the Microsoft Agent Framework.

One provider object serves any number of users at once: whose memory a run may touch is read from
its session, and nothing of a run is kept on the provider. Without an identity the run fails; with
one, no fault of memory ever costs the answer.
"""

import asyncio
import copy
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from agent_framework import (
    AgentSession,
    ContextProvider,
    Message,
    SessionContext,
    SupportsAgentRun,
)

from ricordo.access import user_scope
from ricordo.errors import Denied, Erased
from ricordo.hosts.maf.identity import Resolve, place_of, principal_of
from ricordo.hosts.maf.nesting import InsideTools, Run, outer_run
from ricordo.hosts.maf.tools import organization_tools, origin_of, user_tools
from ricordo.hosts.maf.turns import marks_of, question_of, said_by_user, said_in_run, unheard
from ricordo.memory.engine import Ricordo
from ricordo.memory.rendering import origins_of, render
from ricordo.model import Principal, Recollection, Said, Turn, check_id, new_id

logger = logging.getLogger("ricordo.maf")

GRACE = 0.1
"""Seconds that a recall may overrun its own deadline before the host stops waiting."""

PATIENCE = 5.0
"""Seconds that the durable enqueue after the answer may take before it counts as lost."""


@dataclass(slots=True)
class Counts:
    """What went wrong at this provider since it was made.

    Args:
        lost: turns that could not be queued after the answer.
        recalls_failed: recalls that ended in a fault or past the deadline.
    """

    lost: int = 0
    recalls_failed: int = 0


class RicordoProvider(ContextProvider):
    """Recalls before a run and queues the turn after it, for whoever the session belongs to.

    Args:
        memory: what `open_memory` opened; whoever opened it closes it.
        user, organization: which memories are recalled; both by default, and then a walk may go on
            from the user's private graph into the organization's.
        namespaces: only these of the organization's, as far as the person is granted them.
        resolve: finds the person of a session; raises `Denied` when nobody is known.
        agent_name: the name under which preferences are kept; by default the agent's name. An
            agent without a name goes by its id, which the framework makes anew in every process,
            so that its preferences do not come back: name your agents.
        deadline: seconds that a run waits for recall at most.
        limit, tokens: how much is recalled at most. These three default to the settings.
        tools: give the agent tools to search, remember and forget.
        approve_writes: the user-memory tools that change something need approval; those of the
            organization always do.
        learn: queue what the person said, to be remembered.
        on_recall: is shown each recollection before it is injected, for a user interface; what it
            raises is logged by its type.
        source_id: the provider's name in the framework.
    """

    after_run_once_per_turn = True

    def __init__(
        self,
        memory: Ricordo,
        *,
        user: bool = True,
        organization: bool = True,
        namespaces: Sequence[str | None] | None = None,
        resolve: Resolve = principal_of,
        agent_name: str | None = None,
        deadline: float | None = None,
        limit: int | None = None,
        tokens: int | None = None,
        tools: bool = False,
        approve_writes: bool = False,
        learn: bool = True,
        on_recall: Callable[[AgentSession, Recollection], None] | None = None,
        source_id: str = "ricordo",
    ) -> None:
        if not user and not organization:
            raise ValueError("a memory provider without user and organization memory has no memory")
        super().__init__(source_id=source_id)
        self._memory = memory
        self._user = user
        self._organization = organization
        self._namespaces = None if namespaces is None else tuple(namespaces)
        self._resolve = resolve
        self._agent_name = None if agent_name is None else check_id(agent_name, what="agent name")
        self._deadline = memory.services.bounds.deadline if deadline is None else deadline
        self._limit = limit
        self._tokens = tokens
        self._tools = tools
        self._approve_writes = approve_writes
        self._learn = learn and user
        self._on_recall = on_recall
        self._conversation: AgentSession | None = None
        self._counts = Counts()

    @property
    def lost(self) -> int:
        """How many turns could not be queued; each was logged with its ids."""
        return self._counts.lost

    @property
    def recalls_failed(self) -> int:
        """How many recalls ended in a fault or past the deadline; the answers came without."""
        return self._counts.recalls_failed

    def within(self, session: AgentSession) -> Self:
        """The same memory for agents inside a workflow, acting in the conversation of `session`.

        Hand-offs and other workflows give each agent an empty session of its own, which names
        nobody. Person, thread and display then come from `session`.
        """
        self._resolve(session)
        bound = copy.copy(self)
        bound._conversation = session  # noqa: SLF001 - its own class
        return bound

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Inject what is remembered, in a user-role message of delimited reference data.

        Raises:
            Denied: the session names nobody.
            Invalid: the agent's name cannot serve as an id.
        """
        run = self._begin(agent, session, context)
        state["began"] = run.at.isoformat()
        context.extend_middleware(self.source_id, InsideTools(run))
        if self._tools:
            context.extend_tools(self.source_id, self._run_tools(run))
        question = question_of(context.input_messages, principal=run.principal)
        if not question:
            state["degraded"] = []
            return
        found = await self._recall(run, question)
        state["degraded"] = list(found.degraded)
        self._show(session, found)
        text = render(found)
        if text:
            here = run.place.thread_id
            context.extend_messages(
                self,
                [Message(role="user", contents=[text])],
                origin_session_ids=[t for t in origins_of(found) if t != here],
            )

    def _show(self, session: AgentSession, found: Recollection) -> None:
        if self._on_recall is None:
            return
        try:
            self._on_recall(session, found)
        except Exception as error:  # noqa: BLE001 - the host's edge: a screen costs no answer
            logger.warning("on_recall failed (%s); the run goes on", type(error).__name__)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],
    ) -> None:
        """Queue the turn durably; whatever goes wrong is counted and logged, never raised."""
        if not self._learn:
            return
        thread = session.session_id
        try:
            run = self._known(context) or self._begin(agent, session, context, since=state)
            thread = run.place.thread_id
            if not run.inner:
                await self._observe(run, agent=agent, context=context, state=state)
        except Erased:
            logger.info("thread %r: the person was erased meanwhile; the turn was dropped", thread)
        except Exception as error:  # noqa: BLE001 - the host's edge: the answer is there already
            self._counts.lost += 1
            logger.error(  # noqa: TRY400 - a traceback could carry what was said
                "thread %r: the turn could not be queued (%s)", thread, type(error).__name__
            )

    async def _observe(
        self, run: Run, *, agent: SupportsAgentRun, context: SessionContext, state: dict[str, Any]
    ) -> None:
        heard: list[str] = list(state.get("heard", ()))
        fresh = unheard(context.input_messages, heard=heard)
        said = said_in_run(fresh, context.response, principal=run.principal)
        if not any(message.trusted and message.speaker == "user" for message in said):
            return
        turn = Turn(
            thread_id=run.place.thread_id,
            display_id=run.place.display_id,
            run_id=run.id,
            agent=run.agent,
            at=run.at,
            said=said,
        )
        async with asyncio.timeout(PATIENCE):
            await self._memory.user(run.principal, agent=run.agent).observe(turn)
        answer = context.response.messages if context.response is not None else ()
        state["heard"] = marks_of([*fresh, *answer], heard=heard)
        self._offer_model(agent)

    async def _recall(self, run: Run, question: str) -> Recollection:
        """What is found in time; an empty recollection, marked as degraded, when memory fails."""
        namespaces = self._granted(run.principal)
        try:
            async with asyncio.timeout(self._deadline + GRACE):
                return await self._memory.user(run.principal, agent=run.agent).recall(
                    question,
                    limit=self._limit,
                    tokens=self._tokens,
                    deadline=self._deadline,
                    user=self._user,
                    organization=self._organization and namespaces != (),
                    namespaces=namespaces,
                    origin=origin_of(run),
                )
        except Denied:
            raise
        except Exception as error:  # noqa: BLE001 - the host's edge: recall fails open
            self._counts.recalls_failed += 1
            logger.warning(
                "thread %r: recall failed (%s), %d so far; the run goes on without memory",
                run.place.thread_id,
                type(error).__name__,
                self._counts.recalls_failed,
            )
            return Recollection(degraded=("recall",))

    def _begin(
        self,
        agent: SupportsAgentRun,
        session: AgentSession,
        context: SessionContext,
        *,
        since: dict[str, Any] | None = None,
    ) -> Run:
        """Find out for whom this run acts, and note it in the run's own context."""
        outer = outer_run()
        home = self._conversation or session
        began = (since or {}).get("began")
        principal = self._person(home, outer)
        run = Run(
            id=context.metadata.setdefault("ricordo.run", new_id("run")),
            at=datetime.fromisoformat(began)
            if isinstance(began, str)
            else self._memory.services.clock(),
            principal=principal,
            agent=self._name_of(agent),
            place=place_of(home),
            said=_said(principal, context, outer),
            inner=outer is not None,
        )
        context.metadata[self._note] = run
        return run

    def _person(self, session: AgentSession, outer: Run | None) -> Principal:
        try:
            return self._resolve(session)
        except Denied:
            if outer is None:
                raise
            return outer.principal

    @property
    def _note(self) -> str:
        return f"ricordo.run:{self.source_id}"

    def _known(self, context: SessionContext) -> Run | None:
        run = context.metadata.get(self._note)
        return run if isinstance(run, Run) else None

    def _name_of(self, agent: SupportsAgentRun) -> str:
        return self._agent_name or check_id(agent.name or agent.id, what="agent name")

    def _granted(self, principal: Principal) -> tuple[str | None, ...] | None:
        """The wanted namespaces that the person may read; None for all of them."""
        if self._namespaces is None:
            return None
        granted = {grant.namespace for grant in principal.grants}
        return tuple(name for name in self._namespaces if name in granted)

    def _run_tools(self, run: Run) -> list[Any]:
        tools: list[Any] = []
        if self._user:
            tools += user_tools(
                self._memory, run, deadline=self._deadline, approve_writes=self._approve_writes
            )
        if self._organization:
            tools += organization_tools(
                self._memory,
                run,
                deadline=self._deadline,
                namespaces=self._granted(run.principal),
            )
        return tools

    def _offer_model(self, agent: SupportsAgentRun) -> None:
        """Lend the agent's own chat client for extraction, where no model is configured."""
        client = getattr(agent, "client", None)
        make = self._memory.make_extractor
        if client is None or make is None or self._memory.intake.ready:
            return
        try:
            self._memory.intake.use(make(client))
        except Exception as error:  # noqa: BLE001 - the turn is queued, and waits for a model
            logger.warning("the agent's client cannot extract (%s)", type(error).__name__)


def _said(principal: Principal, context: SessionContext, outer: Run | None) -> tuple[Said, ...]:
    """What the person said to this run; to an inner one a model spoke, so what the outer heard."""
    if outer is None:
        return tuple(said_by_user(context.input_messages, principal=principal))
    same = user_scope(outer.principal) == user_scope(principal)
    return outer.said if same else ()


class UserMemoryProvider(RicordoProvider):
    """The user's own memory only: recalls and learns preferences and facts."""

    def __init__(self, memory: Ricordo, *, source_id: str = "ricordo_user", **options: Any) -> None:
        super().__init__(memory, user=True, organization=False, source_id=source_id, **options)


class OrganizationMemoryProvider(RicordoProvider):
    """What the organization documented only: recalls, and never learns."""

    def __init__(
        self, memory: Ricordo, *, source_id: str = "ricordo_organization", **options: Any
    ) -> None:
        super().__init__(
            memory, user=False, organization=True, learn=False, source_id=source_id, **options
        )
