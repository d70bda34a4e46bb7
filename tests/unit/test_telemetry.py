"""Telemetry: what is told of work, to whom, and what never is. With the real SDK."""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.trace import StatusCode

from ricordo import EntityClaim, Principal, RelationClaim, Settings, grants_of
from ricordo.adapters.opentelemetry import OpenTelemetry
from ricordo.errors import Denied, Unavailable
from ricordo.memory.measuring import Measures
from ricordo.memory.watching import look
from ricordo.ports import BOUNDS, Act, Count, Fact, Level
from ricordo.testing.embedding import HashingEmbedder
from tests.support.fake_model import FakeModel, Reply
from tests.support.opening import Clock, opened, person
from tests.support.talking import answer, extractor, item, turn
from tests.support.watching import watched

PATIENT = 20.0
SAID = "I work on Project Falcon."
FALCON = item(
    "Works on Project Falcon",
    "I work on Project Falcon",
    relations=(("user", "works on", "Project Falcon"), ("it", "uses", "Kafka")),
)


def claim(source: str, relation: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation=relation, target=EntityClaim(name=target)
    )


class Broken(HashingEmbedder):
    async def question(self, text: str) -> bytes:
        raise Unavailable("the embedder is away")


async def test_every_act_is_a_span_and_parts_of_a_recall_are_its_children(tmp_path: Path) -> None:
    seen, clock = watched(), Clock()
    with FakeModel(lambda _: answer(FALCON)) as model:
        async with opened(
            tmp_path, clock=clock, telemetry=seen.telemetry, extractor=extractor(model)
        ) as memory:
            alice = memory.user(person(), agent="coder")
            org = memory.organization(person("carla", curator=["platform"]))
            await alice.observe(turn(SAID, clock=clock))
            await memory.intake.drain()
            await alice.remember("Likes tea")
            documented = await org.document("Project Falcon uses Kafka")
            await alice.recall("What does Project Falcon use?", deadline=PATIENT)
            await alice.explore("user")
            await org.forget(documented.memory.id)
            await alice.erase()
    names = {span.name for span in seen.spans}
    elsewhere = {Act.CONSOLIDATE, Act.ANSWER}
    assert names == {f"ricordo {act.value}" for act in Act if act not in elsewhere}
    [recall] = seen.named("ricordo recall")
    assert seen.parent_of(recall) is None
    for part in ("embed", "search", "walk"):
        parts = seen.named(f"ricordo {part}")
        assert "ricordo recall" in {seen.parent_of(span) for span in parts}
    [erase] = seen.named("ricordo erase")
    assert erase.attributes["ricordo.clean"] is True
    assert erase.attributes["ricordo.removed"] > 0
    [extract] = [s for s in seen.named("ricordo extract") if s.attributes["ricordo.stored"]]
    assert extract.attributes["ricordo.outcome"] == "stored"
    assert recall.attributes["ricordo.found"] >= 1
    assert all(span.status.status_code is not StatusCode.ERROR for span in seen.spans)


async def test_what_goes_wrong_is_counted(tmp_path: Path) -> None:
    """Degraded recalls by arm, refused relations by rule, parked turns by error, tokens spent."""
    seen, clock = watched(), Clock()
    replies = [answer(FALCON), Reply(text="no"), Reply(text="no json either")]
    with FakeModel(lambda _: replies.pop(0)) as model:
        async with opened(
            tmp_path,
            clock=clock,
            telemetry=seen.telemetry,
            extractor=extractor(model),
            embedder=HashingEmbedder(),
        ) as memory:
            alice = memory.user(person(), agent="coder")
            await alice.observe(turn(SAID, clock=clock))
            await memory.intake.drain()
            await alice.observe(turn("Something unreadable", run="r2", clock=clock))
            await memory.intake.drain()
            await alice.observe(turn("Something later", run="r3", clock=clock))
            clock.pass_by(seconds=90)
            await look(memory.services)
            stated = [claim("Falcon", "uses", "Falcon")]
            await alice.remember("Falcon uses Falcon", relations=stated)
    async with opened(tmp_path, clock=clock, telemetry=seen.telemetry, embedder=Broken()) as memory:
        await memory.user(person(), agent="coder").recall("Falcon", deadline=PATIENT)
    points = seen.points()
    assert points["ricordo.recalls.degraded"] == {(("ricordo.arm", "meaning"),): 1}
    assert sum(points["ricordo.relations.refused"].values()) >= 2
    assert points["ricordo.jobs.parked"] == {(("error.type", "Malformed"),): 1}
    assert set(points["ricordo.tokens"]) == {
        (("gen_ai.token.type", "input"),),
        (("gen_ai.token.type", "output"),),
    }
    assert points["ricordo.queue.jobs"][("ricordo.state", "waiting"),] == 1
    assert points["ricordo.queue.jobs"][("ricordo.state", "parked"),] == 1
    assert points["ricordo.queue.oldest"][("ricordo.state", "waiting"),] >= 90
    assert points["ricordo.operation.duration"][("ricordo.operation", "observe"),] == 3


async def test_a_span_outlives_an_error_and_keeps_its_type_only(tmp_path: Path) -> None:
    seen = watched()
    async with opened(tmp_path, telemetry=seen.telemetry) as memory:
        with pytest.raises(Denied):
            await memory.user(person()).recall("x", namespaces=["secret-namespace"])
    [span] = seen.named("ricordo recall")
    assert span.attributes["error.type"] == "Denied"
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert span.events == ()
    key = (("error.type", "Denied"), ("ricordo.operation", "recall"))
    assert seen.points()["ricordo.operation.duration"][key] == 1
    assert "secret-namespace" not in seen.everything()


async def test_a_cancelled_recall_ends_its_spans(tmp_path: Path) -> None:
    class Endless(HashingEmbedder):
        async def question(self, text: str) -> bytes:
            asked.set()
            await asyncio.Event().wait()
            return b""

    seen, asked = watched(), asyncio.Event()
    async with opened(tmp_path, telemetry=seen.telemetry, embedder=Endless()) as memory:
        await memory.user(person()).remember("Works on Falcon")
        task = asyncio.create_task(memory.user(person()).recall("Falcon", deadline=60))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    [recall] = seen.named("ricordo recall")
    assert recall.attributes["error.type"] == "CancelledError"
    assert seen.parent_of(seen.named("ricordo embed")[0]) == "ricordo recall"


async def test_work_of_the_background_is_not_part_of_what_opened_the_memory(
    tmp_path: Path,
) -> None:
    seen, clock = watched(), Clock()
    with FakeModel(lambda _: answer()) as model:
        tracer = seen.tracing.get_tracer("test")
        with tracer.start_as_current_span("a request"):
            async with opened(
                tmp_path, clock=clock, telemetry=seen.telemetry, extractor=extractor(model)
            ) as memory:
                await memory.user(person(), agent="coder").observe(turn(SAID, clock=clock))
                await memory.intake.drain()
    [observe], [extract] = seen.named("ricordo observe"), seen.named("ricordo extract")
    assert seen.parent_of(observe) == "a request"
    assert extract.parent is None


MARK = "Zqx"
WORDS = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=12
).map(lambda word: MARK + word)
PHRASES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
IDS = st.text("abcXYZ0189-", min_size=1, max_size=10).map(lambda word: MARK + word)


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(texts=st.lists(PHRASES, min_size=3, max_size=3), names=st.lists(IDS, min_size=4, max_size=4))
async def test_nothing_that_anybody_wrote_and_no_id_leaves(
    texts: list[str], names: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """No memory text, question, user, tenant, agent, namespace or thread in any span, metric,
    attribute or log record; not even when things fail."""
    logs = Collected()
    root = logging.getLogger()
    root.addHandler(logs)
    seen, clock = watched(), Clock()
    user, tenant, agent, namespace = names
    who = Principal(tenant=tenant, user=user, grants=grants_of(curator=[namespace]))
    said, text, question = texts
    known = item(text, said, relations=((said[:40], "uses", text[:40]),))
    replies = [answer(known), Reply(text=said), Reply(text=said), Reply(status=500)]
    try:
        with FakeModel(lambda _: replies.pop(0) if replies else Reply(text=said)) as model:
            async with opened(
                tmp_path_factory.mktemp("m"),
                clock=clock,
                telemetry=seen.telemetry,
                extractor=extractor(model),
                settings=Settings(worker=False, max_attempts=1),
            ) as memory:
                mine = memory.user(who, agent=agent)
                for run in ("r1", "r2", "r3"):
                    told = turn(said, run=run, thread=namespace, agent=agent, clock=clock)
                    await mine.observe(told)
                    await memory.intake.drain()
                stored = await mine.remember(text, relations=[claim(said[:40], "is", said[:40])])
                await memory.organization(who).document(question)
                await memory.recall(question, principal=who, agent=agent, nearly=3)
                await mine.explore(said[:40])
                with pytest.raises(Denied):
                    await mine.recall(question, namespaces=[MARK])
                await look(memory.services)
                await mine.forget(stored.memory.id)
                await mine.erase()
    finally:
        root.removeHandler(logs)
    assert len(seen.spans) >= 15
    for told in (seen.everything(), "\n".join(logs.lines)):
        assert MARK.casefold() not in told.casefold()


class Collected(logging.Handler):
    """Every record as a text, with the values that it was made of."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith("ricordo"):
            self.lines.append(f"{record.getMessage()} {record.args!r} {record.exc_info!r}")


def test_what_is_no_word_of_ours_becomes_another_word() -> None:
    """A last line of defence: a value that slips through is not passed on."""
    seen = watched()
    telemetry = seen.telemetry
    span = telemetry.begin(Act.RECALL)
    span.tell(Fact.OUTCOME, "Alice likes tea")
    span.tell(Fact.DEGRADED, ("meaning", "alice@example.org"))
    span.end(seconds=0.1, error="no class name")
    telemetry.add(Count.PARKED, 1, by="alice said so")
    telemetry.set(Level.JOBS, 1.0, by="für Alice")
    assert "lice" not in seen.everything()
    [ended] = seen.spans
    assert ended.attributes["ricordo.degraded"] == ("meaning", "other")


async def test_it_is_off_unless_configured(tmp_path: Path) -> None:
    """Promise 13: no telemetry that the operator did not configure."""
    async with opened(tmp_path) as memory:
        assert memory.services.measures.telemetry is None
    configured = Settings(worker=False, telemetry="opentelemetry")
    async with opened(tmp_path, settings=configured) as memory:
        assert isinstance(memory.services.measures.telemetry, OpenTelemetry)


WITHOUT = """
import asyncio, sys
sys.modules["opentelemetry"] = None
from ricordo.settings import Settings
from ricordo.wiring.telling import make_telemetry
try:
    make_telemetry(Settings(telemetry="opentelemetry"))
except ImportError as error:
    print(error)
assert make_telemetry(Settings()) is None
"""


def test_a_missing_package_names_the_extra() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )
    assert "ricordo[otel]" in done.stdout


class Heard(OpenTelemetry):
    """Tells the test when a level is stated."""

    stated: asyncio.Event

    def set(self, level: Level, value: float, *, by: str) -> None:
        super().set(level, value, by=by)
        self.stated.set()


async def test_the_queue_is_watched_where_somebody_listens(tmp_path: Path) -> None:
    seen = watched()
    heard = Heard(tracer_provider=seen.tracing, meter_provider=seen.metering)
    heard.stated = asyncio.Event()
    async with opened(tmp_path, telemetry=heard, settings=Settings(worker=True)):
        async with asyncio.timeout(20):
            await heard.stated.wait()
    assert seen.points()["ricordo.queue.jobs"][("ricordo.state", "waiting"),] == 0


def test_latencies_are_kept_by_act() -> None:
    now = [0.0]
    measures = Measures(timer=lambda: now[0])
    for seconds in (0.002, 0.002, 0.2, 100.0):
        with measures.act(Act.RECALL):
            now[0] += seconds
    with pytest.raises(Denied), measures.act(Act.RECALL):
        raise Denied("no")
    found = measures.latencies()["recall"]
    assert (found.count, found.failed, found.longest) == (5, {"Denied": 1}, 100.0)
    assert len(found.buckets) == len(BOUNDS) + 1
    assert found.buckets[-1] == 1
    assert 0.001 < found.quantile(0.5) <= 0.0025
    assert found.quantile(1.0) == 100.0
    assert Measures().latencies() == {}
    assert found.total == pytest.approx(100.204)


class Hostile:
    """A telemetry that breaks its promise, at any of its calls."""

    def __init__(self, *, begins: bool) -> None:
        self.begins = begins

    def begin(self, act: Act) -> "Hostile":
        if not self.begins:
            raise KeyError("I work on Project Falcon")
        return self

    def tell(self, fact: Fact, value: object) -> None:
        raise ValueError(value)

    def end(self, *, seconds: float, error: str | None) -> None:
        raise RuntimeError(seconds)

    def add(self, count: Count, amount: int, *, by: str) -> None:
        raise OSError(by)

    def set(self, level: Level, value: float, *, by: str) -> None:
        raise OSError(by)


async def test_a_pass_of_consolidation_is_an_act(tmp_path: Path) -> None:
    seen = watched()
    async with opened(tmp_path, telemetry=seen.telemetry) as memory:
        alice = memory.user(person())
        await alice.remember("Likes tea")
        await alice.consolidate()
        assert memory.services.measures.latencies()["consolidate"].count == 1
    assert len(seen.named("ricordo consolidate")) == 1


@pytest.mark.parametrize("begins", [True, False])
async def test_a_telemetry_that_raises_costs_nothing_but_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, begins: bool
) -> None:
    """Promise 5: whoever listens must not cost a recall, a write or an erasure."""
    clock = Clock()
    async with opened(tmp_path, clock=clock, telemetry=Hostile(begins=begins)) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.observe(turn(SAID, clock=clock))
        await alice.remember("Likes tea", relations=[claim("it", "uses", "Kafka")])
        assert (await alice.recall("tea", deadline=PATIENT)).items
        await look(memory.services)
        assert (await alice.erase()).clean
        assert memory.services.measures.latencies()["recall"].count == 1
    lines = [record.getMessage() for record in caplog.records]
    assert [line for line in lines if "OSError" in line] == [
        "telemetry failed (OSError); the work goes on without it"
    ]
    assert "Falcon" not in caplog.text
