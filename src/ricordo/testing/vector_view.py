"""Conformance of vector views: one sealed suite; a backend adds only the fixture `bench`."""

import hashlib
import random
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import pytest

from ricordo.errors import Invalid
from ricordo.ports import Point, VectorView
from ricordo.testing.sealed import Sealed

DIMENSION = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorViewBench:
    """What a backend brings.

    Args:
        view: open and empty, for vectors of `DIMENSION` numbers.
        again: the same build, opened once more after `view` was closed.
        other: another build in the same engine, open and empty.
    """

    view: VectorView
    again: Callable[[], Awaitable[VectorView]]
    other: Callable[[], Awaitable[VectorView]]


def key(name: str) -> str:
    """A keyed hash, as views know scopes and partitions."""
    return hashlib.sha256(name.encode()).hexdigest()


ALICE, BOB = key("alice"), key("bob")


def vector(*direction: float) -> bytes:
    """A unit vector of that direction; further numbers are 0."""
    numbers = [*direction, *[0.0] * (DIMENSION - len(direction))]
    norm = sum(x * x for x in numbers) ** 0.5
    return struct.pack(f"<{DIMENSION}f", *(x / norm for x in numbers))


def point(memory_id: str, *direction: float, part: str = "facts", version: str = "1") -> Point:
    """A memory in a direction, in a part of that name."""
    return Point(memory_id=memory_id, part=key(part), vector=vector(*direction), version=version)


class VectorViewSuite(Sealed):
    """The promises of `ricordo.ports.View` and `VectorView`, by number."""

    async def test_the_nearest_of_a_part_are_found_in_order(self, bench: VectorViewBench) -> None:
        """5: nearest first, no more than asked, and nothing of another part."""
        near, next_, far = point("m_1", 1, 0), point("m_2", 1, 1), point("m_3", 0, 1)
        await bench.view.upsert([far, near, next_], scope=ALICE, fresh=True)
        await bench.view.upsert([point("m_4", 1, 0, part="habits")], scope=ALICE, fresh=True)
        await bench.view.upsert([point("m_5", 1, 0, part="bob")], scope=BOB, fresh=True)
        asked = vector(1, 0.1)
        found = await bench.view.search(asked, part=key("facts"), limit=2)
        assert list(found) == ["m_1", "m_2"]
        whole = await bench.view.search(asked, part=key("facts"), limit=9)
        assert list(whole) == ["m_1", "m_2", "m_3"]
        assert list(await bench.view.search(asked, part=key("nobody"), limit=9)) == []

    async def test_a_small_part_does_not_starve(self, bench: VectorViewBench) -> None:
        """5: it is found whole, although very many others are nearer."""
        crowd = [point(f"x_{n}", 1, n / 1_000, part="crowd") for n in range(60)]
        mine = [point(f"m_{n}", -1, n / 10) for n in range(5)]
        await bench.view.upsert(crowd, scope=BOB, fresh=True)
        await bench.view.upsert(mine, scope=ALICE, fresh=True)
        found = await bench.view.search(vector(1), part=key("facts"), limit=5)
        assert set(found) == {f"m_{n}" for n in range(5)}

    async def test_recall_is_exact_enough(self, bench: VectorViewBench) -> None:
        """5: of the ten nearest, at least nine and a half are found on average."""
        random_ = random.Random(7)
        points = [
            point(f"m_{n}", *(random_.gauss(0, 1) for _ in range(DIMENSION))) for n in range(150)
        ]
        await bench.view.upsert(points, scope=ALICE, fresh=True)
        hits = 0
        for _ in range(10):
            asked = vector(*(random_.gauss(0, 1) for _ in range(DIMENSION)))
            nearest = sorted(points, key=lambda p: -_dot(p.vector, asked))[:10]
            found = await bench.view.search(asked, part=key("facts"), limit=10)
            hits += len({p.memory_id for p in nearest}.intersection(found))
        assert hits >= 95

    async def test_putting_again_replaces(self, bench: VectorViewBench) -> None:
        """1: the same point twice is one point; a changed one takes its place."""
        await bench.view.upsert([point("m_1", 1, 0)], scope=ALICE, fresh=True)
        for _ in range(2):
            changed = [point("m_1", 0, 1, version="2"), point("m_2", 1, 0)]
            await bench.view.upsert(changed, scope=ALICE, fresh=False)
        assert dict(await bench.view.inventory(ALICE)) == {"m_1": "2", "m_2": "1"}
        found = await bench.view.search(vector(0, 1), part=key("facts"), limit=5)
        assert list(found) == ["m_1", "m_2"]
        await bench.view.upsert([point("m_1", 1, part="habits")], scope=ALICE, fresh=False)
        assert list(await bench.view.search(vector(1), part=key("facts"), limit=5)) == ["m_2"]

    async def test_what_was_removed_is_nowhere(self, bench: VectorViewBench) -> None:
        """3 and promise 11: in no answer and no inventory; removing it twice is no error."""
        await bench.view.upsert([point("m_1", 1), point("m_2", 1)], scope=ALICE, fresh=True)
        for _ in range(2):
            await bench.view.remove(["m_1", "m_0"], scope=ALICE)
        assert list(await bench.view.search(vector(1), part=key("facts"), limit=5)) == ["m_2"]
        assert list(await bench.view.inventory(ALICE)) == ["m_2"]

    async def test_one_scope_does_not_touch_another(self, bench: VectorViewBench) -> None:
        """4 and promise 1: ids are a scope's own; dropping one leaves the other as it was."""
        await bench.view.upsert([point("m_1", 1)], scope=ALICE, fresh=True)
        await bench.view.upsert([point("m_1", 0, 1, part="bob")], scope=BOB, fresh=True)
        await bench.view.remove(["m_1"], scope=key("nobody"))
        assert await bench.view.scopes() == {ALICE, BOB}
        await bench.view.drop(ALICE)
        assert await bench.view.scopes() == {BOB}
        assert dict(await bench.view.inventory(ALICE)) == {}
        assert list(await bench.view.search(vector(1), part=key("facts"), limit=5)) == []
        assert list(await bench.view.search(vector(1), part=key("bob"), limit=5)) == ["m_1"]

    async def test_a_large_scope_is_listed_and_dropped_whole(self, bench: VectorViewBench) -> None:
        """3: more than engines list or delete at once by default."""
        points = [point(f"m_{n}", 1, n / 130) for n in range(130)]
        await bench.view.upsert(points, scope=ALICE, fresh=True)
        assert len(await bench.view.inventory(ALICE)) == 130
        await bench.view.drop(ALICE)
        assert dict(await bench.view.inventory(ALICE)) == {}

    @pytest.mark.parametrize("name", ["*", "", "%", "a OR 1=1", '"', "A" * 64, "{}", "ab' --"])
    async def test_no_pattern_is_ever_asked_for(self, bench: VectorViewBench, name: str) -> None:
        """4 and promise 1: what is no keyed hash is refused before an engine sees it."""
        await bench.view.upsert([point("m_1", 1)], scope=ALICE, fresh=True)
        with pytest.raises(Invalid):
            await bench.view.search(vector(1), part=name, limit=5)
        for call in (bench.view.drop, bench.view.inventory):
            with pytest.raises(Invalid):
                await call(name)
        with pytest.raises(Invalid):
            await bench.view.remove(["m_1"], scope=name)
        assert list(await bench.view.inventory(ALICE)) == ["m_1"]

    async def test_odd_ids_are_only_ids(self, bench: VectorViewBench) -> None:
        """4: an id is compared exactly, whatever is in it."""
        ids = ["*", "m'1", 'm"1', "m\\1", "日本", "a b", "%", "m_1 or 1=1"]
        points = [point(one, 1, n / 9) for n, one in enumerate(ids)]
        await bench.view.upsert(points, scope=ALICE, fresh=True)
        assert set(await bench.view.inventory(ALICE)) == set(ids)
        await bench.view.remove(["*"], scope=ALICE)
        assert set(await bench.view.inventory(ALICE)) == set(ids[1:])

    async def test_it_is_kept(self, bench: VectorViewBench) -> None:
        """1: what was acknowledged is there when the view is opened again."""
        await bench.view.upsert([point("m_1", 1)], scope=ALICE, fresh=True)
        await bench.view.close()
        again = await bench.again()
        assert dict(await again.inventory(ALICE)) == {"m_1": "1"}
        assert list(await again.search(vector(1), part=key("facts"), limit=5)) == ["m_1"]

    async def test_builds_are_apart(self, bench: VectorViewBench) -> None:
        """A new build is filled beside the one that serves, and goes without a trace."""
        other = await bench.other()
        await bench.view.upsert([point("m_1", 1)], scope=ALICE, fresh=True)
        await other.upsert([point("m_2", 1)], scope=ALICE, fresh=True)
        assert dict(await bench.view.inventory(ALICE)) == {"m_1": "1"}
        await other.destroy()
        await other.close()
        assert dict(await bench.view.inventory(ALICE)) == {"m_1": "1"}
        anew = await bench.other()
        assert await anew.scopes() == set()


def _dot(one: bytes, other: bytes) -> float:
    pairs = zip(struct.iter_unpack("<f", one), struct.iter_unpack("<f", other), strict=True)
    return sum(x * y for (x,), (y,) in pairs)
