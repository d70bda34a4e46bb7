"""The end of a session: its turns become memory first, its history is put away then."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentSession, FileHistoryProvider
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo, Said, Settings, Speaker, Turn
from ricordo.adapters.framework.extractor import FrameworkExtractor
from ricordo.adapters.local import LocalHistoryCache
from ricordo.errors import Denied, Unavailable
from ricordo.hosts.maf import (
    RicordoProvider,
    SessionWatch,
    ShapedHistory,
    end_session,
    ending,
    make_history_provider,
)
from ricordo.memory.promotion import promote
from tests.hosts.maf.conftest import CALM, Mind, agent_of, extractions
from tests.support.conversing import Counting, keep, read, session_of
from tests.support.fake_model import FakeModel, Reply
from tests.support.opening import Ticking, opened, person
from tests.support.talking import extractor

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")

AT = datetime(2026, 3, 1, tzinfo=UTC)
SAID = "I work on Project Falcon"
TALK = [SAID, "Fine."]


class World:
    """A memory, a history with an archive, and an agent with both."""

    def __init__(self, memory: Ricordo, client: Any, folder: Path, **options: Any) -> None:
        self.memory = memory
        self.live = Counting(folder / "live")
        self.archive = FileHistoryProvider(folder / "archive")
        self.live.clear = self.clear
        self.options = {"store": self.live, "archive": self.archive} | options
        self.history = make_history_provider(**self.options)
        self.agent = agent_of(
            client, self.history, RicordoProvider(memory, deadline=CALM, learn=True)
        )

    async def clear(self, key: str) -> None:
        (self.live.files.storage_path / f"{key}.jsonl").unlink(missing_ok=True)

    async def end(self, session: AgentSession, **more: Any) -> Any:
        return await end_session(session, memory=self.memory, history=self.history, **more)

    def archived(self) -> list[str]:
        """What the archive's files say, each as its lines."""
        files = sorted(self.archive.storage_path.glob("*.jsonl"))
        return [file.read_text() for file in files]


async def known(memory: Ricordo) -> list[str]:
    return [m.text for m in (await memory.user(person()).list()).memories]


@pytest.fixture
async def learning(tmp_path: Path, model: FakeModel) -> Any:
    """A memory that extracts, when it is asked to."""
    async with opened(tmp_path, extractor=extractor(model), clock=Ticking()) as memory:
        yield memory


@pytest.fixture
async def world(learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path) -> World:
    return World(learning, client, tmp_path)


async def test_what_was_said_is_memory_before_the_history_goes(
    world: World, model: FakeModel
) -> None:
    session = session_of()
    await world.agent.run(SAID, session=session)
    ended = await world.end(session)
    assert (ended.waiting, ended.parked, ended.put_away) == (0, 0, 1)
    assert await known(world.memory) == ["Works on Project Falcon"]
    assert await read(world.history, session) == []
    [kept] = world.archived()
    assert SAID in kept
    again = await world.end(session)
    assert (again.waiting, again.put_away) == (0, 0)
    assert len(world.archived()) == len(extractions(model)) == 1


async def test_a_session_that_goes_on_after_its_end_ends_again(world: World) -> None:
    session = session_of()
    for _ in range(2):
        await world.agent.run(SAID, session=session)
        assert (await world.end(session)).put_away == 1
    assert len(world.archived()) == 2


async def test_without_a_model_nothing_is_put_away(
    memory: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """What is not extracted yet stays with its history."""
    memory.make_extractor = None
    world = World(memory, client, tmp_path)
    session = session_of()
    await world.agent.run(SAID, session=session)
    ended = await world.end(session)
    assert (ended.waiting, ended.put_away) == (1, 0)
    assert await read(world.history, session) == TALK


async def test_a_model_that_fails_puts_it_off_and_a_dead_letter_does_not(
    client: OpenAIChatCompletionClient, model: FakeModel, mind: Mind, tmp_path: Path
) -> None:
    settings = Settings(worker=False, max_attempts=2, retry_seconds=3_600)
    clock = Ticking()
    async with opened(
        tmp_path, settings=settings, extractor=FrameworkExtractor(client), clock=clock
    ) as memory:
        world = World(memory, client, tmp_path)
        session = session_of()
        await world.agent.run(SAID, session=session)
        working, model.answer = model.answer, lambda _: Reply(status=500)
        ended = await world.end(session, patience=1)
        assert (ended.waiting, ended.parked, ended.put_away) == (1, 0, 0)
        assert await read(world.history, session) == TALK
        clock.pass_by(hours=2)
        ended = await world.end(session, patience=5)
        assert (ended.waiting, ended.parked, ended.put_away) == (0, 1, 1)
        model.answer = working


async def test_a_crash_between_extraction_and_archive_is_made_up_for(world: World) -> None:
    session = session_of()
    await world.agent.run(SAID, session=session)

    async def crash(key: str) -> None:
        raise OSError("killed here")

    world.live.clear = crash
    broken = World.__new__(World)
    broken.memory = world.memory
    broken.history = make_history_provider(store=world.live, archive=world.archive)
    with pytest.raises(Unavailable, match="cannot be put away"):
        await broken.end(session)
    assert await known(world.memory) == ["Works on Project Falcon"]
    assert await read(world.history, session) == TALK
    assert (await world.end(session)).put_away == 1
    assert len(world.archived()) == 1
    assert await read(world.history, session) == []


async def test_what_comes_in_while_it_is_put_away_is_put_away_too(world: World) -> None:
    session = session_of()
    await world.agent.run(SAID, session=session)
    save = world.archive.save_messages

    async def slowly(*given: Any, **more: Any) -> None:
        await save(*given, **more)
        world.archive.save_messages = save
        await keep(world.history, session, "one more thing")

    world.archive.save_messages = slowly
    assert (await world.end(session)).put_away == 1
    assert "one more thing" in "".join(world.archived())


async def test_copies_go_with_the_conversation(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    world = World(learning, client, tmp_path, shape="hybrid", cache=LocalHistoryCache())
    session = session_of()
    await world.agent.run(SAID, session=session)
    assert await read(world.history, session) == TALK
    await world.end(session)
    assert await read(world.history, session) == []
    await world.history.close()


async def test_without_an_archive_the_history_stays(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    world = World(learning, client, tmp_path, archive=None)
    session = session_of()
    await world.agent.run(SAID, session=session)
    ended = await world.end(session)
    assert (ended.waiting, ended.put_away) == (0, 0)
    assert await read(world.history, session) == TALK


async def test_only_its_owner_ends_a_session(world: World) -> None:
    with pytest.raises(Denied):
        await world.end(AgentSession(session_id="t1"))


async def test_sessions_end_by_inactivity_and_not_before(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    now = [0.0]
    watch = SessionWatch(learning, idle=60, clock=lambda: now[0])
    world = World(learning, client, tmp_path, on_turn=watch.heard)
    busy, idle = session_of("busy"), session_of("idle")
    await world.agent.run(SAID, session=idle)
    await world.agent.run(SAID, session=busy)
    now[0] = 50
    await world.agent.run("Still here", session=busy)
    assert await watch.end_idle(history=world.history) == []
    now[0] = 61
    [ended] = await watch.end_idle(history=world.history)
    assert (ended.thread_id, ended.put_away) == ("idle", 1)
    assert await watch.end_idle(history=world.history) == []
    assert await read(world.history, busy) == [*TALK, "Still here", "Fine."]
    assert await read(world.history, idle) == []


async def test_sessions_that_cannot_end_share_the_time_that_there_is(
    client: OpenAIChatCompletionClient,
    model: FakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While a model fails, a thousand sessions must not wait one after the other."""
    now, given = [0.0], []
    model.answer = lambda _: Reply(status=500)
    settings = Settings(worker=False, retry_seconds=3_600)

    async def promoting(*parts: Any, patience: float, **more: Any) -> Any:
        given.append((more["thread_id"], patience))
        return await promote(*parts, patience=patience, **more)

    monkeypatch.setattr(ending, "promote", promoting)
    async with opened(tmp_path, settings=settings, extractor=FrameworkExtractor(client)) as memory:
        watch = SessionWatch(memory, idle=60, patience=0.2, clock=lambda: now[0], most=3)
        world = World(memory, client, tmp_path, on_turn=watch.heard)
        for thread in ("forgotten", "one", "two", "three"):
            said = Turn(
                thread_id=thread,
                run_id=thread,
                agent="coder",
                at=AT,
                said=(Said(speaker=Speaker.USER, text=SAID),),
            )
            await memory.user(person(), agent="coder").observe(said)
            [room] = world.history.conversations(session_of(thread), agents=["coder"])
            watch.heard(room)
        now[0] = 61
        assert len(await watch.end_idle(history=world.history)) == 3
        assert [thread for thread, _ in given] == ["one", "two", "three"]
        shares = [patience for _, patience in given]
        assert shares[0] > shares[1] >= shares[2]
        assert len(await watch.end_idle(history=world.history)) == 3


async def test_all_rooms_of_a_session_are_idle_together(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    now = [0.0]
    watch = SessionWatch(learning, idle=60, clock=lambda: now[0])
    world = World(learning, client, tmp_path, shape="distributed", on_turn=watch.heard)
    session = session_of()
    await world.agent.run(SAID, session=session)
    now[0] = 30
    await agent_of(client, world.history, name="planner").run("Plan", session=session)
    now[0] = 70
    assert await watch.end_idle(history=world.history) == []
    now[0] = 100
    [ended] = await watch.end_idle(history=world.history)
    assert ended.put_away == 2


async def test_sessions_of_a_process_that_died_end_in_another(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """What is overdue after a crash is extracted and put away, though nobody speaks in it again;
    what is not overdue yet, or is known here, is left to itself."""
    clock: Any = learning.services.clock
    world = World(learning, client, tmp_path)
    silent, busy, here = session_of("silent"), session_of("busy"), session_of("here")
    await world.agent.run(SAID, session=here)
    await world.agent.run(SAID, session=silent)
    clock.pass_by(seconds=600)
    await world.agent.run(SAID, session=busy)
    clock.pass_by(seconds=900)
    watch = SessionWatch(learning, idle=600, clock=lambda: 0.0)
    [room] = world.history.conversations(here)
    watch.heard(room)
    assert await watch.adopt(history=world.history) == 1
    [ended] = await watch.end_idle(history=world.history)
    assert (ended.thread_id, ended.waiting, ended.put_away) == ("silent", 0, 1)
    assert await read(world.history, silent) == []
    for session in (busy, here):
        assert await read(world.history, session) == TALK
    assert await watch.adopt(history=world.history) == 0, "each is taken over once"
    clock.pass_by(seconds=600)
    assert await watch.adopt(history=world.history) == 1
    [ended] = await watch.end_idle(history=world.history)
    assert (ended.thread_id, ended.put_away) == ("busy", 1)
    assert await known(learning) == ["Works on Project Falcon"]


async def test_rooms_of_agents_that_are_named_are_taken_over_as_well(
    learning: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    clock: Any = learning.services.clock
    world = World(learning, client, tmp_path, shape="distributed")
    session = session_of()
    await world.agent.run(SAID, session=session)
    clock.pass_by(hours=1)
    watch = SessionWatch(learning, idle=60, clock=lambda: 0.0, agents=["coder"], most=1)
    assert await watch.adopt(history=world.history) == 1
    assert await watch.adopt(history=world.history) == 0, "there is room for one"
    [ended] = await watch.end_idle(history=world.history)
    assert ended.put_away == 1
    late = SessionWatch(learning, idle=60, clock=lambda: 0.0, agents=["coder"], back=600)
    assert await late.adopt(history=world.history) == 0, "further back than it looks"


def test_a_history_that_cannot_remove_says_so(tmp_path: Path) -> None:
    assert isinstance(make_history_provider(), ShapedHistory)
    with pytest.raises(ValueError, match="idle"):
        SessionWatch(None, idle=0)
