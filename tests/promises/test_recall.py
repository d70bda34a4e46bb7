"""Promise 5 and the rest of recall: deadline, degradation, budget, determinism, reasons."""

import asyncio
import struct
import time
from datetime import timedelta
from pathlib import Path

import pytest

from ricordo import EntityClaim, Kind, RelationClaim, Settings
from ricordo.errors import Invalid, SpaceMismatch, Unavailable
from ricordo.testing.embedding import HashingEmbedder
from tests.support.holding import held, impatient
from tests.support.opening import Clock, opened, person


def claim(source: str, relation: str, target: str) -> RelationClaim:
    return RelationClaim(
        source=EntityClaim(name=source), relation=relation, target=EntityClaim(name=target)
    )


class Slow(HashingEmbedder):
    """Answers questions only when it is let."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def question(self, text: str) -> bytes:
        await self.go_on.wait()
        return await super().question(text)


class Broken(HashingEmbedder):
    async def question(self, text: str) -> bytes:
        raise Unavailable("the embedder is away")


class Other(HashingEmbedder):
    model = "another-64"


async def falcon(memory) -> None:
    """Alice's project in her own graph, what it is built of in the organization's."""
    alice = memory.user(person(), agent="coder")
    await alice.remember(
        "Works on Project Falcon", relations=[claim("user", "works on", "Project Falcon")]
    )
    org = memory.organization(person("carla", curator=["platform"]))
    await org.document(
        "Project Falcon uses microservices",
        relations=[claim("Project Falcon", "uses", "microservices")],
    )
    await org.document(
        "Microservices require a service mesh",
        relations=[claim("microservices", "requires", "service mesh")],
    )
    await org.document("The canteen closes at two")


READER = person(reader=["platform"])


async def test_a_walk_goes_from_the_private_graph_into_the_organizations(tmp_path: Path) -> None:
    """My project → what it uses → what that requires; no private edge is ever shared."""
    async with opened(tmp_path) as memory:
        await falcon(memory)
        found = await memory.recall(
            "What does my project depend on?", principal=READER, agent="coder"
        )
        by_text = {item.memory.text: item for item in found.items}
        last = by_text["Microservices require a service mesh"]
        assert last.path is not None
        assert [(s.source, s.type, s.target) for s in last.path.steps] == [
            ("user", "works_on", "Project Falcon"),
            ("Project Falcon", "uses", "microservices"),
            ("microservices", "requires", "service mesh"),
        ]
        assert last.signals["graph"] > 0
        order = [item.memory.text for item in found.items]
        below = order[order.index(last.memory.text) :]
        assert "The canteen closes at two" not in order or "The canteen closes at two" in below
        org = memory.organization(person("carla", curator=["platform"]))
        walk = await org.explore("Project Falcon", hops=4)
        assert "user" not in {path.end for path in walk.paths}


async def test_without_a_grant_the_walk_ends_at_the_private_graph(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await falcon(memory)
        found = await memory.recall(
            "What does my project depend on?", principal=person(), agent="coder"
        )
        assert [item.memory.text for item in found.items] == ["Works on Project Falcon"]
        assert {path.end for path in found.paths} == {"Project Falcon"}


async def test_a_slow_embedder_costs_the_deadline_and_is_named(tmp_path: Path) -> None:
    async with opened(tmp_path, embedder=Slow()) as memory:
        await falcon(memory)
        started = time.perf_counter()
        found = await memory.recall(
            "What about Project Falcon?", principal=READER, agent="coder", deadline=1.5
        )
        assert time.perf_counter() - started < 4, "bounded, whatever this machine is doing"
        assert found.degraded == ("meaning",)
        texts = {item.memory.text for item in found.items}
        assert "Works on Project Falcon" in texts, "words and relations still answer"


async def test_a_broken_embedder_fails_open(tmp_path: Path) -> None:
    async with opened(tmp_path, embedder=Broken()) as memory:
        await falcon(memory)
        found = await memory.recall("service mesh", principal=READER, agent="coder", deadline=5)
        assert found.degraded == ("meaning",)
        assert found.items[0].memory.text == "Microservices require a service mesh"


async def test_another_model_is_refused_with_the_way_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await falcon(memory)
    async with opened(tmp_path, embedder=Other()) as memory:
        with pytest.raises(SpaceMismatch, match="ricordo reindex"):
            await memory.recall("service mesh", principal=READER, agent="coder", deadline=5)
        with pytest.raises(SpaceMismatch):
            await memory.user(person(), agent="coder").remember("Something new")


async def test_same_memory_and_question_same_answer(tmp_path: Path) -> None:
    """Byte for byte, later and in another process' view, so that prompt caches hit."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        await falcon(memory)
        ask = {"principal": READER, "agent": "coder", "deadline": 5}
        first = await memory.recall("What does my project depend on?", **ask)
        await memory.services.journal.flush()
        clock.pass_by(days=300)
        again = await memory.recall("What does my project depend on?", **ask)
        assert shape(first) == shape(again)
    async with opened(tmp_path, clock=clock) as memory:
        later = await memory.recall("What does my project depend on?", **ask)
        assert shape(first) == shape(later)


def shape(found) -> list:
    return [(i.memory.id, i.memory.text, i.score, i.signals, i.path) for i in found.items]


async def test_the_token_budget_holds_and_says_what_it_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        for number in range(10):
            await alice.remember(f"Fact number {number}: " + "many words follow here " * 20)
        await alice.remember("Fact that is short")
        found = await alice.recall("fact", tokens=400, deadline=5)
        assert 0 < len(found.items) < 10
        assert found.left_out > 0
        assert "Fact that is short" in {i.memory.text for i in found.items}


async def test_what_occurs_nowhere_finds_nothing_and_raises_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        assert (await alice.recall("Zyxgnarf?")).items == ()
        await falcon(memory)
        found = await alice.recall("", deadline=5)
        assert found.items == ()
        assert (await alice.explore("Zyxgnarf")).paths == ()


async def test_near_duplicates_are_given_once_but_other_numbers_are_not_duplicates(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        org = memory.organization(person("carla", curator=["platform"]))
        await alice.remember("The office is in room 41")
        await org.document("The office is in room 41.")
        await alice.remember("The office is in room 42")
        found = await memory.recall("office room", principal=READER, agent="coder", deadline=5)
        texts = [i.memory.text.rstrip(".") for i in found.items]
        assert sorted(texts) == ["The office is in room 41", "The office is in room 42"]


async def test_expired_memory_is_not_recalled_unless_pinned(tmp_path: Path) -> None:
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        soon = clock.at.replace(year=2027)
        await alice.remember("The badge is valid", expires_at=soon)
        kept = await alice.remember("The visa is valid", expires_at=soon)
        await alice.pin(kept.memory.id)
        clock.at = soon.replace(year=2028)
        found = await alice.recall("valid", deadline=5)
        assert [i.memory.text for i in found.items] == ["The visa is valid"]


async def test_recalls_are_counted_and_announced_without_text(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember("Works on Project Falcon")
        await alice.recall("Falcon", deadline=5)
        await alice.recall("Falcon", deadline=5)
        await memory.services.journal.flush()
        counted = await alice.get(stored.memory.id)
        assert counted.recalls == 2
        assert counted.version == stored.memory.version
        events = [event for _, event in await memory.ledger.announced(after=0, limit=100)]
        recalled = [e for e in events if type(e).__name__ == "UserMemoryRecalled"]
        assert [e.memory_ids for e in recalled] == [(stored.memory.id,)] * 2
        assert "Falcon" not in repr(events)


@pytest.mark.parametrize(
    "bounds",
    [{"limit": 0}, {"limit": 1_001}, {"tokens": 0}, {"deadline": 0}, {"hops": 9}, {"deadline": -1}],
)
async def test_bounds_out_of_range_are_refused_by_name(tmp_path: Path, bounds: dict) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(Invalid, match=next(iter(bounds))):
            await memory.user(person()).recall("x", **bounds)


async def test_a_megabyte_of_question_is_clamped_to_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await falcon(memory)
        question = "blah \x00\ud800 " * 150_000 + "What about Project Falcon?"
        found = await memory.recall(question, principal=READER, agent="coder", deadline=10)
        assert found.items[0].memory.text in {
            "Works on Project Falcon",
            "Project Falcon uses microservices",
        }


async def test_an_expired_memory_is_not_told_by_a_walk_over_it(tmp_path: Path) -> None:
    """Its relation is in the graph still, and the walk's end is not expired."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(READER, agent="coder")
        await alice.remember(
            "Works on Project Falcon until Friday",
            relations=[claim("user", "works on", "Project Falcon")],
            expires_at=clock() + timedelta(days=3),
        )
        org = memory.organization(person("carla", curator=["platform"]))
        await org.document("Falcon it is", relations=[claim("Project Falcon", "uses", "NATS")])
        before = await alice.recall("What does my work depend on?", deadline=5)
        assert [len(path.steps) for path in before.paths] == [1, 2]
        clock.pass_by(days=4)
        after = await alice.recall("What does my work depend on?", deadline=5)
        assert "Works on" not in repr(after)
        assert all(step.type != "works_on" for path in after.paths for step in path.steps)


async def test_recalls_are_counted_once_although_the_ledger_was_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    impatient(monkeypatch)
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        stored = await alice.remember("Works on Project Falcon")
        await alice.recall("Falcon", deadline=5)
        with held(tmp_path / "memory.db"):
            await memory.services.journal.flush()
        await memory.services.journal.flush()
        await memory.services.journal.flush()
        assert (await alice.get(stored.memory.id)).recalls == 1


async def test_a_clock_that_was_set_back_hides_no_memory(tmp_path: Path) -> None:
    """Nor does the clock of another machine that is ahead of this one."""
    clock = Clock()
    async with opened(tmp_path, clock=clock) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Works on Falcon")
        await alice.remember("Moves to Basel", valid_from=clock())
        clock.pass_by(days=-1)
        found = await alice.recall("Falcon, Basel", deadline=5)
        assert [item.memory.text for item in found.items] == ["Works on Falcon"]
        past = await alice.recall("Falcon", as_of=clock(), deadline=5)
        assert past.items == ()


async def test_a_megabyte_of_question_costs_no_more_than_its_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        await alice.remember("Works on Falcon")
        found = await alice.recall("x" * 5_000_000 + " Falcon", deadline=0.25)
        assert (len(found.items), found.degraded) == (1, ())


async def test_the_settings_bound_every_recall_that_does_not_say_otherwise(tmp_path: Path) -> None:
    settings = Settings(worker=False, recall_limit=1, recall_deadline=20, recall_hops=0)
    async with opened(tmp_path, settings=settings) as memory:
        await falcon(memory)
        found = await memory.recall("Project Falcon service mesh", principal=READER, agent="coder")
        assert len(found.items) == 1
        assert found.paths == ()
        more = await memory.recall(
            "Project Falcon service mesh", principal=READER, agent="coder", limit=3, hops=2
        )
        assert len(more.items) == 3
        assert more.paths


async def test_explanations_can_be_left_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await falcon(memory)
        ask = {"principal": READER, "agent": "coder", "deadline": 5}
        told = await memory.recall("What does my project depend on?", explain=True, **ask)
        bare = await memory.recall("What does my project depend on?", explain=False, **ask)
        assert [i.memory.id for i in told.items] == [i.memory.id for i in bare.items]
        assert all(item.signals for item in told.items[:2])
        assert any(item.path for item in told.items)
        assert not any(item.signals or item.path for item in bare.items)


async def test_what_nothing_speaks_for_is_not_given(tmp_path: Path) -> None:
    """No shared word, no closeness, no walk: then it is noise in the prompt, not memory."""
    async with opened(tmp_path) as memory:
        alice = memory.user(person(), agent="coder")
        vectors = {
            text: await memory.services.embedder.question(text)
            for text in ("zeta eta theta", *(f"alpha beta gamma {n}" for n in range(40)))
        }
        question = vectors.pop("zeta eta theta")
        far = next(text for text, vector in vectors.items() if cosine(vector, question) <= 0)
        await alice.remember(far)
        found = await alice.recall("zeta eta theta", deadline=5)
        assert (found.visible, found.items) == (1, ())


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(floats(one), floats(other), strict=True))


def floats(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


@pytest.mark.parametrize("greeting", ["Hello!", "thanks a lot", "Guten Morgen", "d'accord", "👍"])
async def test_small_talk_calls_up_no_facts(tmp_path: Path, greeting: str) -> None:
    """Who only greets gets what holds whatever is asked, and no private facts."""
    async with opened(tmp_path) as memory:
        await falcon(memory)
        alice = memory.user(person(), agent="coder")
        await alice.remember("Likes concise examples", kind=Kind.PREFERENCE)
        pinned = await alice.remember("Is deaf; never propose a call")
        await alice.pin(pinned.memory.id)
        found = await alice.recall(greeting)
        assert {item.memory.text for item in found.items} == {
            "Likes concise examples",
            "Is deaf; never propose a call",
        }
        asked = await alice.recall(f"{greeting} What is my project?")
        assert "Works on Project Falcon" in {item.memory.text for item in asked.items}
