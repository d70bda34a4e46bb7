"""The schema: whole steps, taken once, whoever comes first."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.places import PLACES, SCOPELESS
from ricordo.adapters.sqlite.schema import Migration, migrations, statements
from ricordo.errors import Corrupt
from ricordo.model import Origin
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import START, memory, rows, sound, store, stored

CLOCK = HandClock()
SHIPPED = migrations()
NEXT = SHIPPED[-1].version + 1


def tables(path: Path) -> dict[str, list[str]]:
    connection = sqlite3.connect(path)
    found = [
        row[0]
        for row in connection.execute(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        )
    ]
    columns = {
        table: [row[1] for row in connection.execute(f"pragma table_info({table})")]
        for table in found
    }
    connection.close()
    return columns


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    found = connection.execute("pragma user_version").fetchone()[0]
    connection.close()
    return found


async def test_every_table_is_cleared_and_scanned(tmp_path: Path) -> None:
    """Promise 11: a table that could hold something of a scope is covered by erasure and scan."""
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK):
        pass
    found = tables(tmp_path / "memory.db")
    assert set(found) == set(PLACES) | SCOPELESS
    for place in PLACES:
        assert place == "scopes" or "scope_id" in found[place], place


async def test_every_place_is_found_by_scope_with_an_index(tmp_path: Path) -> None:
    """Promise 14: erasing costs by what the scope holds, not by what the ledger holds."""
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK):
        pass
    connection = sqlite3.connect(tmp_path / "memory.db")
    for place in set(PLACES) - {"scopes"}:
        plan = connection.execute(f"explain query plan delete from {place} where scope_id = 1")
        assert all("SCAN" not in row[3] for row in plan.fetchall()), place
    connection.close()


async def test_the_settings_that_keep_promises_are_on(tmp_path: Path) -> None:
    """Durable on return, deleted means overwritten, references checked."""
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK) as ledger:
        for connection in (ledger._writer._connection, ledger._writer._sweeper._mover):
            read = {
                name: connection.execute(f"pragma {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "secure_delete", "foreign_keys")
            }
            assert read == {
                "journal_mode": "wal",
                "synchronous": 2,
                "secure_delete": 1,
                "foreign_keys": 1,
            }


async def test_a_ledger_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    known = memory()
    async with SqliteLedger.open(path, clock=CLOCK) as ledger:
        await store(ledger, known)
    steps = (
        *SHIPPED,
        Migration(NEXT, "create table later (a);\ncreate table last (b);"),
        Migration(NEXT + 1, "alter table later add column c;"),
    )
    async with SqliteLedger.open(path, clock=CLOCK, steps=steps) as ledger:
        assert await stored(ledger, known.id) == [known]
        await sound(ledger)
    assert version(path) == NEXT + 1
    assert tables(path)["later"] == ["a", "c"]


async def test_a_step_that_fails_leaves_nothing_of_itself(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with SqliteLedger.open(path, clock=CLOCK):
        pass
    broken = (*SHIPPED, Migration(NEXT, "create table later (a);\ncreate table later (b);"))
    with pytest.raises(Corrupt):
        await SqliteLedger.open(path, clock=CLOCK, steps=broken)
    assert version(path) == SHIPPED[-1].version
    assert "later" not in tables(path)
    async with SqliteLedger.open(path, clock=CLOCK) as ledger:
        await sound(ledger)


async def test_many_may_make_a_ledger_at_once(tmp_path: Path) -> None:
    """Each finds the same ledger; no step is taken twice."""
    path = tmp_path / "memory.db"
    ledgers = await asyncio.gather(*(SqliteLedger.open(path, clock=CLOCK) for _ in range(8)))
    known = memory()
    await store(ledgers[0], known)
    for ledger in ledgers:
        assert await stored(ledger, known.id) == [known]
        assert await ledger.subject(scope=known.scope) == await ledgers[0].subject(
            scope=known.scope
        )
    for ledger in ledgers:
        await ledger.close()


def test_steps_are_numbered_without_gaps() -> None:
    assert [step.version for step in SHIPPED] == list(range(1, len(SHIPPED) + 1))


def test_a_script_is_split_into_its_statements() -> None:
    script = "-- a; comment\ncreate table a (b text default ';');\n\nselect 1;\nselect 2"
    assert [each.strip().splitlines()[-1] for each in statements(script)] == [
        "create table a (b text default ';');",
        "select 1;",
        "select 2",
    ]


async def test_threads_of_an_older_ledger_are_found(tmp_path: Path) -> None:
    """Memories indexed before rows told their thread get it from their origins."""
    path = tmp_path / "memory.db"
    known = memory("old", origins=(Origin(at=START, thread_id="t_1"),))
    async with SqliteLedger.open(path, clock=CLOCK, steps=migrations()[:4]) as ledger:
        await store(ledger, known)
        fresh = await rows(ledger)
    connection = sqlite3.connect(path)
    for table in ("pass_steps", "merge_proposals", "passes", "tending"):
        connection.execute(f"drop table {table}")
    connection.execute("drop index memories_merged")
    for column in ("demoted_at", "merged_into"):
        connection.execute(f"alter table memories drop column {column}")
    for column in ("thread", "said_at", "recorded_at"):
        connection.execute(f"alter table memory_index drop column {column}")
    connection.execute("pragma user_version = 2")
    connection.commit()
    connection.close()
    async with SqliteLedger.open(path, clock=CLOCK) as ledger:
        found = await rows(ledger)
        assert found.threads != bytes(8)
        assert (found.threads, found.said_at, found.recorded_at) == (
            fresh.threads,
            fresh.said_at,
            fresh.recorded_at,
        )
        await sound(ledger)
