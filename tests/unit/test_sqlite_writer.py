"""The writer: one commit for many, each answered for itself, whatever goes wrong."""

import asyncio
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.writer import GROUP_SIZE
from ricordo.errors import Unavailable
from ricordo.ports import Writing
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import (
    ALICE,
    memory,
    rows,
    sound,
    store,
    stored,
    turn,
)

CLOCK = HandClock()


class Gate:
    """Work that holds the writer until it is let go; what comes meanwhile shares a commit."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()
        self._go = threading.Event()
        self._loop = asyncio.get_running_loop()

    async def work(self, tx: Writing) -> None:
        self._loop.call_soon_threadsafe(self.entered.set)
        assert self._go.wait(30)

    def open(self) -> None:
        self._go.set()


@pytest.fixture
async def ledger(tmp_path: Path):
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK, patience=0.2) as opened:
        yield opened


async def gathered(ledger: SqliteLedger, count: int) -> list[asyncio.Task[bool]]:
    """`count` callers whose turns wait behind a slow work; the writer is free once this returns."""
    gate = Gate()
    slow = asyncio.create_task(ledger.write(gate.work, scope=ALICE))
    await gate.entered.wait()
    tasks = [
        asyncio.create_task(ledger.accept(turn(number), scope=ALICE)) for number in range(count)
    ]
    await asyncio.sleep(0)
    gate.open()
    await slow
    return tasks


async def test_callers_who_come_together_share_a_commit(ledger: SqliteLedger) -> None:
    """Design section 4: group commit. A commit waits for the disk whatever it holds."""
    before = ledger._writer.commits
    assert all(await asyncio.gather(*await gathered(ledger, 100)))
    assert ledger._writer.commits - before <= 3


async def test_a_group_does_not_grow_without_bound(ledger: SqliteLedger) -> None:
    before = ledger._writer.commits
    assert all(await asyncio.gather(*await gathered(ledger, 3 * GROUP_SIZE)))
    assert ledger._writer.commits - before >= 3


async def test_a_slow_work_ends_its_group(ledger: SqliteLedger) -> None:
    """The first callers of a group are answered before the last ones have begun."""
    gate = Gate()
    first = asyncio.create_task(ledger.accept(turn(1), scope=ALICE))
    slow = asyncio.create_task(ledger.write(gate.work, scope=ALICE))
    late = asyncio.create_task(ledger.accept(turn(2), scope=ALICE))
    await gate.entered.wait()
    await asyncio.to_thread(threading.Event().wait, 0.1)
    before = ledger._writer.commits
    gate.open()
    await asyncio.gather(first, slow, late)
    assert ledger._writer.commits - before == 2


async def test_a_full_disk_is_unavailable_and_costs_only_who_needs_room(
    ledger: SqliteLedger,
) -> None:
    """Nothing of what failed is stored; smaller writes of the same group go through."""
    known = memory("known")
    await store(ledger, known)
    await limit_pages(ledger, 10)
    big = turn("big", text="x" * 900_000)
    gate = Gate()
    slow = asyncio.create_task(ledger.write(gate.work, scope=ALICE))
    await gate.entered.wait()
    tasks = [asyncio.create_task(ledger.accept(each, scope=ALICE)) for each in (turn(1), big)]
    await asyncio.sleep(0)
    gate.open()
    small, large = await asyncio.gather(*tasks, return_exceptions=True)
    await slow
    assert small is True
    assert isinstance(large, Unavailable)
    assert "the disk is full" in str(large)
    assert await stored(ledger, known.id) == [known]
    await sound(ledger)
    await limit_pages(ledger, 100_000)
    assert await ledger.accept(big, scope=ALICE) is True


async def limit_pages(ledger: SqliteLedger, more: int) -> None:
    """SQLite's own limit answers exactly as a full disk does."""

    def limit(connection: sqlite3.Connection) -> None:
        (count,) = connection.execute("pragma page_count").fetchone()
        connection.execute(f"pragma max_page_count = {count + more}")

    await ledger._writer.submit(limit)


FULL = """
import asyncio, resource, sys
from datetime import UTC, datetime
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Unavailable
from ricordo.testing.ledger.making import memory, store, stored
async def main():
    async with SqliteLedger.open(sys.argv[1], clock=lambda: datetime.now(UTC)) as ledger:
        known = memory("known")
        await store(ledger, known)
        await ledger.scrub()
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
        for number in range(99):
            try:
                await store(ledger, memory(f"{number} " * 1_000))
            except Unavailable as error:
                print("refused", error.__cause__)
                break
        assert await stored(ledger, known.id) == [known]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        await store(ledger, memory("after"))
        problems = [finding for finding in await ledger.check() if finding.problem]
        print("sound" if not problems else problems)
asyncio.run(main())
"""


def test_a_disk_that_takes_no_more_is_unavailable(tmp_path: Path) -> None:
    """The system's own refusal to let a file grow; once there is room, all goes on."""
    told = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path / "memory.db")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    lines = told.stdout.splitlines()
    assert lines[0].startswith("refused"), told.stderr
    assert lines[-1] == "sound"


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced"])
async def test_nothing_is_acknowledged_once_the_file_is_not_in_its_place(
    tmp_path: Path, how: str
) -> None:
    """Ledger 1: what is written to a file that nobody can open again is not durable."""
    file, elsewhere = tmp_path / "ledger.db", tmp_path / "elsewhere.db"
    async with SqliteLedger.open(file, clock=HandClock()) as ledger:
        assert await ledger.accept(turn(1), scope=ALICE)
        if how == "replaced":
            elsewhere.write_bytes(file.read_bytes())
            elsewhere.replace(file)
        elif how == "moved":
            file.rename(elsewhere)
        else:
            file.unlink()
        with pytest.raises(Unavailable, match="while it was open"):
            await ledger.accept(turn(2), scope=ALICE)
        if how == "moved":
            elsewhere.rename(file)
            assert await ledger.accept(turn(2), scope=ALICE)


async def test_a_ledger_that_is_busy_for_long_is_unavailable(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Nothing is lost or half-written; once the other process is done, all goes on."""
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("begin immediate")
    with pytest.raises(Unavailable, match="another process was writing"):
        await ledger.accept(turn(1), scope=ALICE)
    results = await asyncio.gather(
        *(ledger.accept(turn(number), scope=ALICE) for number in range(3)), return_exceptions=True
    )
    assert all(isinstance(each, Unavailable) for each in results)
    assert await ledger.scrub() is False
    other.execute("rollback")
    other.close()
    assert await ledger.accept(turn(1), scope=ALICE) is True


async def test_a_reader_elsewhere_keeps_the_log_from_being_emptied(
    ledger: SqliteLedger, tmp_path: Path
) -> None:
    """Scrub: False while another process reads; then the next one does it."""
    other = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
    other.execute("begin")
    other.execute("select count(*) from memories").fetchone()
    await store(ledger, memory("one"))
    assert await ledger.scrub() is False
    await store(ledger, memory("two"))
    other.execute("rollback")
    other.close()
    assert await ledger.scrub() is True
    log = tmp_path / "memory.db-wal"
    assert log.stat().st_size == 0


async def test_the_log_does_not_grow_for_ever(ledger: SqliteLedger, tmp_path: Path) -> None:
    for number in range(20):
        await ledger.accept(turn(number, text="x" * 1_000_000), scope=ALICE)
    log = tmp_path / "memory.db-wal"
    assert log.stat().st_size < 8_000_000


async def test_a_loop_that_is_gone_disturbs_nobody(ledger: SqliteLedger) -> None:
    """Ledger 4, with callers on several event loops."""
    gate = Gate()
    slow = asyncio.create_task(ledger.write(gate.work, scope=ALICE))
    await gate.entered.wait()

    async def leave() -> None:
        asyncio.get_running_loop().create_task(ledger.accept(turn("gone"), scope=ALICE))
        await asyncio.sleep(0)

    await asyncio.to_thread(asyncio.run, leave())
    here = asyncio.create_task(ledger.accept(turn("here"), scope=ALICE))
    await asyncio.sleep(0)
    gate.open()
    await slow
    assert await here is True
    assert await asyncio.to_thread(
        lambda: asyncio.run(ledger.accept(turn("gone"), scope=ALICE))
    ) in (True, False)


async def test_work_that_ends_the_thread_ends_only_itself(ledger: SqliteLedger) -> None:
    """Even what is no `Exception` belongs to its caller."""

    async def work(tx: Writing) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await ledger.write(work, scope=ALICE)
    assert await ledger.accept(turn(1), scope=ALICE) is True


async def test_a_cache_far_behind_reads_all_anew(
    ledger: SqliteLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removals are listed for a while only."""
    monkeypatch.setattr("ricordo.adapters.sqlite.index_writing.LISTED_REMOVALS", 3)
    some = [memory(f"text {number}") for number in range(8)]
    await store(ledger, *some)
    generations = [(await rows(ledger)).generation]
    for each in some[:6]:
        await ledger.write(lambda tx, each=each: tx.remove([each.id], scope=ALICE), scope=ALICE)
        generations.append((await rows(ledger)).generation)
    found = [await rows(ledger, since=since) for since in generations]
    assert [each.complete for each in found] == [True, True, True, False, False, False, False]
    assert len(found[3].removed) == 3
    assert sorted(found[0].ids) == sorted(each.id for each in some[6:])
    await sound(ledger)


async def test_the_check_finds_damage(tmp_path: Path) -> None:
    """`ricordo doctor` must not call sound what is not."""
    harm = {
        "memories have an origin": "delete from origins",
        "partitions count their rows": "update partitions set size = size + 1",
        "index rows show what their memory shows": "update memory_index set visible = 0",
        "generations cover their rows": "update partitions set generation = 0",
        "references lead somewhere": "update origins set memory_row = 99",
        "jobs have what their state needs": "update queue set state = 'leased'",
        "index rows have the size of their space": "update memory_index set vector = x'00'",
        "index rows belong to their memory and partition": "update memory_index set memory_id = 1",
        "memories belong to a partition of their scope": "update memories set partition_id = 9",
    }
    for number, (check, sql) in enumerate(harm.items()):
        path = tmp_path / f"{number}.db"
        async with SqliteLedger.open(path, clock=CLOCK) as ledger:
            await store(ledger, memory("a"))
            await ledger.accept(turn(), scope=ALICE)
            connection = sqlite3.connect(path)
            connection.execute(sql)
            connection.commit()
            connection.close()
            problems = {f.check: f.problem for f in await ledger.check() if f.problem}
            assert check in problems, sql
