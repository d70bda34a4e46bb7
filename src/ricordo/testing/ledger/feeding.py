"""What views outside are fed with: builds, marks, election, and what changed in graphs."""

from dataclasses import replace

import pytest

from ricordo.errors import NotFound
from ricordo.model import Entity, Kind, Partition, Relation, Scope
from ricordo.ports import GraphChanges, Ledger, Reading, Rows, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    START,
    HandClock,
    entity,
    graph,
    memory,
    relation,
    store,
)
from ricordo.testing.sealed import Sealed

FACTS = Partition(scope=ALICE, kind=Kind.FACT)
KEY, OTHER = "ab" * 32, "cd" * 32

Seen = tuple[dict[str, Entity], dict[str, Relation]]


class FeedingTests(Sealed):
    """`ricordo.ports.Feeding` and `ViewReading`."""

    async def test_builds_are_enrolled_served_and_dismissed(self, ledger: Ledger) -> None:
        """The first build of a view serves, one at a time does, and numbers never come again."""
        assert await ledger.builds() == []
        first = await ledger.enroll("v", sort="vectors", made_of="x")
        second = await ledger.enroll("v", sort="vectors", made_of="y")
        assert (first.serving, second.serving) == (True, False)
        assert await ledger.builds() == [first, second]
        await ledger.serve(second)
        assert [b.serving for b in await ledger.builds()] == [False, True]
        await ledger.mark(second, marks={(KEY, "p"): 3})
        await ledger.dismiss(second)
        assert await ledger.position(second.consumer) is None
        assert await ledger.holding(scope=KEY) == []
        with pytest.raises(NotFound):
            await ledger.serve(second)
        third = await ledger.enroll("v", sort="vectors", made_of="x")
        assert third.build > second.build

    async def test_a_build_begins_at_the_end_of_the_outbox(self, ledger: Ledger) -> None:
        """What was announced before is not announced to it."""
        build = await ledger.enroll("v", sort="vectors", made_of="x")
        assert await ledger.position(build.consumer) == await ledger.latest()

    async def test_marks_only_grow(self, ledger: Ledger) -> None:
        """A late, lower mark changes nothing; marks of other builds and parts are apart."""
        build = await ledger.enroll("v", sort="vectors", made_of="x")
        other = await ledger.enroll("w", sort="graph", made_of="x")
        await ledger.mark(build, marks={(KEY, "a"): 5, (KEY, "b"): 1})
        await ledger.mark(build, marks={(KEY, "a"): 4, (KEY, "b"): 2})
        asked = [(KEY, "a"), (KEY, "b"), (KEY, "c"), (OTHER, "a")]
        assert await ledger.marks(build, marks=asked) == {(KEY, "a"): 5, (KEY, "b"): 2}
        assert await ledger.marks(other, marks=asked) == {}
        assert await ledger.holding(scope=KEY) == [build]
        await ledger.unmark(build, scope=KEY)
        assert await ledger.marks(build, marks=asked) == {}
        assert await ledger.holding(scope=KEY) == []

    async def test_one_feeds_at_a_time(self, ledger: Ledger, clock: HandClock) -> None:
        """Until it resigns, or its time is over."""
        build = await ledger.enroll("v", sort="vectors", made_of="x")
        for _ in range(2):
            assert await ledger.elect(build, holder="a", at=clock(), seconds=30)
        assert not await ledger.elect(build, holder="b", at=clock(), seconds=30)
        await ledger.resign(build, holder="b")
        assert not await ledger.elect(build, holder="b", at=clock(), seconds=30)
        assert await ledger.elect(build, holder="b", at=clock.forward(30), seconds=30)
        assert not await ledger.elect(build, holder="a", at=clock(), seconds=30)
        await ledger.resign(build, holder="b")
        assert await ledger.elect(build, holder="a", at=clock(), seconds=30)

    async def test_values_are_sealed(self, ledger: Ledger) -> None:
        """The same value has the same seal, which is in hex digits and no scope's hash."""
        one, two, again = await ledger.seal(["falcon", "", "falcon"])
        assert one == again != two
        assert set(one) <= set("0123456789abcdef")
        assert await ledger.subject(scope=ALICE) not in {one, two}

    async def test_rows_come_without_their_vectors(self, ledger: Ledger) -> None:
        """All else is the same; vectors come by id, of the partition that is asked only."""
        some = [memory(f"Number {n}") for n in range(3)]
        await store(ledger, *some)
        whole, plain = await _rows(ledger, plain=False), await _rows(ledger, plain=True)
        assert plain.vectors == b""
        assert replace(whole, vectors=b"") == plain
        ids = [one.id for one in some]
        size = len(whole.vectors) // 3

        async def look(tx: Reading) -> object:
            habits = Partition(scope=ALICE, kind=Kind.PREFERENCE, agent="coder")
            assert await tx.vectors(ids, partition=habits) == {}
            return await tx.vectors([*ids, "m_0"], partition=FACTS)

        vectors = {one: whole.vectors[n * size : (n + 1) * size] for n, one in enumerate(whole.ids)}
        assert await ledger.read(look, scopes=[ALICE]) == vectors

    async def test_every_change_of_a_graph_is_noted(self, ledger: Ledger) -> None:
        """Whatever differs from before is among the changes since: names, ends, times, removals."""
        await ledger.enroll("v", sort="graph", made_of="x")
        kept, gone = memory("kept"), memory("gone")
        a, b, c = (entity(name, aliases=(f"{name}{name}",)) for name in "abc")
        await store(ledger, kept, gone)
        first, second = relation(a, b, kept), relation(c, b, gone)
        await graph(ledger, [a, b, c], [first, second])
        merges: list[str] = []

        async def rename(tx: Writing) -> None:
            await tx.put_entity(replace(a, aliases=("other",)))

        async def close(tx: Writing) -> None:
            await tx.put_relation(replace(first, valid_until=START, closed_at=START))

        async def merge(tx: Writing) -> None:
            merges.append(await tx.merge_entities(a.id, c.id, at=START, scope=ALICE))

        async def unmerge(tx: Writing) -> None:
            await tx.unmerge_entities(merges[0], scope=ALICE)

        async def remove(tx: Writing) -> None:
            await tx.remove([gone.id], scope=ALICE)

        for work in (rename, close, merge, unmerge, remove):
            before, since = await _graph(ledger), (await _changes(ledger)).position
            await ledger.write(work, scope=ALICE)
            after, changes = await _graph(ledger), await _changes(ledger, since=since)
            assert changes.position > since
            for was, now, told in (
                (before[0], after[0], changes.entities),
                (before[1], after[1], changes.relations),
            ):
                differs = {one for one in {*was, *now} if was.get(one) != now.get(one)}
                assert differs <= {*told}, work.__name__
        everything = await _changes(ledger)
        assert {*everything.entities} == {one for one, e in after[0].items() if not e.merged_into}
        assert {*everything.relations} == {*after[1]}

    async def test_only_ones_own_graph_is_noted(self, ledger: Ledger) -> None:
        """Promise 1: another scope's changes move nothing here; nor do any without a graph view."""
        kept = memory("kept")
        await store(ledger, kept)
        a, b = entity("a"), entity("b")
        await graph(ledger, [a, b], [relation(a, b, kept)])
        assert (await _changes(ledger)).position == 0
        await ledger.enroll("v", sort="graph", made_of="x")
        other = memory("other", scope=BOB)
        await store(ledger, other)
        ends = entity("a", scope=BOB), entity("b", scope=BOB)
        await graph(ledger, [*ends], [relation(*ends, other)])
        assert (await _changes(ledger)).position == 0
        assert (await _changes(ledger, scope=BOB)).position > 0


async def _rows(ledger: Ledger, *, plain: bool) -> Rows:
    async def look(tx: Reading) -> Rows:
        read = tx.plain_rows if plain else tx.rows
        return await read(partition=FACTS, since=None)

    return await ledger.read(look, scopes=[ALICE])


async def _changes(
    ledger: Ledger, *, since: int | None = None, scope: Scope = ALICE
) -> GraphChanges:
    async def look(tx: Reading) -> GraphChanges:
        changes = await tx.graph_changes(scope=scope, since=since)
        assert changes.position == await tx.graph_position(scope=scope)
        return changes

    return await ledger.read(look, scopes=[scope])


async def _graph(ledger: Ledger) -> Seen:
    changes = await _changes(ledger)

    async def look(tx: Reading) -> Seen:
        entities = await tx.entities_by_id(changes.entities, scope=ALICE)
        relations = await tx.relations(changes.relations, scope=ALICE)
        return entities, {one.id: replace(one, evidence=(), origins=()) for one in relations}

    return await ledger.read(look, scopes=[ALICE])
