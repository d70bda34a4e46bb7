"""The suite of `ricordo.ports.HistoryCache`; a backend adds only fixtures."""

from collections.abc import Awaitable, Callable

import pytest

from ricordo.model import Conversation, UserScope
from ricordo.ports import HistoryCache
from ricordo.testing.sealed import Sealed

ALICE = UserScope(tenant="acme", user="alice")
HERS = Conversation(scope=ALICE, room="everybody", thread="t1")
AGES = 1_000.0
"""More seconds than any copy here grows old."""

LIFETIME = 0.4
LEASE = 0.3
PATIENCE = 0.3

Elapse = Callable[[float], Awaitable[None]]
"""Lets so many seconds go by for the cache."""


class HistoryCacheSuite(Sealed):
    """Every promise of `HistoryCache`, on the fixture `cache`.

    The cache under test has the lifetime, lease and patience named above; `elapse` lets time go by.
    """

    async def test_1_a_copy_is_found_with_its_age_since_the_lease(
        self, cache: HistoryCache, elapse: Elapse
    ) -> None:
        lease = await leased(cache)
        await elapse(0.1)
        assert await cache.fill(HERS, payload=b"said", lease=lease)
        found = await cache.look(HERS, within=AGES)
        assert found.payload == b"said"
        assert 0.09 <= found.age < 5

    async def test_1_any_bytes_come_back_as_they_were(self, cache: HistoryCache) -> None:
        payload = bytes(range(256)) * 400
        assert await cache.fill(HERS, payload=payload, lease=await leased(cache))
        assert (await cache.look(HERS, within=AGES)).payload == payload

    async def test_2_only_one_lease_at_a_time(self, cache: HistoryCache) -> None:
        await leased(cache)
        second = await cache.look(HERS, within=AGES)
        assert second.lease is None
        assert second.loading

    async def test_2_a_lease_ends_by_itself(self, cache: HistoryCache, elapse: Elapse) -> None:
        late = await leased(cache)
        await elapse(LEASE + 0.1)
        assert not await cache.fill(HERS, payload=b"late", lease=late)
        assert await cache.fill(HERS, payload=b"said", lease=await leased(cache))

    async def test_3_a_writing_since_the_lease_keeps_the_copy_out(
        self, cache: HistoryCache
    ) -> None:
        lease = await leased(cache)
        await cache.hold(HERS, writer="w")
        await cache.release(HERS, writer="w")
        assert not await cache.fill(HERS, payload=b"before the writing", lease=lease)
        assert (await cache.look(HERS, within=AGES)).payload is None

    async def test_3_a_lease_serves_once_and_a_made_up_one_never(self, cache: HistoryCache) -> None:
        assert not await cache.fill(HERS, payload=b"x", lease="l_0:0")
        lease = await leased(cache)
        assert not await cache.fill(HERS, payload=b"x", lease="l_0:0")
        assert await cache.fill(HERS, payload=b"said", lease=lease)
        assert not await cache.fill(HERS, payload=b"again", lease=lease)
        assert (await cache.look(HERS, within=AGES)).payload == b"said"

    async def test_4_while_anybody_writes_there_is_neither_copy_nor_lease(
        self, cache: HistoryCache
    ) -> None:
        assert await cache.fill(HERS, payload=b"said", lease=await leased(cache))
        await cache.hold(HERS, writer="one")
        await cache.hold(HERS, writer="two")
        await cache.release(HERS, writer="one")
        found = await cache.look(HERS, within=AGES)
        assert (found.payload, found.lease, found.loading) == (None, None, False)
        await cache.release(HERS, writer="two")
        assert await leased(cache)

    async def test_4_a_writer_that_does_not_come_back_holds_nobody_up_for_long(
        self, cache: HistoryCache, elapse: Elapse
    ) -> None:
        await cache.hold(HERS, writer="died")
        await elapse(PATIENCE + 0.1)
        assert await leased(cache)

    async def test_4_a_release_without_a_hold_drops_the_copy(self, cache: HistoryCache) -> None:
        assert await cache.fill(HERS, payload=b"said", lease=await leased(cache))
        await cache.release(HERS, writer="unknown")
        assert (await cache.look(HERS, within=AGES)).payload is None

    async def test_5_a_copy_that_is_too_old_is_not_found_and_may_be_replaced(
        self, cache: HistoryCache, elapse: Elapse
    ) -> None:
        assert await cache.fill(HERS, payload=b"old", lease=await leased(cache))
        await elapse(0.1)
        stale = await cache.look(HERS, within=0.05)
        assert stale.payload is None
        assert stale.lease is not None
        assert (await cache.look(HERS, within=AGES)).payload == b"old"
        assert await cache.fill(HERS, payload=b"new", lease=stale.lease)
        assert (await cache.look(HERS, within=AGES)).payload == b"new"

    async def test_5_after_its_lifetime_a_copy_is_gone(
        self, cache: HistoryCache, elapse: Elapse
    ) -> None:
        assert cache.lifetime == LIFETIME
        assert await cache.fill(HERS, payload=b"said", lease=await leased(cache))
        await elapse(LIFETIME + 0.1)
        assert (await cache.look(HERS, within=AGES)).payload is None

    @pytest.mark.parametrize(
        "other",
        [
            Conversation(scope=UserScope(tenant="acme", user="bob"), room="everybody", thread="t1"),
            Conversation(
                scope=UserScope(tenant="emca", user="alice"), room="everybody", thread="t1"
            ),
            Conversation(
                scope=UserScope(tenant="acmea", user="lice"), room="everybody", thread="t1"
            ),
            Conversation(scope=ALICE, room="group:desk", thread="t1"),
            Conversation(scope=ALICE, room="everybodyt", thread="1"),
            Conversation(scope=ALICE, room="everybody", thread="*"),
            Conversation(scope=ALICE, room="everybody", thread="t1:copy"),
        ],
        ids=["user", "tenant", "where the ids part", "room", "room's end", "wildcard", "suffix"],
    )
    async def test_6_nobody_elses_conversation_is_met(
        self, cache: HistoryCache, other: Conversation
    ) -> None:
        assert await cache.fill(HERS, payload=b"hers", lease=await leased(cache))
        assert (await cache.look(other, within=AGES)).payload is None
        await cache.release(other, writer="w")
        await cache.forget(scope=UserScope(tenant="acme", user="*"))
        assert (await cache.look(HERS, within=AGES)).payload == b"hers"

    async def test_7_forgetting_leaves_nothing_and_a_late_copy_stays_out(
        self, cache: HistoryCache
    ) -> None:
        bobs = Conversation(scope=UserScope(tenant="acme", user="bob"), room="r", thread="t1")
        lease = (await cache.look(bobs, within=AGES)).lease
        assert lease is not None
        assert await cache.fill(bobs, payload=b"his", lease=lease)
        assert await cache.fill(HERS, payload=b"hers", lease=await leased(cache))
        other = Conversation(scope=ALICE, room="everybody", thread="t2")
        late = (await cache.look(other, within=AGES)).lease
        assert late is not None
        await cache.hold(Conversation(scope=ALICE, room="r", thread="t3"), writer="w")
        assert await cache.count(scope=ALICE) > 0
        assert await cache.forget(scope=ALICE) == 1
        assert await cache.count(scope=ALICE) == 0
        assert not await cache.fill(other, payload=b"late", lease=late)
        assert await cache.count(scope=ALICE) == 0
        assert await cache.forget(scope=ALICE) == 0
        assert (await cache.look(bobs, within=AGES)).payload == b"his"


async def leased(cache: HistoryCache) -> str:
    """A lease of her conversation."""
    glance = await cache.look(HERS, within=AGES)
    assert glance.payload is None
    assert glance.lease is not None
    return glance.lease
