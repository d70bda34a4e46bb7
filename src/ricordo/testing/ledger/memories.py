"""What `Reading` and `Writing` promise about memories."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import pytest

from ricordo.errors import Conflict, Denied, Invalid, RicordoError
from ricordo.model import (
    EntityClaim,
    Kind,
    Listing,
    Memory,
    Page,
    RelationClaim,
    Sensitivity,
    Source,
    Status,
)
from ricordo.ports import Ledger, Reading, Writing
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    FACTS,
    PLATFORM,
    SCOPES,
    START,
    HandClock,
    memory,
    origin,
    preference,
    replace_with,
    store,
    stored,
)
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.sealed import Sealed


async def _page(ledger: Ledger, listing: Listing) -> Page:
    return await ledger.read(lambda tx: tx.page(listing, scope=ALICE), scopes=[ALICE])


async def _texts(ledger: Ledger, **listing: object) -> list[str]:
    asked = Listing(**listing)  # type: ignore[arg-type]
    page = await _page(ledger, asked)
    assert await _ids(ledger, asked) == [each.id for each in page.memories]
    return [each.text for each in page.memories]


async def _ids(ledger: Ledger, listing: Listing, *among: str) -> list[str]:
    return await ledger.read(
        lambda tx: tx.ids(listing, scope=ALICE, among=among or None), scopes=[ALICE]
    )


class MemoryTests(Sealed):
    """Memories by id, by text, in order, with their history."""

    async def test_every_field_of_a_memory_comes_back(self, ledger: Ledger) -> None:
        full = memory(
            "Ärger mit Größe\n\t“quoted” 'text' % _ * 🦉",
            agent="coder",
            status=Status.PROPOSED,
            source=Source.INFERRED,
            origins=(
                origin(quote="'; drop table memories; --", message_ids=("a", "b")),
                origin(run_id=None, thread_id=None, display_id=None, agent=None, author="carol"),
            ),
            valid_from=START - timedelta(days=400, microseconds=1),
            valid_until=START + timedelta(days=400, microseconds=1),
            expires_at=START + timedelta(days=1),
            confidence=0.25,
            importance=0.75,
            sensitivity=Sensitivity.SPECIAL,
            pinned=True,
            recalls=3,
            last_recalled_at=START,
            pending=(
                RelationClaim(
                    source=EntityClaim(name="user", type="person"),
                    relation="works on",
                    target=EntityClaim(name="Falcon"),
                    valid_from=START,
                ),
            ),
            reasons=("special", "confidence"),
            replaces=("m_1",),
            prompt="extract-1",
            model="some-model",
        )
        await store(ledger, full)
        assert await stored(ledger, full.id) == [full]

    async def test_reading_1_another_scope_is_not_found_by_id(self, ledger: Ledger) -> None:
        """Reading 1. Even where ids and texts are the same, each scope has its own."""
        same = [memory("The same text", id="m_same", scope=scope) for scope in SCOPES]
        for each in same[1:]:
            await store(ledger, each)
        assert await stored(ledger, "m_same", scope=ALICE) == []
        await store(ledger, same[0])
        for each in same:
            assert await stored(ledger, "m_same", scope=each.scope) == [each]

    async def test_reading_1_a_transaction_refuses_scopes_it_was_not_opened_for(
        self, ledger: Ledger
    ) -> None:
        """Reading 1, and the port: every method refuses another scope."""
        await store(ledger, memory())

        async def look(tx: Reading) -> None:
            await tx.memories(["m_1"], scope=ALICE)

        with pytest.raises(Denied):
            await ledger.read(look, scopes=[BOB, PLATFORM])

        async def work(tx: Writing) -> None:
            await tx.put(memory(), indexed=None, space=None)

        with pytest.raises(Denied):
            await ledger.write(work, scope=BOB)

    async def test_reading_2_answers_come_from_one_instant(
        self, another: OpenLedger, ledger: Ledger
    ) -> None:
        """Reading 2. A commit between two questions of one look is not seen by the second."""
        first, second = memory("one"), memory("two")
        await store(ledger, first)

        async def elsewhere() -> None:
            other = await another()
            await store(other, second)
            await other.close()

        async def look(tx: Reading) -> tuple[int, int]:
            # On a thread and an event loop of its own, for a look may run on this one.
            before = len((await tx.page(Listing(), scope=ALICE)).memories)
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, elsewhere()).result(30)
            return before, len((await tx.page(Listing(), scope=ALICE)).memories)

        assert await ledger.read(look, scopes=[ALICE]) == (1, 1)
        assert len(await stored(ledger, first.id, second.id)) == 2

    async def test_memories_come_in_the_order_asked_for(self, ledger: Ledger) -> None:
        some = [memory(f"text {number}") for number in range(5)]
        await store(ledger, *some)
        ids = [some[3].id, "m_unknown", some[0].id, some[3].id, some[0].id + "\0"]
        assert await stored(ledger, *ids) == [some[3], some[0]]

    async def test_pages_are_oldest_first_and_lead_on(self, ledger: Ledger) -> None:
        late = [memory(f"late {n}", at=START + timedelta(seconds=n)) for n in range(3)]
        same = sorted((memory(f"same {n}") for n in range(4)), key=lambda each: each.id)
        await store(ledger, *reversed(late), *reversed(same))
        seen: list[Memory] = []
        listing = Listing(limit=2)
        while True:
            page = await _page(ledger, listing)
            seen += page.memories
            if page.cursor is None:
                break
            listing = replace(listing, after=page.cursor)
        expected = sorted([*same, *late], key=lambda each: (each.recorded_at, each.id))
        assert seen == expected

    async def test_a_listing_restricts(self, ledger: Ledger) -> None:
        claim = RelationClaim(
            source=EntityClaim(name="a"), relation="uses", target=EntityClaim(name="b")
        )
        await store(
            ledger,
            memory("fact", origins=(origin(thread_id="t%"),)),
            preference("mine", agent="coder", at=START + timedelta(seconds=1)),
            preference("theirs", agent="cod_r", at=START + timedelta(seconds=2)),
            memory("waits", status=Status.PROPOSED, at=START + timedelta(seconds=3)),
            memory("partly", pending=(claim,), at=START + timedelta(seconds=4)),
        )
        assert await _texts(ledger, kind=Kind.PREFERENCE) == ["mine", "theirs"]
        assert await _texts(ledger, statuses=(Status.PROPOSED,)) == ["waits"]
        assert await _texts(ledger, statuses=()) == []
        assert await _texts(ledger, agents=("cod_r",)) == ["fact", "theirs", "waits", "partly"]
        assert await _texts(ledger, agents=("cod%", "*")) == ["fact", "waits", "partly"]
        assert await _texts(ledger, thread_id="t%") == ["fact"]
        assert await _texts(ledger, thread_id="t_") == []
        assert await _texts(ledger, review=True) == ["waits", "partly"]
        assert await _texts(ledger, before=START + timedelta(seconds=1)) == ["fact"]

    async def test_ids_are_all_that_fit_among_those_given(self, ledger: Ledger) -> None:
        late, early = memory("late", at=START + timedelta(seconds=1)), memory("early")
        foreign = memory("foreign", scope=BOB)
        await store(ledger, late, early, foreign)
        everything = Listing(limit=1)
        assert await _ids(ledger, everything) == [early.id, late.id]
        assert await _ids(ledger, everything, late.id, "m_no", foreign.id, late.id) == [late.id]
        assert await _ids(ledger, Listing(kind=Kind.PREFERENCE), late.id) == []

    @pytest.mark.parametrize("cursor", ["", "x", "AAAA" * 8, "é", "💥", "bm8gY3Vyc29y" * 3])
    async def test_a_made_up_cursor_is_refused(self, ledger: Ledger, cursor: str) -> None:
        await store(ledger, memory())
        with pytest.raises(Invalid):
            await _page(ledger, Listing(after=cursor))

    async def test_a_cursor_of_another_scope_is_refused(self, ledger: Ledger) -> None:
        """Reading 1. A cursor carries nothing from one scope into another."""
        await store(ledger, memory("a", scope=BOB), memory("b", scope=BOB))
        page = await ledger.read(lambda tx: tx.page(Listing(limit=1), scope=BOB), scopes=[BOB])
        assert page.cursor
        with pytest.raises(Invalid):
            await _page(ledger, Listing(after=page.cursor))

    @pytest.mark.parametrize("limit", [0, -1, 1001])
    async def test_a_page_is_neither_empty_nor_endless(self, ledger: Ledger, limit: int) -> None:
        with pytest.raises(Invalid):
            await _page(ledger, Listing(limit=limit))

    @pytest.mark.parametrize("status", [Status.ACTIVE, Status.PROPOSED, Status.REJECTED])
    async def test_a_text_is_found_by_its_digest(self, ledger: Ledger, status: Status) -> None:
        known = memory("Uses  Python.", status=status)
        await store(ledger, known, memory("Uses Python", scope=BOB))

        async def look(tx: Reading) -> Memory | None:
            return await tx.same_text(memory("uses python").digest, partition=FACTS)

        assert await ledger.read(look, scopes=[ALICE]) == known

    async def test_a_superseded_text_may_be_said_again(self, ledger: Ledger) -> None:
        old = memory("Uses Python", status=Status.SUPERSEDED)
        await store(ledger, old)

        async def look(tx: Reading) -> Memory | None:
            return await tx.same_text(old.digest, partition=FACTS)

        assert await ledger.read(look, scopes=[ALICE]) is None
        await store(ledger, memory("Uses Python"))

    async def test_one_text_is_one_memory_of_its_partition(self, ledger: Ledger) -> None:
        """Put: `Conflict` when its digest is taken; other partitions are free."""
        await store(ledger, memory("Uses Python"))
        with pytest.raises(Conflict):
            await store(ledger, memory("uses python!"))
        await store(
            ledger,
            preference("Uses Python", agent="coder"),
            preference("Uses Python", agent="writer"),
            memory("Uses Python", scope=BOB),
        )

    @pytest.mark.parametrize("version", [1, 2, 4, 7])
    async def test_only_the_next_version_replaces(self, ledger: Ledger, version: int) -> None:
        """Put: `Conflict` on any version but the next, so that no change is lost."""
        known = memory()
        await store(ledger, known)
        second = replace(known, version=2, importance=0.9)
        await replace_with(ledger, second, seed=None)
        with pytest.raises(Conflict):
            await replace_with(ledger, replace(second, version=version, importance=0.1), seed=None)
        assert await stored(ledger, known.id) == [second]

    async def test_a_forgotten_memory_is_not_brought_back_by_a_change(self, ledger: Ledger) -> None:
        known = memory()
        await store(ledger, known)
        await ledger.write(lambda tx: tx.remove([known.id], scope=ALICE), scope=ALICE)
        with pytest.raises(Conflict):
            await replace_with(ledger, replace(known, version=2), seed=None)

    async def test_a_changed_text_goes_to_the_history(self, ledger: Ledger) -> None:
        known = memory("Likes tea", origins=(origin(author="carol"),))
        await store(ledger, known)
        at = START + timedelta(hours=1)
        await replace_with(ledger, replace(known, text="Likes coffee", version=2), seed=2)
        await replace_with(
            ledger,
            replace(known, text="Likes water", version=3, updated_at=at),
            seed=3,
        )
        await replace_with(
            ledger, replace(known, text="Likes water", version=4, pinned=True), seed=None
        )
        history = await ledger.read(lambda tx: tx.history(known.id, scope=ALICE), scopes=[ALICE])
        assert [(each.version, each.text) for each in history] == [
            (1, "Likes tea"),
            (2, "Likes coffee"),
        ]
        assert history[1].replaced_at == at
        assert history[1].by == "carol"
        other = await ledger.read(lambda tx: tx.history(known.id, scope=BOB), scopes=[BOB])
        assert other == []

    async def test_origins_are_kept_in_order_through_changes(self, ledger: Ledger) -> None:
        """Design promise 9: traceable through updates and merges."""
        known = memory(origins=(origin(run_id="b"),))
        await store(ledger, known)
        orders: Sequence[Sequence[str]] = (["b", "c"], ["a", "b", "c"], ["a"], ["a", "d"])
        for version, runs in enumerate(orders, 2):
            changed = replace(
                known, version=version, origins=tuple(origin(run_id=run) for run in runs)
            )
            await replace_with(ledger, changed, seed=None)
            assert await stored(ledger, known.id) == [changed]

    async def test_recalls_are_counted_beside_versions(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Recalled: versions and generations stay, and a change read before loses no count."""
        known = memory()
        await store(ledger, known)
        generation = (await ledger.read(lambda tx: tx.partitions(scope=ALICE), scopes=[ALICE]))[
            0
        ].generation
        at = clock.forward(60)
        for _ in range(2):
            await ledger.write(
                lambda tx: tx.recalled([known.id, "m_unknown"], at=at, scope=ALICE), scope=ALICE
            )
        await replace_with(ledger, replace(known, version=2, pinned=True), seed=None)
        (now,) = await stored(ledger, known.id)
        assert (now.recalls, now.last_recalled_at, now.version) == (2, at, 2)
        state = (await ledger.read(lambda tx: tx.partitions(scope=ALICE), scopes=[ALICE]))[0]
        assert state.generation == generation

    @pytest.mark.parametrize(
        "identifier", ["", "a\0b", "\ud800"], ids=["empty", "nul", "surrogate"]
    )
    async def test_an_id_that_cannot_be_found_again_is_refused(
        self, ledger: Ledger, identifier: str
    ) -> None:
        with pytest.raises(Invalid):
            await store(ledger, memory(id=identifier))

    @pytest.mark.parametrize(
        "identifier", ["%", "*", "..", "'", '"', "a/b", "m_\u202e", "é", "e\u0301", "🦉" * 60]
    )
    async def test_ids_are_compared_exactly(self, ledger: Ledger, identifier: str) -> None:
        """Design promise 1: no id is a pattern, a path or a piece of a query."""
        odd = memory("odd", id=identifier)
        await store(ledger, odd, memory("plain", id="m_plain"), memory("long", id="m_plain_more"))
        assert await stored(ledger, identifier) == [odd]
        for near in (identifier.upper() + "x", identifier + " ", "m_plai%", "m_plain*"):
            assert await stored(ledger, near) == []

    async def test_sixteen_writers_of_one_text_make_one_memory(self, ledger: Ledger) -> None:
        """Design section 7: sixteen writers of one fact leave one fact with sixteen origins."""

        async def remember(number: int) -> None:
            fresh = memory("Falcon uses microservices", origins=(origin(run_id=f"r{number}"),))

            async def work(tx: Writing) -> None:
                known = await tx.same_text(fresh.digest, partition=fresh.partition)
                if known is None:
                    await tx.put(fresh, indexed=None, space=None)
                    return
                origins = (*known.origins, *fresh.origins)
                more = replace(known, origins=origins, version=known.version + 1)
                await tx.put(more, indexed=None, space=None)

            await ledger.write(work, scope=ALICE)

        await asyncio.gather(*(remember(number) for number in range(16)))
        page = await _page(ledger, Listing())
        assert len(page.memories) == 1
        runs = {each.run_id for each in page.memories[0].origins}
        assert runs == {f"r{number}" for number in range(16)}

    async def test_a_refused_put_changes_nothing_even_if_the_work_goes_on(
        self, ledger: Ledger
    ) -> None:
        known = memory("one")
        await store(ledger, known)

        async def work(tx: Writing) -> None:
            with pytest.raises(RicordoError):
                await tx.put(memory("one"), indexed=None, space=None)
            await tx.put(memory("two"), indexed=None, space=None)

        await ledger.write(work, scope=ALICE)
        assert sorted(await _texts(ledger)) == ["one", "two"]
