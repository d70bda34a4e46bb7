"""What `Outbox` promises of those who read it: whom it waits for, and who was retired."""

from datetime import datetime, timedelta

import pytest

from ricordo.errors import Conflict, NotFound, Retired
from ricordo.events import Event, UserMemoryErased, UserMemoryStored
from ricordo.ports import QUIET, Ledger, Reader, Writing
from ricordo.testing.ledger.making import ALICE, BOB, START, HandClock, memory, store
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.sealed import Sealed

_LATE = START + timedelta(days=999)


async def _announce(ledger: Ledger, *numbers: int) -> list[tuple[int, Event]]:
    """Announce events of Alice, one each hour; all that is there."""

    async def work(tx: Writing) -> None:
        for number in numbers:
            event = UserMemoryStored(
                id=f"e_{number}",
                at=START + timedelta(hours=number),
                scope=ALICE,
                memory_id=f"m_{number}",
                kind="fact",
            )
            await tx.emit(event)

    await ledger.write(work, scope=ALICE)
    return await ledger.announced(after=0, limit=99)


async def _erase_bob(ledger: Ledger, at: datetime) -> None:
    await store(ledger, memory(scope=BOB))
    await ledger.write(lambda tx: tx.erase(scope=BOB, at=at), scope=BOB)


async def _reader(ledger: Ledger, name: str) -> Reader:
    [found] = [each for each in await ledger.readers() if each.name == name]
    return found


class ReaderTests(Sealed):
    """Who reads the outbox, and who holds up its pruning."""

    async def test_readers_are_listed_with_what_waits_for_them(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        assert list(await ledger.readers()) == []
        found = await _announce(ledger, 0, 1, 2)
        await ledger.acknowledge("slow'%", found[0][0])
        term = await ledger.hold("quick", holder="a", at=clock.forward(5), seconds=30)
        assert term is not None
        await ledger.report("quick", position=found[2][0], term=term)
        quick, slow = await ledger.readers()
        assert (slow.name, slow.position, slow.behind) == ("slow'%", found[0][0], 2)
        assert slow.waiting_since == START + timedelta(hours=1)
        assert (slow.seen, slow.held_until, slow.retired_at) == (START, None, None)
        assert (quick.name, quick.behind, quick.waiting_since) == ("quick", 0, None)
        assert (quick.seen, quick.held_until) == (clock(), clock() + timedelta(seconds=30))

    async def test_a_view_s_reader_is_at_work_while_it_is_fed(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        build = await ledger.enroll("v", sort="vectors", made_of="x")
        later = clock.forward(2 * QUIET)
        assert not (await _reader(ledger, build.consumer)).at_work(later)
        assert await ledger.elect(build, holder="a", at=later, seconds=30)
        assert (await _reader(ledger, build.consumer)).at_work(later)
        with pytest.raises(Conflict):
            await ledger.retire(build.consumer, at=later)
        await ledger.resign(build, holder="a")
        await ledger.retire(build.consumer, at=later)
        assert [each.view for each in await ledger.builds()] == ["v"], "it is known still"

    async def test_who_is_at_work_is_not_retired(self, ledger: Ledger, clock: HandClock) -> None:
        """By an acknowledgement of late, or by an office that is held."""
        await ledger.acknowledge("bus", 0)
        with pytest.raises(Conflict):
            await ledger.retire("bus", at=clock.forward(QUIET / 2))
        term = await ledger.hold("o", holder="a", at=clock(), seconds=9 * QUIET)
        assert term is not None
        assert await ledger.report("o", position=0, term=term)
        late = clock.forward(2 * QUIET)
        await ledger.retire("bus", at=late)
        with pytest.raises(Conflict):
            await ledger.retire("o", at=late)
        with pytest.raises(NotFound):
            await ledger.retire("nobody", at=late)

    async def test_outbox_2_a_retired_reader_holds_nothing_up(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Outbox 1 and 2: events wait for whom is known, until they are retired."""
        found = await _announce(ledger, 0, 1, 2)
        await ledger.acknowledge("gone", found[0][0])
        await ledger.acknowledge("quick", found[2][0])
        assert await ledger.prune(before=_LATE, limit=9) == 1
        assert (await ledger.census()).behind == {"gone": 2, "quick": 0}
        retired_at = clock.forward(2 * QUIET)
        await ledger.retire("gone", at=retired_at)
        await ledger.retire("gone", at=clock.forward(9))
        gone = await _reader(ledger, "gone")
        assert (gone.retired_at, gone.missed, gone.behind) == (retired_at, 0, 2)
        assert (await ledger.census()).behind == {"quick": 0}
        assert await ledger.prune(before=_LATE, limit=1) == 1
        assert await ledger.prune(before=_LATE, limit=9) == 1
        assert await ledger.announced(after=0, limit=9) == []
        gone = await _reader(ledger, "gone")
        assert (gone.position, gone.missed, gone.behind) == (found[0][0], 2, 0)

    async def test_outbox_2_erasures_wait_for_a_retired_reader(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Whoever comes back must forget whom it shall forget (design promise 11)."""
        await ledger.acknowledge("gone", 0)
        await _erase_bob(ledger, clock.forward(1))
        await _announce(ledger, 1, 2)
        await ledger.retire("gone", at=clock.forward(2 * QUIET))
        assert await ledger.prune(before=_LATE, limit=1) == 1, "what stays is in nobody's way"
        assert await ledger.prune(before=_LATE, limit=1) == 1
        assert await ledger.prune(before=_LATE, limit=1) == 0
        [(position, erased)] = await ledger.announced(after=0, limit=9)
        assert isinstance(erased, UserMemoryErased)
        assert await ledger.readmit("gone") == 2
        await ledger.acknowledge("gone", position)
        assert await ledger.prune(before=_LATE, limit=9) == 1

    async def test_outbox_3_a_retired_reader_is_told_when_it_comes_back(
        self, ledger: Ledger, another: OpenLedger, clock: HandClock
    ) -> None:
        """It acknowledges nothing until then; from then on events wait for it again."""
        found = await _announce(ledger, 0, 1, 2)
        await ledger.acknowledge("gone", found[0][0])
        assert await ledger.readmit("gone") is None, "nobody retired it"
        assert await ledger.readmit("nobody") is None
        await ledger.retire("gone", at=clock.forward(2 * QUIET))
        beside = await another()
        with pytest.raises(Retired):
            await beside.acknowledge("gone", found[1][0])
        assert await ledger.position("gone") == found[0][0]
        assert await ledger.prune(before=START + timedelta(hours=2), limit=9) == 2
        assert await beside.readmit("gone") == 1
        assert await ledger.readmit("gone") is None
        assert (await _reader(ledger, "gone")).seen == clock()
        assert await ledger.prune(before=_LATE, limit=9) == 0
        await ledger.acknowledge("gone", found[2][0])
        assert await ledger.prune(before=_LATE, limit=9) == 1

    async def test_who_held_the_office_of_a_retired_reader_lost_it(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """Offices 3: a process that was paused over it reports nothing, in no term before."""
        term = await ledger.hold("o", holder="a", at=clock(), seconds=30)
        assert term is not None
        assert await ledger.report("o", position=1, term=term)
        await ledger.retire("o", at=clock.forward(2 * QUIET))
        assert not await ledger.report("o", position=2, term=term)
        again = await ledger.hold("o", holder="a", at=clock(), seconds=30)
        assert again is not None
        assert again == term + 1
        assert not await ledger.report("o", position=2, term=again), "it was not readmitted"
        assert await ledger.readmit("o") == 0
        assert await ledger.report("o", position=2, term=again)
