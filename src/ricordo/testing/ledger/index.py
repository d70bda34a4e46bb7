"""What `Reading` and `Writing` promise about indexed rows."""

import struct
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from ricordo.errors import Invalid, SpaceMismatch
from ricordo.model import Indexed, Kind, Memory, Origin, Partition, Space, Status, UserScope
from ricordo.ports import Ledger, PartitionState, Rows, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    FACTS,
    OTHER_SPACE,
    SPACE,
    START,
    indexed,
    memory,
    preference,
    replace_with,
    rows,
    sound,
    store,
)
from ricordo.testing.sealed import Sealed

EARLIEST, LATEST = -(2**63), 2**63 - 1


def _micros(time: datetime) -> int:
    return round((time - START) / timedelta(microseconds=1)) + int(START.timestamp()) * 1_000_000


def _spans(found: Rows) -> dict[str, tuple[int, int]]:
    count = len(found.ids)
    since = struct.unpack(f"<{count}q", found.valid_from)
    until = struct.unpack(f"<{count}q", found.valid_until)
    return dict(zip(found.ids, zip(since, until, strict=True), strict=True))


def _place(found: Rows, of: Memory) -> tuple[int, ...]:
    at = list(found.ids).index(of.id)
    columns = (found.threads, found.said_at, found.recorded_at)
    return tuple(struct.unpack_from("<q", column, 8 * at)[0] for column in columns)


def _seeds(found: Rows) -> dict[str, int]:
    vectors = struct.iter_unpack("<4f", found.vectors)
    return {each: int(vector[0]) for each, vector in zip(found.ids, vectors, strict=True)}


async def _state(ledger: Ledger, of: Partition = FACTS) -> PartitionState:
    states = await ledger.read(lambda tx: tx.partitions(scope=of.scope), scopes=[of.scope])
    return next(state for state in states if state.partition == of)


async def _put(ledger: Ledger, each: Memory, row: Indexed | None, space: Space | None) -> None:
    await ledger.write(lambda tx: tx.put(each, indexed=row, space=space), scope=each.scope)


class IndexTests(Sealed):
    """Rows of partitions: packed, current, and told apart by generation."""

    async def test_rows_are_packed_in_one_order(self, ledger: Ledger) -> None:
        some = [memory(f"text {number}") for number in range(5)]
        await store(ledger, *some)
        found = await rows(ledger)
        assert (found.complete, found.space, list(found.removed)) == (True, SPACE, [])
        assert _seeds(found) == {each.id: seed for seed, each in enumerate(some, 1)}
        seeds = [_seeds(found)[each] for each in found.ids]
        assert found.vectors == b"".join(indexed(seed).vector for seed in seeds)
        assert found.terms == b"".join(indexed(seed).terms for seed in seeds)
        assert found.counts == struct.pack("<15H", *[1, 2, 3] * 5)
        assert found.sizes == struct.pack("<5I", *[3] * 5)
        assert found.lengths == struct.pack("<5I", *[6] * 5)

    async def test_rows_tell_where_they_stand_in_a_thread(self, ledger: Ledger) -> None:
        """By the first origin; a change of it is a change of the row."""
        hour = timedelta(hours=1)
        first = Origin(at=START + hour, thread_id="t_1")
        some = [
            replace(memory("one"), origins=(first,)),
            replace(memory("two"), origins=(Origin(at=START, thread_id="t_1"), first)),
            replace(memory("three"), origins=(Origin(at=START, thread_id="t_2"),)),
            replace(memory("four"), origins=(Origin(at=START),)),
            replace(memory("five"), origins=()),
        ]
        await store(ledger, *some)
        before = await rows(ledger)
        one, two, three, four, five = (_place(before, each) for each in some)
        assert one[0] == two[0] != three[0]
        assert (four[0], five[0]) == (0, 0)
        assert 0 not in (one[0], three[0])
        assert (one[1], two[1]) == (_micros(START + hour), _micros(START))
        assert five[1:] == (_micros(some[4].recorded_at),) * 2
        changed = replace(some[0], origins=some[2].origins, version=2)
        await _put(ledger, changed, None, None)
        after = await rows(ledger)
        assert after.generation > before.generation
        assert _place(after, changed)[:2] == three[:2]

    async def test_an_unknown_partition_is_empty(self, ledger: Ledger) -> None:
        found = await rows(ledger)
        assert (list(found.ids), found.generation, found.space, found.complete) == (
            [],
            0,
            None,
            True,
        )
        assert found.vectors == found.terms == found.sizes == b""

    @pytest.mark.parametrize("status", list(Status))
    async def test_only_active_and_superseded_rows_leave(
        self, ledger: Ledger, status: Status
    ) -> None:
        """Design promise 10: what waits for a person, or was rejected, is not recalled."""
        await store(ledger, memory(status=status))
        shown = status in (Status.ACTIVE, Status.SUPERSEDED)
        assert len((await rows(ledger)).ids) == int(shown)
        assert (await _state(ledger)).size == int(shown)

    async def test_validity_and_expiry_are_folded(self, ledger: Ledger) -> None:
        day, hour = timedelta(days=1), timedelta(hours=1)
        cases: list[tuple[dict[str, Any], tuple[int, int]]] = [
            ({}, (EARLIEST, LATEST)),
            ({"valid_from": START - day}, (_micros(START - day), LATEST)),
            ({"valid_until": START + day}, (EARLIEST, _micros(START + day))),
            (
                {"valid_until": START + day, "expires_at": START + hour},
                (EARLIEST, _micros(START + hour)),
            ),
            (
                {"valid_until": START + hour, "expires_at": START + day},
                (EARLIEST, _micros(START + hour)),
            ),
            ({"expires_at": START + hour, "pinned": True}, (EARLIEST, LATEST)),
        ]
        expected: dict[str, tuple[int, int]] = {}
        for number, (fields, span) in enumerate(cases):
            each = memory(f"text {number}", **fields)
            await store(ledger, each)
            expected[each.id] = span
        assert _spans(await rows(ledger)) == expected

    async def test_changes_since_a_generation_are_few(self, ledger: Ledger) -> None:
        kept, edited, gone, superseded, rejected = (memory(f"text {n}") for n in range(5))
        await store(ledger, kept, edited, gone, superseded, rejected)
        before = await rows(ledger)
        added = memory("new")
        await store(ledger, added, first_seed=9)
        await replace_with(ledger, replace(edited, text="edited", version=2), seed=8)
        await ledger.write(lambda tx: tx.remove([gone.id], scope=ALICE), scope=ALICE)
        until = START + timedelta(hours=1)
        await replace_with(
            ledger,
            replace(superseded, status=Status.SUPERSEDED, valid_until=until, version=2),
            seed=None,
        )
        await replace_with(ledger, replace(rejected, status=Status.REJECTED, version=2), seed=None)
        changed = await rows(ledger, since=before.generation)
        assert changed.generation > before.generation
        assert not changed.complete
        assert _seeds(changed) == {added.id: 9, edited.id: 8, superseded.id: 4}
        assert _spans(changed)[superseded.id] == (EARLIEST, _micros(until))
        assert sorted(changed.removed) == sorted([gone.id, rejected.id])
        nothing = await rows(ledger, since=changed.generation)
        assert (list(nothing.ids), list(nothing.removed), nothing.complete) == ([], [], False)
        await sound(ledger)

    @pytest.mark.parametrize("since", [-1, 10_000])
    async def test_a_generation_that_never_was_gets_everything(
        self, ledger: Ledger, since: int
    ) -> None:
        await store(ledger, memory())
        found = await rows(ledger, since=since)
        assert found.complete
        assert len(found.ids) == 1

    async def test_a_removed_memory_that_comes_back_is_not_listed_as_removed(
        self, ledger: Ledger
    ) -> None:
        known = memory()
        await store(ledger, known)
        before = await rows(ledger)
        await ledger.write(lambda tx: tx.remove([known.id], scope=ALICE), scope=ALICE)
        await store(ledger, known, first_seed=7)
        changed = await rows(ledger, since=before.generation)
        assert _seeds(changed) == {known.id: 7}
        assert list(changed.removed) == []

    async def test_many_removals_are_all_learned_of(self, ledger: Ledger) -> None:
        """However a cache lags, it learns of every removal, or is given everything anew."""
        some = [memory(f"text {number}") for number in range(400)]

        async def fill(tx: Writing) -> None:
            for each in some:
                await tx.put(each, indexed=indexed(1), space=SPACE)

        await ledger.write(fill, scope=ALICE)
        before = await rows(ledger)
        ids = [each.id for each in some]
        await ledger.write(lambda tx: tx.remove(ids[:399], scope=ALICE), scope=ALICE)
        after = await rows(ledger, since=before.generation)
        left = set(after.ids) if after.complete else set(before.ids) - set(after.removed)
        assert left == {ids[399]}
        assert (await _state(ledger)).size == 1

    async def test_only_what_is_indexed_moves_a_generation(self, ledger: Ledger) -> None:
        known = memory()
        await store(ledger, known)
        before = (await _state(ledger)).generation
        await replace_with(ledger, replace(known, importance=0.9, version=2), seed=None)
        assert (await _state(ledger)).generation == before
        await replace_with(
            ledger, replace(known, valid_until=START, importance=0.9, version=3), seed=None
        )
        assert (await _state(ledger)).generation > before

    async def test_partitions_are_apart(self, ledger: Ledger) -> None:
        """Design promise 2: each agent's preferences lie by themselves."""
        mine, theirs = preference("a", agent="coder"), preference("a", agent="Coder")
        others = memory("a", scope=BOB)
        await store(ledger, mine, theirs, others)
        states = await ledger.read(lambda tx: tx.partitions(scope=ALICE), scopes=[ALICE])
        assert {state.partition for state in states} == {mine.partition, theirs.partition}
        assert list((await rows(ledger, of=mine.partition)).ids) == [mine.id]
        assert list((await rows(ledger, of=theirs.partition)).ids) == [theirs.id]
        assert list((await rows(ledger, of=others.partition)).ids) == [others.id]
        assert list((await rows(ledger)).ids) == []

    async def test_a_text_without_its_row_is_not_found_by_the_old_one(self, ledger: Ledger) -> None:
        """Put: a row is kept while text and partition stay the same, not longer."""
        known = memory("old")
        await store(ledger, known)
        before = await rows(ledger)
        await replace_with(ledger, replace(known, text="new", version=2), seed=None)
        assert list((await rows(ledger)).ids) == []
        assert list((await rows(ledger, since=before.generation)).removed) == [known.id]

    async def test_a_partition_that_lost_everything_is_known_to_be_empty(
        self, ledger: Ledger
    ) -> None:
        """Whoever knew many rows that are all gone is told so, by a list or by reading all anew."""
        many = [memory(f"number {number}") for number in range(100)]

        async def work(tx: Writing) -> None:
            for each in many:
                await tx.put(each, indexed=indexed(1), space=SPACE)

        await ledger.write(work, scope=ALICE)
        before = await rows(ledger)
        assert len(before.ids) == len(many)
        await ledger.write(lambda tx: tx.remove([m.id for m in many], scope=ALICE), scope=ALICE)
        later = await rows(ledger, since=before.generation)
        assert not later.ids
        assert later.complete or set(later.removed) == {each.id for each in many}
        assert later.generation > before.generation
        await store(ledger, many[0])
        assert list((await rows(ledger, since=before.generation)).ids) == [many[0].id]

    async def test_another_partition_takes_the_row_away(self, ledger: Ledger) -> None:
        known = memory("fact")
        await store(ledger, known)
        moved = replace(known, kind=Kind.PREFERENCE, agent="coder", version=2)
        await replace_with(ledger, moved, seed=5)
        assert list((await rows(ledger)).ids) == []
        assert _seeds(await rows(ledger, of=moved.partition)) == {known.id: 5}
        await sound(ledger)

    async def test_a_row_of_another_space_is_refused(self, ledger: Ledger) -> None:
        """Put: `SpaceMismatch`, and nothing of the memory is stored."""
        await store(ledger, memory("one"))
        two = memory("two")
        with pytest.raises(SpaceMismatch, match="reindex"):
            await _put(ledger, two, indexed(2), OTHER_SPACE)
        assert len((await rows(ledger)).ids) == 1
        await _put(ledger, memory("b", scope=BOB), indexed(2), OTHER_SPACE)

    async def test_a_row_must_fit_its_space(self, ledger: Ledger) -> None:
        row = indexed()
        with pytest.raises(SpaceMismatch):
            await _put(ledger, memory(), replace(row, vector=row.vector[:-4]), SPACE)
        with pytest.raises(Invalid):
            await _put(ledger, memory(), replace(row, counts=row.counts[:-2]), SPACE)
        with pytest.raises(Invalid):
            await _put(ledger, memory(), row, None)

    async def test_what_is_not_indexed_yet_can_be_listed_and_mended(self, ledger: Ledger) -> None:
        """Stale and restore: a partition changes space row by row; none is lost."""
        plain, first, second = memory("plain"), memory("first"), memory("second")
        await replace_with(ledger, plain, seed=None)
        await store(ledger, first, second, memory("b", scope=BOB))
        before = await rows(ledger)
        (missing,) = await ledger.stale(space=SPACE, after="", limit=10)
        assert (missing.memory_id, missing.text, missing.scope) == (plain.id, "plain", ALICE)
        listed = await ledger.stale(space=OTHER_SPACE, after="", limit=3)
        assert len(listed) == 3
        rest = await ledger.stale(space=OTHER_SPACE, after=listed[-1].memory_id, limit=10)
        everything = [*listed, *rest]
        assert len({each.memory_id for each in everything}) == 4
        mine = [each for each in everything if each.scope == ALICE]
        assert await ledger.spaces() == [SPACE]
        await ledger.restore([(mine[0], indexed(11))], space=OTHER_SPACE)
        assert await ledger.spaces() == [SPACE, OTHER_SPACE]
        found = await rows(ledger, since=before.generation)
        assert (found.complete, found.space) == (True, OTHER_SPACE)
        assert _seeds(found) == {mine[0].memory_id: 11}
        assert (await _state(ledger)).size == 1
        await ledger.restore([(mine[1], indexed(12)), (mine[2], indexed(13))], space=OTHER_SPACE)
        assert sorted(_seeds(await rows(ledger)).values()) == [11, 12, 13]
        assert [e.scope for e in await ledger.stale(space=OTHER_SPACE, after="", limit=9)] == [BOB]
        await sound(ledger)

    async def test_a_row_made_from_an_older_text_is_left_stale(self, ledger: Ledger) -> None:
        known = memory("old")
        await store(ledger, known)
        (listed,) = await ledger.stale(space=OTHER_SPACE, after="", limit=10)
        await replace_with(ledger, replace(known, text="new", version=2), seed=2)
        await ledger.restore([(listed, indexed(3))], space=OTHER_SPACE)
        assert _seeds(await rows(ledger)) == {known.id: 2}
        assert len(await ledger.stale(space=OTHER_SPACE, after="", limit=10)) == 1

    async def test_stale_rows_of_one_id_in_two_scopes_are_both_listed(self, ledger: Ledger) -> None:
        for user in ("a", "b", "c"):
            scope = UserScope(tenant="acme", user=user)
            await replace_with(ledger, memory(id="m_same", scope=scope), seed=None)
        listed = await ledger.stale(space=SPACE, after="", limit=1)
        rest = await ledger.stale(space=SPACE, after=listed[-1].memory_id, limit=10)
        assert len({str(each.scope) for each in [*listed, *rest]}) == 3
