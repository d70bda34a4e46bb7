"""Sessions end though others are at work: another process in the same one, a store that is away."""

from pathlib import Path
from typing import Any

import pytest
from agent_framework import FileHistoryProvider
from agent_framework.openai import OpenAIChatCompletionClient

from ricordo import Ricordo
from ricordo.hosts.maf import SessionWatch, end_session, make_history_provider
from tests.hosts.maf.conftest import agent_of
from tests.support.conversing import Counting, read, session_of

pytestmark = pytest.mark.filterwarnings("ignore:.*is experimental")

IDLE = 60.0


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Files(Counting):
    """Files that can be away, and from which a conversation can be removed."""

    async def clear(self, session_id: str) -> None:
        (self.files.storage_path / f"{session_id}.jsonl").unlink(missing_ok=True)


class Process:
    """One of several on the same histories."""

    def __init__(self, memory: Ricordo, client: Any, folder: Path, *, clock: Hand) -> None:
        self.watch = SessionWatch(memory, idle=IDLE, clock=clock)
        self.history = make_history_provider(
            store=Files(folder / "live"),
            archive=FileHistoryProvider(folder / "archive"),
            on_turn=self.watch.heard,
        )
        self.agent = agent_of(client, self.history)

    async def end_idle(self) -> int:
        """How many conversations went to the archive."""
        return sum(each.put_away for each in await self.watch.end_idle(history=self.history))


async def test_a_session_that_goes_on_elsewhere_is_not_ended_here(
    memory: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """A service of several processes: whoever heard the last turn ends it, and nobody else."""
    clock = Hand()
    here, there = (Process(memory, client, tmp_path, clock=clock) for _ in range(2))
    await here.agent.run("My order is 4711", session=session_of())
    for at in (20, 40, 59):
        clock.now = at
        await there.agent.run(f"At {at}", session=session_of())
    clock.now = IDLE + 1
    assert await here.end_idle() == 0
    assert (await read(there.history, session_of()))[0] == "My order is 4711"
    clock.now = 2 * IDLE
    assert await here.end_idle() == 0
    assert await there.end_idle() == 1
    assert await read(there.history, session_of()) == []


async def test_a_store_that_is_away_keeps_no_other_session(
    memory: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    clock = Hand()
    watch = SessionWatch(memory, idle=IDLE, clock=clock)
    coders, others = Files(tmp_path / "coders"), Files(tmp_path / "others")
    history = make_history_provider(
        shape="distributed",
        store=others,
        stores={"coder": coders},
        archive=FileHistoryProvider(tmp_path / "archive"),
        on_turn=watch.heard,
    )
    await agent_of(client, history).run("Hello", session=session_of("away"))
    for number in range(3):
        session = session_of(f"there{number}")
        await agent_of(client, history, name="planner").run("Hello", session=session)
    coders.broken = True
    clock.now = IDLE + 1
    ended = await watch.end_idle(history=history)
    assert {each.thread_id: each.put_away for each in ended} == {f"there{n}": 1 for n in range(3)}
    coders.broken = False
    ended = await watch.end_idle(history=history)
    assert {each.thread_id: each.put_away for each in ended} == {"away": 1}


async def test_a_turn_that_waits_in_the_session_is_archived_with_it(
    memory: Ricordo, client: OpenAIChatCompletionClient, tmp_path: Path
) -> None:
    """Nothing said is lost when a session ends, though its store was away for a turn."""
    live, archive = Files(tmp_path / "live"), FileHistoryProvider(tmp_path / "archive")
    history = make_history_provider(store=live, archive=archive)
    session, agent = session_of(), agent_of(client, history)
    await agent.run("First", session=session)
    save, live.save_messages = live.save_messages, _full
    await agent.run("Second", session=session)
    ended = await end_session(session, memory=memory, history=history)
    assert (ended.unsaved, ended.put_away) == (2, 0)
    live.save_messages = save
    ended = await end_session(session, memory=memory, history=history)
    assert (ended.unsaved, ended.put_away) == (0, 1)
    (kept,) = archive.storage_path.glob("*.jsonl")
    assert "Second" in kept.read_text("utf-8")


async def _full(*given: Any, **more: Any) -> None:
    raise OSError("full")
