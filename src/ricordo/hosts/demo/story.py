"""The story: Alice, Bob and a curator, two agents, and one memory, in eight scenes.

Everything in it is real but the calendar and the model's thinking: a real agent of the Agent
Framework, its own client over HTTP, the same memory that an application opens. The clock is set by
the story, and the endpoint gives what a model said when the story was recorded.
"""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_framework import Agent, AgentSession, InMemoryHistoryProvider
from agent_framework.exceptions import AgentFrameworkException

from ricordo.access import grants_of
from ricordo.errors import Unavailable
from ricordo.hosts.demo import scene
from ricordo.hosts.demo.scene import Overheard, Scene
from ricordo.memory.engine import Ricordo
from ricordo.memory.user import UserMemory
from ricordo.model import EntityClaim, Listing, Memory, Principal, Recollection, RelationClaim

TENANT = "acme"
NAMESPACE = "platform"

CODER = (
    "You are a code assistant. Answer in at most three sentences, with at most one short piece of "
    "Python. Use what is remembered about the user where it helps, and say so when you know "
    "nothing."
)
PLANNER = (
    "You are a planning assistant. Answer in at most two sentences. Use what is remembered about "
    "the user where it helps, and say so when you know nothing."
)
HELLO = "Please keep your code examples concise. I work on Project Falcon."
READ_FILE = "Show me an example of how to read a text file."
MY_WORK = "Which project am I working on?"
HIS_WORK = "Do you know which project I work on?"
DEPENDS = "Which technologies does my project depend on?"
FACTS = (
    ("Project Falcon uses microservices", "Project Falcon", "uses", "microservices"),
    ("Microservices require a service mesh", "microservices", "requires", "service mesh"),
)


class StoryClock:
    """The story's calendar; each look at it is a microsecond later."""

    def __init__(self) -> None:
        self._at = datetime(2026, 3, 2, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self._at += timedelta(microseconds=1)
        return self._at

    def pass_by(self, *, days: int = 0, minutes: int = 0) -> None:
        """Let time pass."""
        self._at = self._at.replace(microsecond=0) + timedelta(days=days, minutes=minutes)


class StoryIds:
    """Ids in the order of the story, so that every telling has the same."""

    def __init__(self) -> None:
        self._given = 0

    def __call__(self, kind: str) -> str:
        self._given += 1
        return f"{kind}_{self._given:020x}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What the wiring puts on the stage.

    Args:
        memory: opened with `clock` and `StoryIds`, without a worker of its own.
        client: the framework's chat client for the endpoint.
        provider: makes the memory's context provider; calls back with each recollection.
        session: makes a conversation of that id for a person.
    """

    memory: Ricordo
    clock: StoryClock
    client: Any
    provider: Callable[[Callable[[AgentSession, Recollection], None]], Any]
    session: Callable[[str, Principal], AgentSession]
    overheard: Overheard = field(default_factory=Overheard)


@dataclass(frozen=True, slots=True)
class _Agents:
    coder: Agent[Any]
    planner: Agent[Any]


async def play(stage: Stage) -> AsyncIterator[Scene]:
    """Play the story, scene by scene.

    Raises:
        Unavailable: the endpoint has no answer to a request of the story.
    """
    teller = _Teller(stage)
    yield await teller.first_meeting()
    stage.clock.pass_by(days=3)
    yield await teller.remembers()
    stage.clock.pass_by(minutes=20)
    yield await teller.another_agent()
    stage.clock.pass_by(minutes=20)
    yield await teller.another_person()
    stage.clock.pass_by(days=1)
    yield await teller.documents()
    stage.clock.pass_by(minutes=30)
    yield await teller.walks()
    stage.clock.pass_by(minutes=10)
    yield await teller.forgets_one()
    stage.clock.pass_by(minutes=1)
    yield await teller.erases()


class _Teller:
    """Plays single scenes; the order is that of `play`."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._memory = stage.memory
        self._alice = _person("alice", reader=[NAMESPACE])
        self._bob = _person("bob", reader=[NAMESPACE])
        self._carla = _person("carla", curator=[NAMESPACE])
        self._agents = _Agents(self._agent("coder", CODER), self._agent("planner", PLANNER))

    async def first_meeting(self) -> Scene:
        before = await self._of_alice()
        answer, found = await self._talk(self._agents.coder, self._alice, "monday", HELLO)
        return await self._scene(
            "Alice meets the code assistant; what is worth keeping is kept after the answer",
            agent="coder",
            thread="monday",
            said=HELLO,
            answer=answer,
            found=found,
            learned=await self._learn(before),
        )

    async def remembers(self) -> Scene:
        answer, found = await self._talk(self._agents.coder, self._alice, "thursday", READ_FILE)
        return await self._scene(
            "Another day, a new session: the code assistant knows her",
            agent="coder",
            thread="thursday",
            said=READ_FILE,
            answer=answer,
            found=found,
        )

    async def another_agent(self) -> Scene:
        answer, found = await self._talk(self._agents.planner, self._alice, "plan", MY_WORK)
        return await self._scene(
            "Another agent knows the fact, and not the preference",
            agent="planner",
            thread="plan",
            said=MY_WORK,
            answer=answer,
            found=found,
        )

    async def another_person(self) -> Scene:
        answer, found = await self._talk(self._agents.coder, self._bob, "bobs", HIS_WORK)
        return await self._scene(
            "Bob asks the same assistant; nothing of Alice's is his to know",
            who="bob",
            agent="coder",
            thread="bobs",
            said=HIS_WORK,
            answer=answer,
            found=found,
        )

    async def documents(self) -> Scene:
        organization = self._memory.organization(self._carla, namespace=NAMESPACE)
        documented: list[scene.Plain] = []
        for text, source, relation, target in FACTS:
            claim = RelationClaim(
                source=EntityClaim(name=source),
                relation=relation,
                target=EntityClaim(name=target),
            )
            stored = await organization.document(text, relations=[claim])
            arrows = [scene.relation(edge) for edge in stored.relations]
            documented.append({**scene.memory(stored.memory), "relations": arrows})
        return await self._scene(
            "A curator documents two facts for the organization, on purpose and word for word",
            who="carla",
            documented=documented,
        )

    async def walks(self) -> Scene:
        answer, found = await self._talk(self._agents.coder, self._alice, "friday", DEPENDS)
        return await self._scene(
            "A walk from her private graph into the organization's",
            agent="coder",
            thread="friday",
            said=DEPENDS,
            answer=answer,
            found=found,
            note="No edge of hers was written into shared memory: the two graphs are joined by the "
            "entity's name, when she asks.",
        )

    async def forgets_one(self) -> Scene:
        mine = self._mine()
        wanted = next(m for m in await self._of_alice() if m.kind == "preference")
        await mine.forget(wanted.id)
        again = await self._memory.user(self._alice, agent="coder").recall(READ_FILE, deadline=10)
        return await self._scene(
            "Alice forgets one thing",
            found=again,
            note=f"Forgotten: {wanted.text!r}. The same question finds it no more.",
        )

    async def erases(self) -> Scene:
        given = await self._mine().erase()
        left = len(await self._of_alice())
        organization = await self._memory.organization(self._carla, namespace=NAMESPACE).list()
        return await self._scene(
            "Alice erases everything, and gets a receipt",
            receipt=scene.receipt(given),
            note=f"{left} memories of Alice are left, and what still waited to be read is gone "
            f"too; the organization keeps its {len(organization.memories)}.",
        )

    async def _scene(
        self, title: str, *, who: str = "alice", found: Recollection | None = None, **more: Any
    ) -> Scene:
        if found is not None:
            more |= {
                "recalled": [scene.recalled(item) for item in found.items],
                "paths": tuple(scene.path(walk) for walk in found.paths),
                "degraded": found.degraded,
                "took_ms": round(found.took_ms, 1),
            }
        at = self._stage.clock().isoformat(timespec="seconds")
        return Scene(title=title, at=at, who=who, **more)

    def _agent(self, name: str, instructions: str) -> Agent[Any]:
        return Agent(
            client=self._stage.client,
            name=name,
            instructions=instructions,
            context_providers=[
                InMemoryHistoryProvider(),
                self._stage.provider(self._stage.overheard.note),
            ],
            default_options={"temperature": 0.0, "max_tokens": 160},
        )

    async def _talk(
        self, agent: Agent[Any], person: Principal, thread: str, words: str
    ) -> tuple[str, Recollection]:
        """A new conversation of one question; returns the answer and what was recalled for it."""
        session = self._stage.session(thread, person)
        try:
            response = await agent.run(words, session=session)
        except AgentFrameworkException as error:
            raise Unavailable(
                f"the endpoint has no answer for the conversation {thread!r}; was it recorded with "
                "another version? tools/record_demo.py records it anew"
            ) from error
        return response.text.strip(), self._stage.overheard.by_thread[thread]

    async def _learn(self, before: list[Memory]) -> list[scene.Plain]:
        """Let the worker read what waits; returns what Alice's memory gained."""
        await self._memory.intake.drain()
        backlog = await self._memory.ledger.backlog()
        if backlog.waiting or backlog.parked:
            raise Unavailable(
                "the endpoint has no answer for a batch of turns; was it recorded with another "
                "version? tools/record_demo.py records it anew"
            )
        known = {one.id for one in before}
        mine = self._mine()
        learned: list[scene.Plain] = []
        for one in await self._of_alice():
            if one.id not in known:
                edges = await mine.relations(one.id)
                arrows = [scene.relation(edge) for edge in edges]
                learned.append({**scene.memory(one), "relations": arrows})
        return learned

    def _mine(self) -> UserMemory:
        return self._memory.user(self._alice)

    async def _of_alice(self) -> list[Memory]:
        page = await self._mine().list(Listing(limit=1_000))
        return list(page.memories)


def _person(user: str, **roles: list[str]) -> Principal:
    return Principal(tenant=TENANT, user=user, grants=grants_of(**roles))
