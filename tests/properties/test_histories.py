"""Conversations under every order of events that Hypothesis can think of.

The cache's port is kept by a real cache; only *when* its steps and those of the durable history
happen is chosen here, one at a time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from agent_framework import FileHistoryProvider, HistoryProvider, Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ricordo.access import room_of
from ricordo.adapters.local import LocalHistoryCache
from ricordo.errors import Unavailable
from ricordo.hosts.maf import HybridHistory, make_history_provider
from ricordo.model import Conversation, Shape, UserScope
from ricordo.ports import Glance
from tests.support.conversing import keep, read, session_of, user
from tests.support.opening import person

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")


@pytest.fixture(autouse=True)
def _nobody_looks_at_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache that failed is left alone for as long as a test lasts, however slow the machine is:
    when it is asked again depends on real time, which Hypothesis cannot repeat."""
    monkeypatch.setattr("ricordo.hosts.maf.hybrid.REST", 86_400.0)


PLACE = Conversation(scope=UserScope(tenant="acme", user="alice"), room="everybody", thread="t1")
AGENTS = ("coder", "tester", "planner", "desk", "guest")


class Stage:
    """Lets one step happen at a time; which one is next, the test decides."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []

    async def step(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        await turn

    async def play(self, work: Sequence[Awaitable[None]], choose: Callable[[int], int]) -> None:
        tasks = [asyncio.ensure_future(one) for one in work]
        while not all(task.done() for task in tasks):
            for _ in range(10):  # until everybody waits for a turn, or has ended
                await asyncio.sleep(0)
            if self.waiting:
                self.waiting.pop(choose(len(self.waiting))).set_result(None)
        await asyncio.gather(*tasks)


class SteppedCache:
    """A real cache, each of whose calls happens at its turn, or fails when it is told to."""

    def __init__(self, cache: LocalHistoryCache, stage: Stage, fails: Callable[[], bool]) -> None:
        self._cache, self._stage, self._fails = cache, stage, fails
        self.lifetime = cache.lifetime

    async def _turn(self) -> None:
        await self._stage.step()
        if self._fails():
            raise Unavailable("cut off")

    async def look(self, conversation: Conversation, *, within: float) -> Glance:
        await self._turn()
        return await self._cache.look(conversation, within=within)

    async def fill(self, conversation: Conversation, **given: Any) -> bool:
        await self._turn()
        return await self._cache.fill(conversation, **given)

    async def hold(self, conversation: Conversation, *, writer: str) -> None:
        await self._turn()
        await self._cache.hold(conversation, writer=writer)

    async def release(self, conversation: Conversation, *, writer: str) -> None:
        await self._turn()
        await self._cache.release(conversation, writer=writer)

    async def forget(self, *, scope: UserScope) -> int:
        return await self._cache.forget(scope=scope)

    async def count(self, *, scope: UserScope) -> int:
        return await self._cache.count(scope=scope)


class SteppedTruth(HistoryProvider):
    """A durable history whose readings and writings happen at their turn."""

    def __init__(self, stage: Stage) -> None:
        super().__init__("truth")
        self._stage = stage
        self.kept: list[Message] = []

    async def get_messages(self, session_id: str | None, **_: Any) -> list[Message]:
        await self._stage.step()
        found = list(self.kept)
        await self._stage.step()  # the answer travels
        return found

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], **_: Any
    ) -> None:
        await self._stage.step()
        self.kept.extend(messages)
        await self._stage.step()


class Play:
    """Actors, each a process of its own, on one truth and one cache."""

    def __init__(self, data: st.DataObject, *, failing: bool) -> None:
        self.stage = Stage()
        self.now = [0.0]
        self.cache = LocalHistoryCache(lifetime=10_000, clock=lambda: self.now[0])
        self.truth = SteppedTruth(self.stage)
        self.acknowledged: list[str] = []
        self.histories: list[HybridHistory] = []
        self._data = data
        self._failing = failing

    def actor(self, *, staleness: float) -> HybridHistory:
        def fails() -> bool:
            return self._failing and self._data.draw(st.integers(0, 3), label="fails?") == 0

        cache = SteppedCache(self.cache, self.stage, fails)
        history = HybridHistory(self.truth, cache, staleness=staleness, refill=False, wait=0)
        self.histories.append(history)
        return history

    async def write(self, history: HybridHistory, texts: Sequence[str]) -> None:
        for text in texts:
            await history.store(PLACE, [user(text, message_id=text)], state={})
            self.acknowledged.append(text)

    async def look(self, history: HybridHistory, times: int, *, exact: bool) -> None:
        for _ in range(times):
            due = set(self.acknowledged)
            found = [message.text for message in await history.load(PLACE, state={})]
            truth = [message.text for message in self.truth.kept]
            assert found == truth[: len(found)], "a state that never was"
            if exact:
                assert due <= set(found), "an acknowledged message was not seen"

    async def end(self) -> None:
        for history in self.histories:
            await history.close()


def played(data: st.DataObject, *, failing: bool) -> None:
    async def run() -> None:
        play = Play(data, failing=failing)
        writers = [play.actor(staleness=1_000) for _ in range(2)]
        readers = [play.actor(staleness=1_000) for _ in range(2)]
        work = [
            *(play.write(w, [f"{n}.{i}" for i in range(2)]) for n, w in enumerate(writers)),
            *(play.look(r, 3, exact=not failing) for r in readers),
        ]
        choose = lambda most: data.draw(st.integers(0, most - 1), label="next")  # noqa: E731
        try:
            await play.stage.play(work, choose)
            assert len(play.truth.kept) == 4
            play.now[0] += 1_001  # beyond the bound, everything acknowledged is seen by everybody
            play._failing = False
            await play.stage.play(
                [play.look(history, 1, exact=True) for history in play.histories], choose
            )
        finally:
            await play.end()

    asyncio.run(run())


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_in_every_order_of_steps_what_is_acknowledged_is_seen(data: st.DataObject) -> None:
    """Two writers and two readers in processes of their own: linearizable with the cache there."""
    played(data, failing=False)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_when_calls_of_the_cache_fail_the_bound_still_holds(data: st.DataObject) -> None:
    """Any call may fail: no state is seen that never was, and none beyond the bound."""
    played(data, failing=True)


def in_one_each(groups: list[list[str]]) -> bool:
    named = [agent for group in groups for agent in group]
    return len(set(named)) == len(named)


GROUPS = st.dictionaries(
    st.sampled_from(["red", "blue", "green"]),
    st.lists(st.sampled_from(AGENTS[:4]), min_size=1, max_size=3, unique=True),
    min_size=1,
    max_size=3,
).filter(lambda groups: in_one_each(list(groups.values())))

ACTS = st.lists(
    st.tuples(
        st.sampled_from(AGENTS),
        st.sampled_from([("acme", "alice"), ("acme", "bob"), ("emca", "alice")]),
        st.sampled_from(["t1", "t2"]),
        st.booleans(),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(shape=st.sampled_from(Shape), groups=GROUPS, acts=ACTS, cached=st.booleans())
def test_agents_of_different_rooms_never_see_each_others_messages(
    shape: Shape, groups: dict[str, list[str]], acts: list[Any], cached: bool
) -> None:
    """Against an oracle that is a dictionary: who shares is who has the same room."""
    grouped = groups if shape is Shape.HYBRID else {}

    async def run(folder: Path) -> None:
        history = make_history_provider(
            shape=shape,
            store=FileHistoryProvider(folder),
            groups=grouped,
            cache=LocalHistoryCache() if cached and shape is Shape.HYBRID else None,
        )
        kept: dict[Any, list[str]] = {}
        for number, (agent, (tenant, name), thread, writes) in enumerate(acts):
            session = session_of(thread, who=person(name, tenant))
            shared = next((g for g, members in grouped.items() if agent in members), None)
            room = {
                Shape.SHARED: "all",
                Shape.DISTRIBUTED: ("agent", agent),
                Shape.HYBRID: ("group", shared) if shared else ("agent", agent),
            }[shape]
            here = kept.setdefault((tenant, name, thread, room), [])
            if writes:
                here.append(f"message {number}")
                await keep(history, session, here[-1], agent=agent)
            assert await read(history, session, agent=agent) == here
        await history.close()

    with TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder)))


@given(first=st.sampled_from(AGENTS), second=st.sampled_from(AGENTS), groups=GROUPS)
def test_two_agents_share_a_room_exactly_when_a_group_names_both(
    first: str, second: str, groups: dict[str, list[str]]
) -> None:
    rooms = [room_of(agent, shape=Shape.HYBRID, groups=groups) for agent in (first, second)]
    together = any({first, second} <= set(members) for members in groups.values())
    assert (rooms[0] == rooms[1]) is (together or first == second)
