"""What `Reading` and `Writing` promise about entities, relations, merges and refusals."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo.errors import Conflict, Invalid, NotFound
from ricordo.model import (
    Entity,
    EntityClaim,
    Memory,
    Refusal,
    Relation,
    RelationClaim,
    Rule,
    Scope,
    new_id,
)
from ricordo.ports import Ledger
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
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
    relation,
    sound,
    store,
)
from ricordo.testing.sealed import Sealed


async def _relations_of(ledger: Ledger, *memories: Memory, scope: Scope = ALICE) -> list[Relation]:
    ids = [each.id for each in memories]
    return await ledger.read(lambda tx: tx.relations_of(ids, scope=scope), scopes=[scope])


async def _by_id(ledger: Ledger, *ids: str) -> dict[str, Entity]:
    return await ledger.read(lambda tx: tx.entities_by_id(ids, scope=ALICE), scopes=[ALICE])


async def _merge(ledger: Ledger, source: Entity, target: Entity) -> str:
    return await ledger.write(
        lambda tx: tx.merge_entities(
            source.id, target.id, at=START + timedelta(hours=2), scope=ALICE
        ),
        scope=ALICE,
    )


async def _unmerge(ledger: Ledger, merge_id: str, scope: Scope = ALICE) -> tuple[str, str]:
    return await ledger.write(lambda tx: tx.unmerge_entities(merge_id, scope=scope), scope=scope)


class GraphTests(Sealed):
    """Entities by name, relations by hop, both inside their scope."""

    async def test_an_entity_is_found_by_each_of_its_names(self, ledger: Ledger) -> None:
        falcon = entity("Project Falcon", aliases=("Falcon", "Ｆ-１"))
        await graph(ledger, [falcon], [])
        found = await found_entities(ledger, "project falcon", "falcon", "f-1", "eagle", "falcon\0")
        assert found == {"project falcon": falcon, "falcon": falcon, "f-1": falcon}
        assert await _by_id(ledger, falcon.id, "n_unknown") == {falcon.id: falcon}

    async def test_reading_1_names_are_each_scope_s_own(self, ledger: Ledger) -> None:
        """Reading 1. One name, and one id, stand for another entity in every scope."""
        same = [entity("Falcon", scope=scope, id="n_same") for scope in SCOPES]
        for each in same:
            await graph(ledger, [each], [])
        for each in same:
            assert await found_entities(ledger, "falcon", scope=each.scope) == {"falcon": each}

    async def test_a_name_belongs_to_one_entity(self, ledger: Ledger) -> None:
        falcon, eagle = entity("Falcon", aliases=("F",)), entity("Eagle")
        await graph(ledger, [falcon, eagle], [])
        for wrong in (
            entity("FALCON"),
            entity("f"),
            entity("Kite", aliases=("falcon",)),
            replace(eagle, aliases=("F",)),
            replace(eagle, name="Falcon"),
        ):
            with pytest.raises(Conflict):
                await graph(ledger, [wrong], [])
        assert await found_entities(ledger, "falcon", "f", "eagle", "kite") == {
            "falcon": falcon,
            "f": falcon,
            "eagle": eagle,
        }

    async def test_a_renamed_entity_gives_its_old_name_free(self, ledger: Ledger) -> None:
        falcon = entity("Falcon", aliases=("F",))
        await graph(ledger, [falcon], [])
        renamed = replace(falcon, name="Eagle", aliases=("Falcon",), type="project")
        await graph(ledger, [renamed], [])
        assert await found_entities(ledger, "falcon", "eagle", "f") == {
            "falcon": renamed,
            "eagle": renamed,
        }

    @pytest.mark.parametrize("name", [" ", "a\0b", "\ud800"], ids=["blank", "nul", "surrogate"])
    async def test_a_name_that_is_none_is_refused(self, ledger: Ledger, name: str) -> None:
        with pytest.raises(Invalid):
            await graph(ledger, [entity(name)], [])
        with pytest.raises(Invalid):
            await graph(ledger, [entity("Falcon", aliases=(name,))], [])

    async def test_every_field_of_a_relation_comes_back(self, ledger: Ledger) -> None:
        first, second = memory("one"), memory("two")
        a, b = entity("a"), entity("b")
        full = relation(
            a,
            b,
            first,
            second,
            valid_from=START - timedelta(days=1),
            valid_until=START + timedelta(days=1),
            closed_at=START + timedelta(microseconds=1),
            confidence=0.5,
            origins=(origin(quote="a uses b"), origin(run_id="2", at=START + timedelta(hours=1))),
        )
        await store(ledger, first, second)
        await graph(ledger, [a, b], [full])
        assert await _relations_of(ledger, first) == [full]
        assert await _relations_of(ledger, second, first) == [full]
        reopened = replace(
            full, closed_at=None, valid_until=None, evidence=(second.id,), origins=()
        )
        await graph(ledger, [], [reopened])
        assert await _relations_of(ledger, first, second) == [reopened]
        assert await _relations_of(ledger, first) == []

    async def test_a_relation_needs_its_ends_and_its_evidence(self, ledger: Ledger) -> None:
        """Design section 6: both ends and the evidence are in the relation's own scope."""
        known, foreign = memory(), memory(scope=BOB)
        a, b, foreign_end = entity("a"), entity("b"), entity("c", scope=BOB)
        await store(ledger, known, foreign)
        await graph(ledger, [a, b], [])
        await graph(ledger, [foreign_end], [])
        for wrong in (
            relation(a, foreign_end, known),
            replace(relation(a, b, known), source=foreign_end.id),
            relation(a, b, foreign),
            relation(a, b, known, foreign),
        ):
            with pytest.raises(NotFound):
                await graph(ledger, [], [wrong])
        with pytest.raises(Invalid):
            await graph(ledger, [], [relation(a, b)])
        assert await edges(ledger, a, b) == []

    async def test_a_hop_goes_both_ways_in_order_of_ids(self, ledger: Ledger) -> None:
        known = memory()
        hub, *spokes = (entity(f"n{number}") for number in range(6))
        out = [relation(hub, spoke, known) for spoke in spokes[:3]]
        into = [relation(spoke, hub, known) for spoke in spokes[3:]]
        apart = relation(spokes[0], spokes[1], known)
        loop = relation(hub, hub, known)
        await store(ledger, known)
        await graph(ledger, [hub, *spokes], [*out, *into, apart, loop])
        expected = sorted([*out, *into, loop], key=lambda each: each.id)
        assert await edges(ledger, hub) == expected
        assert await edges(ledger, hub, limit=4) == expected[:4]
        everything = sorted([*expected, apart], key=lambda each: each.id)
        assert await edges(ledger, hub, hub, *spokes) == everything
        assert await edges(ledger) == []

    async def test_a_hop_at_an_instant_sees_what_was_valid_then(self, ledger: Ledger) -> None:
        """Design promise 12: "as of" questions still find what was true then."""
        known, a, b = memory(), entity("a"), entity("b")
        noon, hour = START + timedelta(hours=3), timedelta(hours=1)
        old = relation(a, b, known, valid_until=noon, closed_at=noon)
        new = relation(a, b, known, valid_from=noon)
        ever = relation(a, b, known)
        future = relation(a, b, known, valid_from=noon + hour)
        await store(ledger, known)
        await graph(ledger, [a, b], [old, new, ever, future])

        async def at(time: timedelta | None) -> set[str]:
            when = None if time is None else noon + time
            return {each.id for each in await edges(ledger, a, at=when)}

        assert await at(None) == {new.id, ever.id, future.id}
        assert await at(-hour) == {old.id, ever.id}
        assert await at(timedelta(microseconds=-1)) == {old.id, ever.id}
        assert await at(timedelta(0)) == {new.id, ever.id}
        assert await at(hour) == {new.id, ever.id, future.id}

    async def test_reading_1_a_hop_stays_in_its_scope(self, ledger: Ledger) -> None:
        """Reading 1. The same entity id in another scope leads nowhere from here."""
        for scope in (ALICE, PLATFORM):
            known = memory(scope=scope)
            a, b = entity("a", scope=scope, id="n_a"), entity("b", scope=scope, id="n_b")
            await store(ledger, known)
            await graph(ledger, [a, b], [relation(a, b, known, id=f"r_{scope.tenant}{scope}")])
        here = await edges(ledger, entity("a", id="n_a"))
        there = await edges(ledger, entity("a", id="n_a"), scope=PLATFORM)
        assert [each.scope for each in here] == [ALICE]
        assert [each.scope for each in there] == [PLATFORM]

    async def test_refusals_are_kept_newest_first(self, ledger: Ledger, clock: HandClock) -> None:
        """Design promise 7: what is refused is kept, with the rule that refused it."""
        claim = RelationClaim(
            source=EntityClaim(name="it"), relation="uses", target=EntityClaim(name="b", type="x")
        )
        kept = [
            Refusal(
                id=new_id("f"),
                scope=ALICE,
                at=clock.forward(1),
                reason="a pronoun",
                rule=Rule.NAMES,
                claim=claim,
                origin=origin(quote="it uses b", message_ids=("1",)),
            ),
            Refusal(id=new_id("f"), scope=ALICE, at=clock.forward(1), reason="no quote", text="x"),
        ]
        for each in kept:
            await ledger.write(lambda tx, each=each: tx.refuse(each), scope=ALICE)
        found = await ledger.read(lambda tx: tx.refusals(scope=ALICE, limit=9), scopes=[ALICE])
        assert found == kept[::-1]
        found = await ledger.read(lambda tx: tx.refusals(scope=ALICE, limit=1), scopes=[ALICE])
        assert found == kept[1:]
        assert not await ledger.read(lambda tx: tx.refusals(scope=BOB, limit=9), scopes=[BOB])


class MergeTests(Sealed):
    """Two entities become one, and two again."""

    async def test_a_merge_moves_relations_and_names(self, ledger: Ledger) -> None:
        known = memory()
        short, long, other = entity("k8s", aliases=("K8",)), entity("Kubernetes"), entity("x")
        out, into = relation(short, other, known), relation(other, short, known)
        await store(ledger, known)
        await graph(ledger, [short, long, other], [out, into])
        await _merge(ledger, short, long)
        found = await found_entities(ledger, "k8s", "k8", "kubernetes")
        assert {each.id for each in found.values()} == {long.id}
        assert set(found["k8s"].aliases) == {"k8s", "K8"}
        assert (await _by_id(ledger, short.id))[short.id].merged_into == long.id
        moved = {each.id: each for each in await edges(ledger, long)}
        assert (moved[out.id].source, moved[out.id].source_name) == (long.id, "Kubernetes")
        assert (moved[into.id].target, moved[into.id].target_name) == (long.id, "Kubernetes")
        assert await edges(ledger, short) == []
        await sound(ledger)

    async def test_undoing_a_merge_restores_exactly(self, ledger: Ledger) -> None:
        known = memory()
        a, b, c = entity("a", aliases=("a2",)), entity("b", aliases=("b2",)), entity("c")
        ended = relation(a, b, known, closed_at=START, valid_until=START)
        between = [relation(a, b, known), relation(b, a, known), ended]
        own = [relation(a, c, known), relation(c, a, known), relation(a, a, known)]
        theirs = [relation(b, c, known)]
        await store(ledger, known)
        await graph(ledger, [a, b, c], [*between, *own, *theirs])
        before = await edges(ledger, a, b, c, at=START - timedelta(days=1))
        current = await edges(ledger, a, b, c)
        merge_id = await _merge(ledger, a, b)
        assert {each.id for each in await edges(ledger, b)} == {
            each.id for each in (*own, *theirs)
        }, "what related the two to each other has ended"
        assert await _unmerge(ledger, merge_id) == (a.id, b.id)
        assert await edges(ledger, a, b, c, at=START - timedelta(days=1)) == before
        assert await edges(ledger, a, b, c) == current
        assert await found_entities(ledger, "a", "a2", "b", "b2") == {
            "a": a,
            "a2": a,
            "b": b,
            "b2": b,
        }
        with pytest.raises(NotFound):
            await _unmerge(ledger, merge_id)
        await sound(ledger)

    async def test_what_came_after_a_merge_stays(self, ledger: Ledger) -> None:
        known, later = memory("one"), memory("two")
        a, b, c = entity("a"), entity("b"), entity("c")
        moved = relation(a, c, known)
        await store(ledger, known, later)
        await graph(ledger, [a, b, c], [moved])
        merge_id = await _merge(ledger, a, b)
        new = relation(a, c, later)
        await graph(ledger, [], [new])
        assert {each.id for each in await edges(ledger, b)} == {moved.id, new.id}
        await ledger.write(lambda tx: tx.remove([known.id], scope=ALICE), scope=ALICE)
        await _unmerge(ledger, merge_id)
        assert {each.id for each in await edges(ledger, b)} == {new.id}
        assert await edges(ledger, a) == []
        await sound(ledger)

    async def test_merges_are_told_with_what_they_moved(self, ledger: Ledger) -> None:
        """In the order in which they were made, until they are undone; each scope its own."""
        known = memory()
        a, b, c = entity("a", aliases=("a2", "a1")), entity("b"), entity("c")
        out, into = relation(a, c, known), relation(c, a, known)
        await store(ledger, known)
        await graph(ledger, [a, b, c], [out, into])
        first, second = await _merge(ledger, a, b), await _merge(ledger, b, c)
        made = await ledger.read(lambda tx: tx.merges(scope=ALICE), scopes=[ALICE])
        assert [(each.id, each.source, each.target) for each in made] == [
            (first, a.id, b.id),
            (second, b.id, c.id),
        ]
        assert made[0].names == ("a", "a2", "a1")
        assert made[0].outgoing == (out.id,)
        assert made[0].incoming == (into.id,)
        assert made[0].at == START + timedelta(hours=2)
        assert made[1].names == ("b", "a", "a2", "a1")
        await _unmerge(ledger, second)
        left = await ledger.read(lambda tx: tx.merges(scope=ALICE), scopes=[ALICE])
        assert left == made[:1]
        assert await ledger.read(lambda tx: tx.merges(scope=BOB), scopes=[BOB]) == []

    async def test_merges_of_merges_are_undone_from_the_last(self, ledger: Ledger) -> None:
        known = memory()
        a, b, c, d = (entity(name) for name in "abcd")
        one = relation(a, d, known)
        await store(ledger, known)
        await graph(ledger, [a, b, c, d], [one])
        first, second = await _merge(ledger, a, b), await _merge(ledger, b, c)
        assert {e.id for e in (await found_entities(ledger, "a", "b", "c")).values()} == {c.id}
        with pytest.raises(Conflict):
            await _unmerge(ledger, first)
        await _unmerge(ledger, second)
        assert [each.source for each in await edges(ledger, d)] == [b.id]
        await _unmerge(ledger, first)
        assert await edges(ledger, d) == [one]
        await sound(ledger)

    async def test_a_merge_needs_two_that_stand(self, ledger: Ledger) -> None:
        a, b, c, foreign = entity("a"), entity("b"), entity("c"), entity("d", scope=BOB)
        await graph(ledger, [a, b, c], [])
        await graph(ledger, [foreign], [])
        merge_id = await _merge(ledger, a, b)
        for source, target in ((a, c), (c, a), (c, c), (a, b)):
            with pytest.raises(Conflict):
                await _merge(ledger, source, target)
        for source, target in ((c, foreign), (foreign, c)):
            with pytest.raises(NotFound):
                await _merge(ledger, source, target)
        with pytest.raises(NotFound):
            await _unmerge(ledger, merge_id, BOB)
        with pytest.raises(Conflict):
            await graph(ledger, [a], [])
