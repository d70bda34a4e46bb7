"""Consolidation on random stores: exact undo, no further change, nobody else's memory touched.

RICORDO_CONSOLIDATION_EXAMPLES sets how many stores (15 unless set).
"""

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ricordo import Kind, Ricordo, Status
from ricordo.access import user_scope
from ricordo.model import Memory
from tests.support.consolidating import claim, state
from tests.support.opening import Clock, opened, person

TEXTS = (
    "Lives in Bern",
    "I live in Bern.",
    "The user lives in Bern",
    "Does not live in Bern",
    "I don't live in Bern",
    "Lives in Basel",
    "Works at Acme",
    "I am employed by Acme",
    "Is employed by Acme",
    "Uses k8s",
    "I use Kubernetes",
    "Has room 41",
    "Has the room 41!",
    "Has room 42",
)
CLAIMS = {
    "Lives in Bern": claim("user", "lives in", "Bern"),
    "I live in Bern.": claim("user", "lives in", "Bern"),
    "Lives in Basel": claim("user", "lives in", "Basel"),
    "Works at Acme": claim("user", "works at", "Acme"),
    "I am employed by Acme": claim("user", "employed by", "Acme"),
    "Is employed by Acme": claim("user", "employed by", "Acme"),
    "Uses k8s": claim("user", "uses", "k8s"),
    "I use Kubernetes": claim("user", "uses", "Kubernetes"),
}
SAME = (
    {"Lives in Bern", "I live in Bern.", "The user lives in Bern"},
    {"Does not live in Bern", "I don't live in Bern"},
    {"Works at Acme", "I am employed by Acme", "Is employed by Acme"},
    {"Has room 41", "Has the room 41!"},
)


@dataclass(frozen=True)
class Said:
    """Something that a person has remembered."""

    text: str
    agent: str | None
    related: bool
    days: float
    importance: float
    pinned: bool
    expires: bool
    since: int | None
    recalled: int


said = st.builds(
    Said,
    text=st.sampled_from(TEXTS),
    agent=st.sampled_from((None, None, None, "coder", "helper")),
    related=st.booleans(),
    days=st.sampled_from((0, 0, 1, 50, 300)),
    importance=st.sampled_from((0.1, 0.5, 0.9)),
    pinned=st.sampled_from((False, False, False, True)),
    expires=st.sampled_from((False, False, False, True)),
    since=st.sampled_from((None, None, None, 10, 400)),
    recalled=st.integers(0, 3),
)
QUICK = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    max_examples=int(os.environ.get("RICORDO_CONSOLIDATION_EXAMPLES", "15")),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


async def fill(memory: Ricordo, clock: Clock, user: str, things: Sequence[Said]) -> None:
    for one in things:
        clock.pass_by(days=one.days)
        now = clock()
        stored = await memory.user(person(user), agent=one.agent or "coder").remember(
            one.text,
            kind=Kind.FACT if one.agent is None else Kind.PREFERENCE,
            relations=[CLAIMS[one.text]]
            if one.related and one.agent is None and one.text in CLAIMS
            else (),
            importance=one.importance,
            pinned=one.pinned,
            expires_at=now + timedelta(days=30) if one.expires else None,
            valid_from=None if one.since is None else now - timedelta(days=one.since),
        )
        for _ in range(one.recalled):
            memory.services.journal.note([stored.memory], agent="coder", at=clock())
    await memory.services.journal.flush()


def whole(memories: Sequence[Memory]) -> dict[str, Memory]:
    return {one.id: one for one in memories}


@QUICK
@given(
    alice=st.lists(said, max_size=14),
    bob=st.lists(said, max_size=5),
    idle=st.sampled_from((0, 40, 400)),
)
def test_a_pass_and_its_undoing(alice: list[Said], bob: list[Said], idle: int) -> None:
    """Promises 1, 2, 9 and 11. State before = state after undo, also after a restart; a second
    pass finds nothing to do; Bob's memory, and what differs in meaning, is never touched."""
    asyncio.run(_pass_and_undo(alice, bob, idle))


async def _pass_and_undo(alice: list[Said], bob: list[Said], idle: int) -> None:
    clock = Clock()
    mine, theirs = user_scope(person("alice")), user_scope(person("bob"))
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder), clock=clock) as memory:
            await fill(memory, clock, "alice", alice)
            await fill(memory, clock, "bob", bob)
            clock.pass_by(days=idle)
            before, untouched = await state(memory, mine), await state(memory, theirs)
            me = memory.user(person("alice"))
            rehearsed = await me.consolidate(dry_run=True)
            assert await state(memory, mine) == before
            done = await me.consolidate()
            assert rehearsed.counts == done.counts
            assert (done.pass_id is None) == (not done.changes)
            after = await state(memory, mine)
            check(before["memories"], after["memories"])
            assert (await me.consolidate()).changes == ()
            assert await state(memory, mine) == after
            assert [f for f in await memory.ledger.check() if f.problem] == []
        async with opened(Path(folder), clock=clock) as memory:
            me = memory.user(person("alice"))
            if done.pass_id is not None:
                undone = await me.undo_consolidation(done.pass_id)
                assert undone.kept == 0
            assert await state(memory, mine) == before
            assert await state(memory, theirs) == untouched
            assert [f for f in await memory.ledger.check() if f.problem] == []
            assert (await me.consolidate()).counts == done.counts


def check(before: dict[str, Memory], after: dict[str, Memory]) -> None:
    """Nothing is lost, and only what means the same became one."""
    assert before.keys() == after.keys()
    for one in after.values():
        old = before[one.id]
        assert (one.text, one.kind, one.agent, one.partition) == (
            old.text,
            old.kind,
            old.agent,
            old.partition,
        )
        if one.merged_into is not None:
            keep = after[one.merged_into]
            assert keep.partition == one.partition
            assert any({keep.text, one.text} <= same for same in SAME)
            assert set(one.origins) <= set(keep.origins)
            assert keep.recalls >= one.recalls
            assert keep.importance >= one.importance
            assert keep.pinned >= one.pinned
        if one.pinned:
            assert one.demoted_at is None
        if one.status is Status.ACTIVE:
            assert set(old.origins) <= set(one.origins)
