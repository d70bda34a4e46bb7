"""Conformance of vector indexes: one sealed suite; a backend adds only the fixture `bench`."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest

from ricordo.errors import SpaceMismatch
from ricordo.model import (
    Dates,
    Hits,
    Kind,
    OrganizationScope,
    Partition,
    Sought,
    Space,
    UserScope,
    Weights,
)
from ricordo.ports import Ledger, PartitionState, VectorIndex, Writing
from ricordo.testing.naive import NOON, SPACE, Doc, bm25, cosines, unit
from ricordo.testing.sealed import Sealed

ALICE = UserScope(tenant="acme", user="alice")
BOB = UserScope(tenant="acme", user="bob")
PLATFORM = OrganizationScope(tenant="acme", namespace="platform")

FACTS = Partition(scope=ALICE, kind=Kind.FACT)
HABITS = Partition(scope=ALICE, kind=Kind.PREFERENCE, agent="coder")
DOCUMENTED = Partition(scope=PLATFORM, kind=Kind.FACT)
FOREIGN = Partition(scope=BOB, kind=Kind.FACT)

TOLERANCE = 1e-6

EVERY = Weights(
    meaning=0.1,
    words=0.8,
    before=0.04,
    earlier=0.03,
    after=0.05,
    sitting_meaning=0.06,
    sitting_words=0.9,
    date=0.3,
    unknown=2.0,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexBench:
    """What a backend brings.

    Args:
        ledger: empty; memories are written to it.
        elsewhere: the same ledger, opened once more, as another process would.
        index: the index under test over `ledger`, in `ricordo.testing.naive.SPACE`.
        make: another index over `ledger`, cold, in a given space.
    """

    ledger: Ledger
    elsewhere: Ledger
    index: VectorIndex
    make: Callable[[Space], VectorIndex]


async def put(
    ledger: Ledger,
    partition: Partition,
    *docs: Doc,
    version: int = 1,
    space: Space = SPACE,
) -> None:
    """Write documents, in one transaction."""

    async def work(tx: Writing) -> None:
        for doc in docs:
            memory = doc.memory(partition, version=version)
            await tx.put(memory, indexed=doc.indexed(), space=space)

    await ledger.write(work, scope=partition.scope)


async def remove(ledger: Ledger, partition: Partition, *ids: str) -> None:
    """Remove memories, in one transaction."""

    async def work(tx: Writing) -> None:
        await tx.remove(ids, scope=partition.scope)

    await ledger.write(work, scope=partition.scope)


def assert_as_defined(
    hits: Hits, docs: Sequence[Doc], sought: Sought, *, limit: int, at: datetime | None
) -> None:
    """Check an answer against the definition, up to rounding."""
    shown = [doc for doc in docs if doc.shown(at)]
    meaning, words = cosines(shown, sought), bm25(shown, sought.words)
    found = {hit.memory_id: hit for hit in hits.hits}
    assert hits.visible == len(shown)
    assert len(found) == len(hits.hits)
    assert found.keys() <= meaning.keys()
    for memory_id, hit in found.items():
        assert hit.cosine == pytest.approx(meaning[memory_id], abs=TOLERANCE)
        assert hit.bm25 == pytest.approx(words[memory_id], abs=TOLERANCE)
    if not shown:
        return
    highest = max((hit.bm25 for hit in hits.hits), default=0.0)
    assert highest == pytest.approx(max(words.values()), abs=TOLERANCE)
    if sought.vector is not None:
        nearest = max(hit.cosine for hit in hits.hits)
        assert nearest == pytest.approx(max(meaning.values()), abs=TOLERANCE)
    signals = [words] if sought.vector is None else [meaning, words]
    for scores in signals:
        bar = sorted(scores.values(), reverse=True)[: limit + 1][-1]
        sure = {i for i, score in scores.items() if score > bar + TOLERANCE}
        assert sure <= found.keys(), "one of the best by a signal is missing"


class VectorIndexSuite(Sealed):
    """The promises of `ricordo.ports.VectorIndex`, by number."""

    async def test_nothing_is_found_where_nothing_is(self, bench: IndexBench) -> None:
        """1: an empty partition, an unknown one and none at all are no error."""
        sought = Sought(vector=unit((1,) * 8), words=((1,),))
        for asked in ([], [FACTS], [FACTS, HABITS, DOCUMENTED]):
            hits = await bench.index.search(sought, partitions=asked, limit=5, at=NOON)
            assert hits == Hits()

    async def test_a_vector_may_come_later(self, bench: IndexBench) -> None:
        """Search: answers are the same as if it had been there; without one, words alone find."""
        await put(bench.ledger, FACTS, *(_doc(f"m_{number}", number) for number in range(9)))
        vector, words = _doc("q", 3).indexed().vector, ((1,), (3, 4))

        async def coming(later: bytes | None) -> bytes | None:
            await asyncio.sleep(0)
            return later

        for later in (vector, None):
            at_once = await bench.index.search(
                Sought(vector=later, words=words), partitions=[FACTS], limit=4, at=NOON
            )
            late = await bench.index.search(
                Sought(vector=None, words=words),
                partitions=[FACTS],
                limit=4,
                at=NOON,
                coming=asyncio.ensure_future(coming(later)),
            )
            assert late == at_once
            assert late.hits
        with pytest.raises(SpaceMismatch):
            await bench.index.search(
                Sought(vector=None),
                partitions=[FACTS],
                limit=4,
                at=NOON,
                coming=asyncio.ensure_future(coming(b"\0" * 4)),
            )

    async def test_only_asked_partitions_count(self, bench: IndexBench) -> None:
        """1: other partitions, even of the same person, are neither returned nor counted."""
        await put(bench.ledger, FACTS, _doc("m_1", 1), _doc("m_2", 2))
        await put(bench.ledger, HABITS, _doc("m_3", 3))
        await put(bench.ledger, FOREIGN, _doc("m_4", 1))
        sought = Sought(vector=_doc("q", 1).indexed().vector, words=((1,),))
        hits = await bench.index.search(sought, partitions=[FACTS], limit=5, at=NOON)
        assert {hit.memory_id for hit in hits.hits} == {"m_1", "m_2"}
        assert {hit.partition for hit in hits.hits} == {FACTS}
        assert hits.visible == 2

    async def test_answers_do_not_depend_on_other_scopes(self, bench: IndexBench) -> None:
        """Promise 1: an answer is the same, to the last bit, whatever others write."""
        await put(bench.ledger, FACTS, *(_doc(f"m_{i}", i) for i in range(1, 8)))
        await put(bench.ledger, DOCUMENTED, _doc("m_8", 8))
        sought = Sought(vector=_doc("q", 3).indexed().vector, words=((1,), (3, 4)))
        asked = [FACTS, DOCUMENTED]
        before = await bench.index.search(sought, partitions=asked, limit=3, at=NOON)
        await put(bench.ledger, FOREIGN, *(_doc(f"x_{i}", i) for i in range(1, 40)))
        await put(bench.elsewhere, HABITS, *(_doc(f"y_{i}", i) for i in range(1, 9)))
        assert await bench.index.search(sought, partitions=asked, limit=3, at=NOON) == before

    async def test_statistics_span_all_asked_partitions(self, bench: IndexBench) -> None:
        """3: rarity and average length are those of everything that the asker may see."""
        docs = [_doc(f"m_{i}", i) for i in range(1, 10)]
        await put(bench.ledger, FACTS, *docs[:4])
        await put(bench.ledger, DOCUMENTED, *docs[4:])
        sought = Sought(vector=_doc("q", 5).indexed().vector, words=((1,), (2,), (7, 8)))
        asked = [FACTS, DOCUMENTED]
        hits = await bench.index.search(sought, partitions=asked, limit=4, at=NOON)
        assert_as_defined(hits, docs, sought, limit=4, at=NOON)

    async def test_a_word_counts_once_by_its_best_alternative(self, bench: IndexBench) -> None:
        """3: two forms of one word in a memory do not count twice."""
        docs = [
            Doc(id="m_1", direction=(1,) * 8, words={1: 2, 2: 1}),
            Doc(id="m_2", direction=(1,) * 8, words={1: 2, 9: 1}),
        ]
        await put(bench.ledger, FACTS, *docs)
        sought = Sought(vector=None, words=((1, 2),))
        hits = await bench.index.search(sought, partitions=[FACTS], limit=4, at=NOON)
        assert hits.hits[0].bm25 == hits.hits[1].bm25 > 0
        assert_as_defined(hits, docs, sought, limit=4, at=NOON)

    async def test_without_a_vector_words_decide(self, bench: IndexBench) -> None:
        """3: a question without a vector is searched by words only; cosines are 0."""
        docs = [_doc(f"m_{i}", i) for i in range(1, 6)]
        await put(bench.ledger, FACTS, *docs)
        sought = Sought(vector=None, words=((6,),))
        hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
        assert [hit.memory_id for hit in hits.hits] == ["m_5"]
        assert ([hit.cosine for hit in hits.hits], hits.visible) == ([0.0], 5)

    async def test_ties_are_broken_by_id(self, bench: IndexBench) -> None:
        """3: of equally good memories those of the smallest ids are taken, always the same."""
        twins = [Doc(id=f"m_{i}", direction=(1,) * 8, words={1: 1}) for i in (5, 3, 9, 1, 7)]
        await put(bench.ledger, FACTS, *twins)
        sought = Sought(vector=unit((1,) * 8), words=((1,),))
        hits = await bench.index.search(sought, partitions=[FACTS], limit=3, at=NOON)
        assert [hit.memory_id for hit in hits.hits] == ["m_1", "m_3", "m_5"]

    async def test_only_what_is_valid_then_is_visible(self, bench: IndexBench) -> None:
        """3 and promise 12: what is not valid at the asked instant is neither found nor counted."""
        hour = timedelta(hours=1)
        docs = [
            Doc(id="m_1", direction=(1,) * 8, words={1: 1}, valid_until=NOON),
            Doc(id="m_2", direction=(1,) * 8, words={1: 1}, valid_from=NOON),
            Doc(id="m_3", direction=(2, 1) * 4, words={1: 3}, expires_at=NOON + hour),
        ]
        await put(bench.ledger, FACTS, *docs)
        sought = Sought(vector=unit((1,) * 8), words=((1,),))
        for at, ids in (
            (NOON - hour, {"m_1", "m_3"}),
            (NOON, {"m_2", "m_3"}),
            (NOON + hour, {"m_2"}),
            (None, {"m_1", "m_2", "m_3"}),
        ):
            hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=at)
            assert {hit.memory_id for hit in hits.hits} == ids
            assert_as_defined(hits, docs, sought, limit=9, at=at)

    async def test_writes_of_anybody_are_seen_at_once(self, bench: IndexBench) -> None:
        """2: additions, changes and removals, here or in another process, are seen next time."""
        sought = Sought(vector=_doc("q", 2).indexed().vector, words=((2,),))

        async def found() -> Hits:
            return await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)

        await put(bench.elsewhere, FACTS, _doc("m_1", 1))
        assert (await found()).visible == 1
        await put(bench.ledger, FACTS, _doc("m_2", 2))
        assert (await found()).hits[0].memory_id == "m_2"
        await put(bench.elsewhere, FACTS, Doc(id="m_1", direction=(1,) * 8), version=2)
        assert_as_defined(
            await found(),
            [Doc(id="m_1", direction=(1,) * 8), _doc("m_2", 2)],
            sought,
            limit=9,
            at=NOON,
        )
        await remove(bench.elsewhere, FACTS, "m_2")
        assert [hit.memory_id for hit in (await found()).hits] == ["m_1"]
        await remove(bench.ledger, FACTS, "m_1")
        assert await found() == Hits()

    async def test_what_the_caller_has_read_is_not_read_again(self, bench: IndexBench) -> None:
        """2: with the states at hand the same is found; all is seen that was there when they were
        read, whoever wrote it, and nothing is found in what was empty then."""
        sought = Sought(vector=_doc("q", 2).indexed().vector, words=((2,),))

        async def states() -> Sequence[PartitionState]:
            return await bench.ledger.read(lambda tx: tx.partitions(scope=ALICE), scopes=[ALICE])

        async def found(known: Sequence[PartitionState] | None) -> Hits:
            return await bench.index.search(
                sought, partitions=[FACTS, HABITS], limit=9, at=NOON, states=known
            )

        assert await found(await states()) == Hits()
        for number in (1, 2, 3):
            await put(bench.elsewhere, FACTS, _doc(f"m_{number}", number))
            assert await found(await states()) == await found(None)
        await put(bench.elsewhere, HABITS, _doc("m_4", 4))
        await remove(bench.elsewhere, FACTS, "m_1")
        known = await states()
        assert await found(known) == await found(None)
        pairs = ["m_1", "m_2", "m_3", "m_4"]
        parts = [FACTS, HABITS]
        alike = await bench.index.similarity(pairs, partitions=parts, states=known)
        again = await bench.index.similarity(pairs, partitions=parts)
        assert set(alike) == {("m_2", "m_3"), ("m_2", "m_4"), ("m_3", "m_4")}
        assert {pair: alike[pair] for pair in alike} == {pair: again[pair] for pair in again}

    async def test_an_erased_scope_that_begins_anew_is_anew(self, bench: IndexBench) -> None:
        """2 and promise 11: nothing cached survives an erasure, however many changes follow it."""
        sought = Sought(vector=_doc("q", 1).indexed().vector)

        async def erase(tx: Writing) -> None:
            await tx.erase(scope=ALICE, at=NOON - timedelta(days=1))

        await put(bench.ledger, FACTS, _doc("m_1", 1))
        first = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
        assert [hit.memory_id for hit in first.hits] == ["m_1"]
        await bench.elsewhere.write(erase, scope=ALICE)
        await put(bench.elsewhere, FACTS, _doc("m_2", 2))
        again = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
        assert [hit.memory_id for hit in again.hits] == ["m_2"]

    async def test_a_warm_index_answers_like_a_cold_one(self, bench: IndexBench) -> None:
        """3: the answer depends on what is stored, to the last bit, not on how it got loaded."""
        sought = Sought(vector=_doc("q", 5).indexed().vector, words=((1,), (5, 6)))
        for start in range(0, 60, 20):
            await put(bench.ledger, FACTS, *(_doc(f"m_{i}", i) for i in range(start, start + 20)))
            await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            await put(bench.elsewhere, FACTS, _doc(f"m_{start}", start + 3), version=2)
            await remove(bench.elsewhere, FACTS, f"m_{start + 1}")
            warm = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            cold = await bench.make(SPACE).search(sought, partitions=[FACTS], limit=9, at=NOON)
            assert warm == cold

    async def test_signals_are_the_same_warm_and_cold(self, bench: IndexBench) -> None:
        """3 and promise 1: so is what neighbours, sittings and dates add; others change nothing."""
        sought = Sought(
            vector=_doc("q", 5).indexed().vector,
            words=((1,), (5, 6)),
            weights=EVERY,
            dates=Dates(years=(NOON.year,), months=(NOON.month,), days=(NOON.day,)),
        )
        for start in range(0, 60, 20):
            await put(bench.ledger, FACTS, *(_turn(i) for i in range(start, start + 20)))
            await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            await put(bench.elsewhere, FACTS, _turn(start, like=start + 3), version=2)
            await remove(bench.elsewhere, FACTS, f"m_{start + 1}")
            warm = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            await put(bench.elsewhere, FOREIGN, *(_turn(i) for i in range(start, start + 9)))
            cold = await bench.make(SPACE).search(sought, partitions=[FACTS], limit=9, at=NOON)
            assert warm == cold
            assert any(hit.nearby for hit in warm.hits)

    async def test_neighbours_count_while_they_are_visible(self, bench: IndexBench) -> None:
        """1: what was said around a memory speaks for it, unless the asker may not see it now."""
        hour = timedelta(hours=1)
        answer = Doc(id="m_2", direction=(1, 0) * 4, words={2: 1}, thread="t")
        asked = Doc(
            id="m_1", direction=(0, 1) * 4, words={1: 1}, thread="t", valid_until=NOON + hour
        )
        later = Doc(
            id="m_3", direction=(0, 1) * 4, words={1: 1}, thread="t", said_at=NOON + 9 * hour
        )
        stranger = Doc(id="m_4", direction=(1, 0) * 4, words={2: 1}, thread="other")
        await put(bench.ledger, FACTS, answer, asked, later, stranger)
        sought = Sought(vector=unit((0, 1) * 4), words=((1,),), weights=EVERY)
        for at, helped in ((NOON, True), (NOON + hour, False)):
            hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=at)
            found = {hit.memory_id: hit for hit in hits.hits}
            assert found["m_2"].in_company is helped
            assert (found["m_2"].fused > found["m_4"].fused) is helped
            assert not found["m_3"].in_company, "hours later is another sitting"
            assert not found["m_4"].in_company
        assert hits.visible == 3

    async def test_words_count_by_the_share_that_they_match(self, bench: IndexBench) -> None:
        """3: of the same match less is left when the question has words that occur nowhere."""
        await put(bench.ledger, FACTS, *(_doc(f"m_{i}", i) for i in range(1, 9)))
        shares: list[float] = []
        for words in (((5,),), ((5,), (77,)), ((5,), (77,), (78,)), ((77,),)):
            sought = Sought(vector=None, words=words, weights=Weights(words=1.0))
            hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            shares.append(max(hit.words for hit in hits.hits))
        assert 1.0 > shares[0] > shares[1] > shares[2] > shares[3] == 0.0

    async def test_meaning_counts_more_where_words_are_unknown(self, bench: IndexBench) -> None:
        """3: the less of a question's words any memory holds, the more its meaning counts."""
        await put(bench.ledger, FACTS, *(_doc(f"m_{i}", i) for i in range(1, 9)))
        totals: list[float] = []
        for words, part in ((((5,),), 0), (((5,), (77,)), 1 / 6), (((77,),), 1), ((), 1)):
            sought = Sought(
                vector=_doc("q", 5).indexed().vector,
                words=words,
                weights=Weights(meaning=1.0, unknown=2.0),
            )
            hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            totals.append(sum(hit.emphasis for hit in hits.hits))
            for hit in hits.hits:
                expected = part * 2 * max(hit.meaning - 1, 0)
                assert hit.emphasis == pytest.approx(expected, abs=1e-5)
        assert 0 == totals[0] < totals[1] < totals[2] == totals[3]

    async def test_named_dates_count(self, bench: IndexBench) -> None:
        """3: what was said in the named month counts, on the named day twice."""
        days = (0, 1, 40, 365)
        await put(
            bench.ledger,
            FACTS,
            *(
                Doc(id=f"m_{day}", direction=(1,) * 8, said_at=NOON + timedelta(days=day))
                for day in days
            ),
        )
        weights = Weights(date=1.0)
        for dates, expected in (
            (Dates(), {0: 0, 1: 0, 40: 0, 365: 0}),
            (Dates(months=(NOON.month,)), {0: 1, 1: 1, 40: 0, 365: 1}),
            (Dates(years=(NOON.year,), months=(NOON.month,)), {0: 1, 1: 1, 40: 0, 365: 0}),
            (Dates(months=(NOON.month,), days=(NOON.day,)), {0: 2, 1: 1, 40: 0, 365: 2}),
        ):
            sought = Sought(vector=unit((1,) * 8), weights=weights, dates=dates)
            hits = await bench.index.search(sought, partitions=[FACTS], limit=9, at=NOON)
            assert {hit.memory_id: hit.date for hit in hits.hits} == {
                f"m_{day}": score for day, score in expected.items()
            }

    async def test_concurrent_searches_agree(self, bench: IndexBench) -> None:
        """2: many searches at once, of a cold partition, give the same answer."""
        await put(bench.ledger, FACTS, *(_doc(f"m_{i}", i) for i in range(50)))
        sought = Sought(vector=_doc("q", 5).indexed().vector, words=((5,),))
        answers = await asyncio.gather(
            *(bench.index.search(sought, partitions=[FACTS], limit=5, at=NOON) for _ in range(16))
        )
        assert all(answer == answers[0] for answer in answers)
        assert answers[0].visible == 50

    async def test_a_foreign_space_is_refused_with_the_way_out(self, bench: IndexBench) -> None:
        """Rows of another model or analyzer are never compared; the message names both spaces."""
        await put(bench.ledger, FACTS, _doc("m_1", 1))
        other = Space(model="other", dimension=8, transform="none", words="test")
        with pytest.raises(SpaceMismatch) as raised:
            await bench.make(other).search(
                Sought(vector=unit((1,) * 8)), partitions=[FACTS], limit=5, at=NOON
            )
        for part in ("test", "other", "ricordo reindex"):
            assert part in str(raised.value)

    async def test_similarity_of_what_is_gone_is_unknown(self, bench: IndexBench) -> None:
        """It may be forgotten between a search and this question."""
        assert not await bench.index.similarity(["m_gone", "m_away"], partitions=[])

    async def test_similarity_covers_every_pair(self, bench: IndexBench) -> None:
        """3: the cosine of each pair of known memories; others are left out."""
        await put(bench.ledger, FACTS, _doc("m_1", 1), _doc("m_2", 2))
        await put(bench.ledger, HABITS, Doc(id="m_3", direction=_doc("", 1).direction))
        await put(bench.ledger, FOREIGN, _doc("m_4", 4))
        alike = await bench.index.similarity(
            ["m_3", "m_1", "m_2", "m_4", "m_9"], partitions=[FACTS, HABITS]
        )
        assert set(alike) == {("m_3", "m_1"), ("m_3", "m_2"), ("m_1", "m_2")}
        assert alike["m_3", "m_1"] == pytest.approx(1.0, abs=TOLERANCE)
        assert alike["m_3", "m_2"] == pytest.approx(alike["m_1", "m_2"], abs=TOLERANCE)
        assert alike["m_1", "m_2"] < 1


def _turn(number: int, *, like: int | None = None) -> Doc:
    """One of a long chat: threads of five, some said at once, some of two sittings."""
    said_at = NOON + timedelta(minutes=number // 2, hours=12 * (number % 10 > 6))
    doc = _doc(f"m_{number}", number if like is None else like)
    return replace(doc, thread=f"t_{number // 5}", said_at=said_at)


def _doc(memory_id: str, number: int) -> Doc:
    """A document that differs from the others in meaning, words and length."""
    direction = tuple((number * (place + 3) + place * place) % 17 - 8 for place in range(7))
    words = {1: 1 + number % 3, number: 1, number + 1: 2, 1000 + number % 5: number % 7 + 1}
    return Doc(id=memory_id, direction=(*direction, 1), words=words)
