"""What the record of consolidation promises: whose turn it is, what was done, and what goes."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo.errors import Conflict, Denied, NotFound
from ricordo.model import (
    Entity,
    Lease,
    Memory,
    MergeProposal,
    Pass,
    PassStep,
    Status,
    StepAct,
    UserScope,
    new_id,
)
from ricordo.ports import Ledger, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    COMMON,
    OTHER_ALICE,
    START,
    HandClock,
    edges,
    entity,
    found_entities,
    graph,
    memory,
    origin,
    relation,
    rows,
    sound,
    store,
    stored,
)
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.sealed import Sealed


def a_pass(*steps: PassStep, scope: UserScope = ALICE) -> Pass:
    """A pass with these steps."""
    return Pass(id=new_id("c"), scope=scope, at=START, by="worker", steps=steps)


async def noted(ledger: Ledger, done: Pass) -> None:
    """Keep the record of a pass."""
    await ledger.write(lambda tx: tx.note(done, scope=done.scope), scope=done.scope)


async def known(ledger: Ledger, scope: UserScope = ALICE) -> list[Pass]:
    """All passes over a person's memory."""
    return await ledger.read(lambda tx: tx.passes(scope=scope, limit=99), scopes=[scope])


async def proposals(ledger: Ledger, scope: UserScope = ALICE) -> list[MergeProposal]:
    """All proposed merges."""
    return await ledger.read(lambda tx: tx.merge_proposals(scope=scope), scopes=[scope])


def proposal(source: Entity, target: Entity, done: Pass) -> MergeProposal:
    """The proposal to merge two entities."""
    return MergeProposal(
        id=new_id("p"),
        scope=source.scope,
        source=source.id,
        target=target.id,
        source_name=source.name,
        target_name=target.name,
        reason="spelling",
        at=START,
        pass_id=done.id,
    )


async def merged(ledger: Ledger, keep: Memory, drop: Memory) -> Pass:
    """Let one memory stand for another one, as a pass does."""
    brought = tuple(o for o in drop.origins if o not in keep.origins)
    whole = replace(keep, origins=(*keep.origins, *brought), version=keep.version + 1)
    gone = replace(drop, status=Status.SUPERSEDED, merged_into=keep.id, version=drop.version + 1)
    done = a_pass(
        PassStep(
            act=StepAct.GATHERED,
            memory_id=keep.id,
            other_id=drop.id,
            marks=tuple(o.mark for o in brought),
        ),
        PassStep(act=StepAct.MERGED, memory_id=drop.id, other_id=keep.id),
    )

    async def work(tx: Writing) -> None:
        await tx.put(whole, indexed=None, space=None)
        await tx.put(gone, indexed=None, space=None)
        await tx.note(done, scope=ALICE)

    await ledger.write(work, scope=ALICE)
    return done


async def forget(ledger: Ledger, *ids: str) -> None:
    """Remove memories of Alice."""
    await ledger.write(lambda tx: tx.remove(ids, scope=ALICE), scope=ALICE)


class PassTests(Sealed):
    """The record of what was done."""

    async def test_a_pass_is_read_as_it_was_noted(self, another: OpenLedger) -> None:
        """Ledger 1. Steps in order, added over several transactions, also after reopening."""
        ledger = await another()
        one, two = memory("one"), memory("two")
        a, b = entity("a"), entity("b")
        held, rival = relation(a, b, one), relation(b, a, two)
        await store(ledger, one, two)
        await graph(ledger, [a, b], [held, rival])
        first = PassStep(
            act=StepAct.GATHERED,
            memory_id=one.id,
            other_id=two.id,
            before={"recalls": 1, "importance": 0.25, "pinned": False, "valid_from": None},
            after={"recalls": 3, "importance": 0.5, "pinned": True, "valid_from": "2026-01-01"},
            marks=("abc", "def"),
        )
        second = PassStep(act=StepAct.CLOSED, relation_id=held.id, rival_id=rival.id)
        done = a_pass(first)
        await noted(ledger, done)
        await noted(ledger, replace(done, steps=(second,)))
        later = a_pass(PassStep(act=StepAct.DEMOTED, memory_id=one.id))
        await noted(ledger, later)
        await ledger.close()
        again = await another()
        assert await known(again) == [later, replace(done, steps=(first, second))]
        await sound(again)

    async def test_passes_are_seen_in_their_scope_alone(self, ledger: Ledger) -> None:
        """Reading 1."""
        await store(ledger, memory(), memory(scope=OTHER_ALICE))
        await noted(ledger, a_pass())
        assert await known(ledger, BOB) == []
        assert await known(ledger, OTHER_ALICE) == []
        with pytest.raises(Denied):
            await ledger.write(lambda tx: tx.note(a_pass(), scope=BOB), scope=ALICE)

    async def test_an_undone_pass_keeps_no_steps(self, ledger: Ledger) -> None:
        kept = memory()
        await store(ledger, kept)
        done = a_pass(PassStep(act=StepAct.DEMOTED, memory_id=kept.id))
        await noted(ledger, done)

        async def work(tx: Writing) -> None:
            await tx.mark_undone(done.id, at=START, scope=ALICE)

        await ledger.write(work, scope=ALICE)
        assert await known(ledger) == [replace(done, steps=(), undone_at=START)]
        with pytest.raises(NotFound):
            await ledger.write(
                lambda tx: tx.mark_undone("c_none", at=START, scope=ALICE), scope=ALICE
            )

    async def test_relations_are_found_by_id_with_their_origins(self, ledger: Ledger) -> None:
        kept = memory()
        a, b = entity("a"), entity("b")
        one, two = relation(a, b, kept, origins=kept.origins), relation(b, a, kept)
        await store(ledger, kept)
        await graph(ledger, [a, b], [one, two])
        wanted = [two.id, "g_none", one.id]
        found = await ledger.read(lambda tx: tx.relations(wanted, scope=ALICE), scopes=[ALICE])
        assert found == sorted((one, two), key=lambda each: each.id)
        assert await ledger.read(lambda tx: tx.relations(wanted, scope=BOB), scopes=[BOB]) == []

    async def test_counters_can_be_set_to_less(self, ledger: Ledger) -> None:
        kept = memory(recalls=5, last_recalled_at=START)
        await store(ledger, kept)
        await ledger.write(
            lambda tx: tx.count_recalls(kept.id, 2, last=None, scope=ALICE), scope=ALICE
        )
        assert await stored(ledger, kept.id) == [replace(kept, recalls=2, last_recalled_at=None)]

    async def test_proposals_are_kept_until_decided(self, ledger: Ledger) -> None:
        """A rejected one stays, so that the pair is not proposed again."""
        a, b, c = entity("a"), entity("b"), entity("c")
        await graph(ledger, [a, b, c], [])
        done = a_pass()
        await noted(ledger, done)
        one, two = proposal(a, b, done), proposal(b, c, done)
        for each in (one, two):
            await ledger.write(lambda tx, p=each: tx.propose_merge(p, scope=ALICE), scope=ALICE)
        assert await proposals(ledger) == [one, two]
        assert await proposals(ledger, BOB) == []
        again, stray = proposal(a, b, done), proposal(a, entity("d"), done)
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.propose_merge(again, scope=ALICE), scope=ALICE)
        for each, rejected in ((one, True), (two, False)):
            await ledger.write(
                lambda tx, p=each, r=rejected: tx.decide_merge(p.id, rejected=r, scope=ALICE),
                scope=ALICE,
            )
        assert await proposals(ledger) == [replace(one, rejected=True)]
        with pytest.raises(NotFound):
            await ledger.write(
                lambda tx: tx.decide_merge(two.id, rejected=True, scope=ALICE), scope=ALICE
            )
        with pytest.raises(NotFound):
            await ledger.write(lambda tx: tx.propose_merge(stray, scope=ALICE), scope=ALICE)


class MergedTests(Sealed):
    """Memories that stand for others, and what forgetting one of them takes along."""

    async def test_a_merged_memory_is_indexed_no_more(self, ledger: Ledger) -> None:
        keep, drop = memory("keep"), memory("drop")
        await store(ledger, keep, drop)
        await merged(ledger, keep, drop)
        assert list((await rows(ledger)).ids) == [keep.id]
        assert (await stored(ledger, drop.id))[0].merged_into == keep.id
        await sound(ledger)

    async def test_forgetting_takes_along_what_was_merged(self, ledger: Ledger) -> None:
        """Promise 11: to a person the two are one; the record of the pass goes with them."""
        keep, drop, other = memory("keep"), memory("drop"), memory("other")
        await store(ledger, keep, drop, other)
        done = await merged(ledger, keep, drop)
        await noted(
            ledger, replace(done, steps=(PassStep(act=StepAct.DEMOTED, memory_id=other.id),))
        )
        await forget(ledger, keep.id)
        assert await stored(ledger, keep.id, drop.id, other.id) == [other]
        [left] = await known(ledger)
        assert [step.memory_id for step in left.steps] == [other.id]
        await sound(ledger)

    async def test_forgetting_a_merged_one_takes_back_what_it_brought(self, ledger: Ledger) -> None:
        """Promise 11. Quotes that only it had are gone, from the relation as well."""
        mine, ours = origin(run_id="1", quote="my words"), origin(run_id="2", quote="our words")
        theirs = origin(run_id="3", quote="their words")
        keep = memory("keep", origins=(ours,))
        drop = memory("drop", origins=(mine, ours, theirs))
        top = memory("top", origins=(origin(run_id="4"),))
        a, b = entity("a"), entity("b")
        held = relation(a, b, top, origins=(*drop.origins, *top.origins))
        await store(ledger, keep, drop, top)
        await graph(ledger, [a, b], [held])
        await merged(ledger, keep, drop)
        [keep] = await stored(ledger, keep.id)
        await merged(ledger, top, keep)
        await forget(ledger, drop.id)
        kept, whole = await stored(ledger, keep.id, top.id)
        assert kept.origins == (ours,)
        assert set(whole.origins) == {ours, *top.origins}
        [edge] = await ledger.read(lambda tx: tx.relations([held.id], scope=ALICE), scopes=[ALICE])
        assert set(edge.origins) == {ours, *top.origins}
        assert len(await edges(ledger, a)) == 1
        await sound(ledger)

    async def test_a_proposed_wording_goes_with_what_it_is_made_of(self, ledger: Ledger) -> None:
        """Promise 11: it says the same once more."""
        one, two = memory("one"), memory("two")
        wording = memory("both", status=Status.PROPOSED, replaces=(one.id, two.id))
        await store(ledger, one, two, wording)
        await noted(
            ledger,
            a_pass(
                *(
                    PassStep(act=StepAct.REWORDED, memory_id=wording.id, other_id=each.id)
                    for each in (one, two)
                )
            ),
        )
        await forget(ledger, two.id)
        assert await stored(ledger, one.id, two.id, wording.id) == [one]
        await sound(ledger)

    async def test_a_proposal_goes_with_its_entities(self, ledger: Ledger) -> None:
        """Promise 11."""
        kept, other = memory("kept"), memory("other")
        a, b, c = entity("a"), entity("b"), entity("c")
        await store(ledger, kept, other)
        await graph(ledger, [a, b, c], [relation(a, b, kept), relation(b, c, other)])
        done = a_pass()
        await noted(ledger, done)
        await ledger.write(
            lambda tx: tx.propose_merge(proposal(a, c, done), scope=ALICE), scope=ALICE
        )
        await forget(ledger, kept.id)
        assert set(await found_entities(ledger, "a", "b", "c")) == {"b", "c"}
        assert await proposals(ledger) == []
        await sound(ledger)


class TendingTests(Sealed):
    """Whose memory is consolidated next."""

    async def _take(
        self, ledger: Ledger, clock: HandClock, *, every: float = 0, scope: UserScope | None = None
    ) -> Lease | None:
        return await ledger.tend(at=clock(), every=every, seconds=60, scope=scope)

    async def test_tending_1_one_pass_per_person_at_a_time(
        self, another: OpenLedger, ledger: Ledger, clock: HandClock
    ) -> None:
        """Tending 1, between ledgers on one store; a lease that ran out is somebody else's."""
        other = await another()
        await store(ledger, memory())
        lease = await self._take(ledger, clock)
        assert lease is not None
        assert await self._take(other, clock) is None
        clock.forward(59)
        await ledger.write(lambda tx: tx.hold(lease, scope=ALICE), scope=ALICE)
        clock.forward(59)
        assert await self._take(other, clock, scope=ALICE) is None
        clock.forward(2)
        taken = await self._take(other, clock)
        assert taken is not None
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.hold(lease, scope=ALICE), scope=ALICE)
        await ledger.release(lease)  # the lost one
        await other.write(lambda tx: tx.hold(taken, scope=ALICE), scope=ALICE)
        await other.release(taken)
        assert await self._take(ledger, clock) is not None

    async def test_tending_2_persons_take_turns(self, ledger: Ledger, clock: HandClock) -> None:
        """Tending 2. An organization never has one."""
        for scope in (ALICE, BOB, OTHER_ALICE, COMMON):
            await store(ledger, memory(scope=scope))
        served: list[UserScope] = []
        for _ in range(6):
            clock.forward(1)
            lease = await self._take(ledger, clock)
            assert lease is not None
            served.append(lease.scope)
            await ledger.release(lease)
        assert set(served[:3]) == {ALICE, BOB, OTHER_ALICE}
        assert served[3:] == served[:3]
        assert await self._take(ledger, clock, scope=BOB) is not None

    async def test_a_person_has_a_turn_once_in_a_while(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Not before the first memory is that old, then not before the last pass is."""
        assert await self._take(ledger, clock) is None
        await store(ledger, memory())
        assert await self._take(ledger, clock, every=100) is None
        clock.forward(100)
        lease = await self._take(ledger, clock, every=100)
        assert lease is not None
        await ledger.release(lease)
        clock.now += timedelta(seconds=99)
        assert await self._take(ledger, clock, every=100) is None
        assert await self._take(ledger, clock, every=0, scope=ALICE) is not None

    async def test_an_erasure_ends_a_pass(self, ledger: Ledger, clock: HandClock) -> None:
        """Promise 11: nothing is written for a person who was erased meanwhile."""
        await store(ledger, memory())
        lease = await self._take(ledger, clock)
        assert lease is not None
        await ledger.write(lambda tx: tx.erase(scope=ALICE, at=clock()), scope=ALICE)
        with pytest.raises(Conflict):
            await ledger.write(lambda tx: tx.hold(lease, scope=ALICE), scope=ALICE)
