"""What removing, erasing and scanning promise."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo.errors import Conflict, Denied, Erased
from ricordo.events import UserMemoryErased, UserMemoryStored
from ricordo.model import PassStep, Refusal, Relate, Scope, StepAct, UserScope, new_id
from ricordo.ports import Ledger, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    COMMON,
    OTHER_ALICE,
    PLATFORM,
    SCOPES,
    START,
    HandClock,
    edges,
    entity,
    found_entities,
    graph,
    memory,
    origin,
    preference,
    relation,
    replace_with,
    rows,
    sound,
    store,
    stored,
    turn,
)
from ricordo.testing.ledger.passes import a_pass, proposal
from ricordo.testing.sealed import Sealed


async def fill(ledger: Ledger, scope: Scope, *, text: str = "A secret of the scope") -> None:
    """Put something of a scope into every place that there is."""
    await ledger.enroll("graph", sort="graph", made_of="")
    kept, other = memory(text, scope=scope), memory(f"{text} too", scope=scope)
    a, b, c = (entity(f"{text} {name}", scope=scope, aliases=(name,)) for name in "abc")
    await store(ledger, kept, other)
    await replace_with(ledger, replace(kept, text=f"{text}, edited", version=2), seed=3)
    await graph(
        ledger,
        [a, b, c],
        [relation(a, b, kept, origins=kept.origins), relation(c, b, other, kept)],
    )
    gone = memory(f"{text}, gone", scope=scope)
    await store(ledger, gone)
    refusal = Refusal(
        id=new_id("f"), scope=scope, at=START, reason="no", text=text, origin=origin(quote=text)
    )

    async def work(tx: Writing) -> None:
        await tx.remove([gone.id], scope=scope)
        await tx.merge_entities(a.id, c.id, at=START, scope=scope)
        await tx.refuse(refusal)
        await tx.audit("fill", by="alice", scope=scope, subjects=[kept.id])
        await tx.enqueue(Relate(memory_id=kept.id, at=START), scope=scope)
        if isinstance(scope, UserScope):
            done = a_pass(PassStep(act=StepAct.DEMOTED, memory_id=kept.id), scope=scope)
            await tx.note(done, scope=scope)
            await tx.propose_merge(proposal(b, c, done), scope=scope)
            await tx.emit(
                UserMemoryStored(
                    id=new_id("e"), at=START, scope=scope, memory_id=kept.id, kind="fact"
                )
            )

    await ledger.write(work, scope=scope)
    if isinstance(scope, UserScope):
        await ledger.accept(turn(1, text=text), scope=scope)
        await ledger.accept(turn(2, text=text), scope=scope)
        batch = await ledger.claim(at=START, size=1, patience=0, lease=60, scope=scope)
        assert batch
        await ledger.park(batch, reason="no model", at=START)
        assert await ledger.tend(at=START, every=0, seconds=60, scope=scope)


async def _remove(ledger: Ledger, *ids: str) -> dict[str, int]:
    async def work(tx: Writing) -> dict[str, int]:
        return dict(await tx.remove(ids, scope=ALICE))

    return await ledger.write(work, scope=ALICE)


async def _erase(ledger: Ledger, scope: Scope, clock: HandClock) -> dict[str, int]:
    at = clock.forward(1)

    async def work(tx: Writing) -> dict[str, int]:
        return dict(await tx.erase(scope=scope, at=at))

    return await ledger.write(work, scope=scope)


class RemovalTests(Sealed):
    """Forgetting some, with everything derived from them."""

    async def test_removing_takes_along_what_only_it_supported(self, ledger: Ledger) -> None:
        going, staying = memory("going"), memory("staying", origins=(origin(run_id="run-2"),))
        a, b, c = entity("a"), entity("b"), entity("c")
        lost, shared = relation(a, b, going), relation(b, c, going, staying)
        await store(ledger, going, staying)
        await replace_with(ledger, replace(going, text="changed", version=2), seed=2)
        await graph(ledger, [a, b, c], [lost, shared])
        removed = await _remove(ledger, going.id, "m_unknown")
        assert await stored(ledger, going.id, staying.id) == [staying]
        assert await edges(ledger, a, b, c) == [replace(shared, evidence=(staying.id,))]
        assert set(await found_entities(ledger, "a", "b", "c")) == {"b", "c"}
        assert list((await rows(ledger)).ids) == [staying.id]
        history = await ledger.read(lambda tx: tx.history(going.id, scope=ALICE), scopes=[ALICE])
        assert history == []
        assert removed["memories"] == 1
        assert removed["relations"] == 1
        assert removed["entities"] == 1
        await sound(ledger)

    async def test_a_shared_relation_loses_the_words_of_the_removed(self, ledger: Ledger) -> None:
        """A quote goes with its memory, unless another memory has the same origin."""
        mine, ours = origin(run_id="1", quote="my words"), origin(run_id="2", quote="our words")
        going, staying = memory("a", origins=(mine, ours)), memory("b", origins=(ours,))
        a, b = entity("a"), entity("b")
        shared = relation(a, b, going, staying, origins=(mine, ours))
        await store(ledger, going, staying)
        await graph(ledger, [a, b], [shared])
        await _remove(ledger, going.id)
        (left,) = await ledger.read(
            lambda tx: tx.relations_of([staying.id], scope=ALICE), scopes=[ALICE]
        )
        assert left == replace(shared, evidence=(staying.id,), origins=(ours,))

    async def test_refusals_of_the_same_turn_go_too(self, ledger: Ledger) -> None:
        going = memory(origins=(origin(run_id="1"), origin(run_id="2")))
        said = memory("said", origins=(origin(thread_id=None, run_id=None, agent="a"),))
        await store(ledger, going, said)
        reasons = {
            "same turn": origin(run_id="1", quote="x"),
            "also": origin(run_id="2", at=START + timedelta(days=1)),
            "same statement": said.origins[0],
            "other run": origin(run_id="3"),
            "other thread": origin(run_id="1", thread_id="thread-9"),
            "other statement": replace(said.origins[0], at=START + timedelta(seconds=1)),
            "no origin": None,
        }
        for reason, source in reasons.items():
            refusal = Refusal(id=new_id("f"), scope=ALICE, at=START, reason=reason, origin=source)
            await ledger.write(lambda tx, refusal=refusal: tx.refuse(refusal), scope=ALICE)
        await _remove(ledger, going.id, said.id)
        left = await ledger.read(lambda tx: tx.refusals(scope=ALICE, limit=99), scopes=[ALICE])
        assert {each.reason for each in left} == {
            "other run",
            "other thread",
            "other statement",
            "no origin",
        }

    async def test_a_queued_request_for_the_removed_goes_too(self, ledger: Ledger) -> None:
        going = memory()
        await store(ledger, going)
        await ledger.write(
            lambda tx: tx.enqueue(Relate(memory_id=going.id, at=START), scope=ALICE), scope=ALICE
        )
        await _remove(ledger, going.id)
        assert (await ledger.backlog()).waiting == 0

    async def test_merged_entities_go_with_the_last_relation(self, ledger: Ledger) -> None:
        going = memory()
        a, b, c = entity("a"), entity("b"), entity("c")
        await store(ledger, going)
        await graph(ledger, [a, b, c], [relation(a, c, going)])
        await ledger.write(
            lambda tx: tx.merge_entities(a.id, b.id, at=START, scope=ALICE), scope=ALICE
        )
        await _remove(ledger, going.id)
        assert await found_entities(ledger, "a", "b", "c") == {}
        counts = await ledger.counts(scope=ALICE)
        assert counts["entities"] == counts["names"] == counts["merges"] == 0
        await sound(ledger)

    async def test_removing_nothing_or_another_s_is_no_error(self, ledger: Ledger) -> None:
        """Reading 1. Ids of another scope are unknown here."""
        theirs = memory(scope=BOB)
        await store(ledger, theirs)
        assert not any((await _remove(ledger, theirs.id, "m_unknown")).values())
        assert not any((await _remove(ledger)).values())
        assert await stored(ledger, theirs.id, scope=BOB) == [theirs]


class ErasureTests(Sealed):
    """Erasing all of a scope, for good (design promise 11)."""

    async def test_every_place_is_filled_before_it_is_erased(
        self, ledger: Ledger, copies: frozenset[str]
    ) -> None:
        """Otherwise the tests of erasure would prove nothing."""
        await fill(ledger, ALICE)
        counts = await ledger.counts(scope=ALICE)
        assert {place for place, count in counts.items() if not count} == copies

    @pytest.mark.parametrize("scope", SCOPES, ids=str)
    async def test_erasing_leaves_nothing_and_touches_nobody_else(
        self, ledger: Ledger, clock: HandClock, scope: Scope
    ) -> None:
        for each in SCOPES:
            await fill(ledger, each)
        before = {each: await ledger.counts(scope=each) for each in SCOPES}
        removed = await _erase(ledger, scope, clock)
        assert sum(removed.values()) == sum(before[scope].values())
        assert not any((await ledger.counts(scope=scope)).values())
        for other in set(SCOPES) - {scope}:
            assert await ledger.counts(scope=other) == before[other]
        assert set(await ledger.scopes()) == set(SCOPES) - {scope}
        assert not await found_entities(ledger, "a", "b", scope=scope)
        await sound(ledger)

    async def test_the_announcement_keeps_only_a_keyed_hash(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        await fill(ledger, ALICE)
        await fill(ledger, BOB)
        await _erase(ledger, ALICE, clock)
        events = [event for _, event in await ledger.announced(after=0, limit=99)]
        assert not [event for event in events if event.scope == ALICE]
        (last,) = [event for event in events if isinstance(event, UserMemoryErased)]
        subject = await ledger.subject(scope=ALICE)
        assert last.subject == subject == last.scope.user
        assert last.at == clock.now
        subjects = {await ledger.subject(scope=scope) for scope in SCOPES}
        assert len(subjects) == len(SCOPES)
        assert not [each for each in subjects if "alice" in each]

    async def test_late_writes_are_refused(self, ledger: Ledger, clock: HandClock) -> None:
        """A late write cannot bring a person back; a later one is a new beginning."""
        await fill(ledger, ALICE)
        batch = await ledger.claim(at=START, size=1, patience=0, lease=60, scope=ALICE)
        assert batch
        await _erase(ledger, ALICE, clock)
        for at in (START, clock.now):
            with pytest.raises(Erased):
                await ledger.accept(turn(7, at=at), scope=ALICE)
            with pytest.raises(Erased):
                await store(ledger, memory("late", at=at))
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.finish(batch), scope=ALICE)
        with pytest.raises(Conflict):
            await ledger.retry(batch, at=clock.now)
        with pytest.raises(Conflict):
            await ledger.park(batch, reason="late", at=clock.now)
        assert not any((await ledger.counts(scope=ALICE)).values())
        assert await ledger.accept(turn(7, at=START), scope=OTHER_ALICE)
        later = clock.forward(1)
        assert await ledger.accept(turn(7, at=later), scope=ALICE)
        await store(ledger, memory("new", at=later))
        assert len((await rows(ledger)).ids) == 1

    async def test_erasing_again_finds_nothing(self, ledger: Ledger, clock: HandClock) -> None:
        assert await _erase(ledger, ALICE, clock) == {}
        await store(ledger, memory(at=clock.forward(1)))
        assert (await _erase(ledger, ALICE, clock))["memories"] == 1
        assert await _erase(ledger, ALICE, clock) == {}
        with pytest.raises(Erased):
            await ledger.accept(turn(at=clock.now), scope=ALICE)

    async def test_an_erasure_that_fails_removes_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        await fill(ledger, ALICE)
        before = await ledger.counts(scope=ALICE)

        async def work(tx: Writing) -> None:
            await tx.erase(scope=ALICE, at=clock.now)
            raise Conflict("changed their mind")

        with pytest.raises(Conflict):
            await ledger.write(work, scope=ALICE)
        assert await ledger.counts(scope=ALICE) == before
        assert await ledger.accept(turn(9), scope=ALICE)

    async def test_erasing_another_scope_is_denied(self, ledger: Ledger) -> None:
        await fill(ledger, ALICE)
        with pytest.raises(Denied):
            await ledger.write(lambda tx: tx.erase(scope=ALICE, at=START), scope=BOB)

    async def test_an_organization_scope_can_be_erased(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        await store(ledger, memory(scope=PLATFORM), memory(scope=COMMON))
        await _erase(ledger, PLATFORM, clock)
        assert await ledger.scopes() == [COMMON]

    async def test_counts_of_everything_are_counts_of_all(self, ledger: Ledger) -> None:
        for scope in SCOPES:
            await fill(ledger, scope)
        total = await ledger.counts()
        parts = [await ledger.counts(scope=scope) for scope in SCOPES]
        assert total == {place: sum(part[place] for part in parts) for place in total}

    async def test_an_emptied_log_says_so(self, ledger: Ledger, wipes: bool) -> None:
        """Scrub: an engine that cannot vouch for its files does not."""
        await store(ledger, memory(), preference())
        assert await ledger.scrub() is wipes
