"""What `Offices` promise, and how old events go."""

from dataclasses import replace
from datetime import timedelta

from ricordo.events import UserMemoryStored
from ricordo.ports import Ledger
from ricordo.testing.ledger.making import ALICE, BOB, START, HandClock
from ricordo.testing.ledger.opening import OpenLedger
from ricordo.testing.sealed import Sealed


def _event(number: int, *, hours: int = 0) -> UserMemoryStored:
    return UserMemoryStored(
        id=f"e_{number}",
        at=START + timedelta(hours=hours),
        scope=ALICE,
        memory_id=f"m_{number}",
        kind="fact",
    )


class OfficeTests(Sealed):
    """`ricordo.ports.Offices`."""

    async def test_one_holds_an_office_at_a_time(self, ledger: Ledger, clock: HandClock) -> None:
        """Until it vacates, or its time is over; whoever takes over begins a higher term."""
        for _ in range(2):
            assert await ledger.hold("o", holder="a", at=clock(), seconds=30) == 1
        assert await ledger.hold("o", holder="b", at=clock(), seconds=30) is None
        assert await ledger.hold("other", holder="b", at=clock(), seconds=30) == 1
        await ledger.vacate("o", holder="b")
        assert await ledger.hold("o", holder="b", at=clock(), seconds=30) is None
        assert await ledger.hold("o", holder="b", at=clock.forward(30), seconds=30) == 2
        assert await ledger.hold("o", holder="a", at=clock(), seconds=30) is None
        await ledger.vacate("o", holder="b")
        await ledger.vacate("o", holder="b")
        assert await ledger.hold("o", holder="b", at=clock(), seconds=30) == 3

    async def test_a_wrong_clock_holds_no_office_beyond_its_life(
        self, ledger: Ledger, another: OpenLedger, clock: HandClock
    ) -> None:
        """A holder whose clock goes an hour ahead keeps its office while it lives; when it died,
        nobody waits for an hour."""
        beside, ahead = await another(), timedelta(hours=1)
        assert await beside.hold("o", holder="ahead", at=clock() + ahead, seconds=30) == 1
        for _ in range(4):
            assert await ledger.hold("o", holder="b", at=clock.forward(20), seconds=30) is None
            assert await beside.hold("o", holder="ahead", at=clock() + ahead, seconds=30) == 1
        for _ in range(2):
            assert await ledger.hold("o", holder="b", at=clock.forward(20), seconds=30) is None
        assert await ledger.hold("o", holder="b", at=clock.forward(10), seconds=30) == 2
        assert not await ledger.report("o", position=1, term=1)
        assert await ledger.hold("o", holder="b", at=clock.forward(1), seconds=30) == 2

    async def test_who_lost_an_office_reports_nothing(
        self, ledger: Ledger, clock: HandClock
    ) -> None:
        """A process that was paused over a takeover cannot acknowledge."""
        assert not await ledger.report("o", position=4, term=1)
        assert await ledger.position("o") is None
        first = await ledger.hold("o", holder="a", at=clock(), seconds=30)
        assert first is not None
        assert await ledger.report("o", position=4, term=first)
        second = await ledger.hold("o", holder="b", at=clock.forward(31), seconds=30)
        assert second is not None
        assert not await ledger.report("o", position=9, term=first)
        assert await ledger.position("o") == 4
        assert await ledger.report("o", position=6, term=second)
        assert await ledger.report("o", position=5, term=second), "a lower one changes nothing"
        assert await ledger.position("o") == 6
        await ledger.vacate("o", holder="b")
        assert not await ledger.report("o", position=7, term=second)

    async def test_an_office_is_shared_by_all_processes(
        self, ledger: Ledger, another: OpenLedger, clock: HandClock
    ) -> None:
        beside = await another()
        assert await ledger.hold("o'%", holder="a", at=clock(), seconds=30) == 1
        assert await beside.hold("o'%", holder="b", at=clock(), seconds=30) is None
        assert await beside.hold("o'%", holder="b", at=clock.forward(31), seconds=30) == 2

    async def test_old_events_go_when_everybody_has_them(self, ledger: Ledger) -> None:
        """Outbox: what a consumer has yet to acknowledge stays, however old; positions stay."""
        for number in range(4):
            event = _event(number, hours=number)
            await ledger.write(lambda tx, event=event: tx.emit(event), scope=ALICE)
        found = await ledger.announced(after=0, limit=9)
        late = START + timedelta(hours=99)
        await ledger.acknowledge("slow", found[1][0])
        await ledger.acknowledge("quick", found[3][0])
        assert await ledger.prune(before=START, limit=9) == 0
        assert await ledger.prune(before=START + timedelta(hours=1), limit=9) == 1
        assert await ledger.announced(after=0, limit=9) == found[1:]
        assert await ledger.prune(before=late, limit=9) == 1
        assert await ledger.prune(before=late, limit=9) == 0
        await ledger.acknowledge("slow", found[3][0])
        assert await ledger.prune(before=late, limit=1) == 1
        assert await ledger.announced(after=0, limit=9) == found[3:]
        assert await ledger.prune(before=late, limit=9) == 1
        assert await ledger.latest() == found[3][0]
        await ledger.write(lambda tx: tx.emit(replace(_event(9), scope=BOB)), scope=BOB)
        [(position, _)] = await ledger.announced(after=0, limit=9)
        assert position > found[3][0]
