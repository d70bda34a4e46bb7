"""Moving a ledger as a whole: everything goes along, at any instant it can be interrupted, and what
is not complete is not opened."""

import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.moving import STAYS, SqliteMovable, filling, reading
from ricordo.adapters.sqlite.places import PLACES, SCOPELESS
from ricordo.columns.moved import COUNTED, MOVED
from ricordo.errors import Conflict, Corrupt, Erased, NotFound, Unavailable, WrongSchema
from ricordo.memory.moving import Migration, Outcome
from ricordo.memory.moving.planning import plan
from ricordo.ports import Ledger
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    COMMON,
    OTHER_ALICE,
    PLATFORM,
    START,
    memory,
    sound,
    store,
    turn,
)
from ricordo.testing.ledger.removals import fill


async def filled(ledger: Ledger) -> None:
    """Something in every place of several scopes, and one that was erased."""
    for scope in (ALICE, BOB, COMMON, PLATFORM):
        await fill(ledger, scope, text=f"Something of {scope}")
    await fill(ledger, OTHER_ALICE, text="Gone")
    await ledger.write(lambda tx: tx.erase(scope=OTHER_ALICE, at=START), scope=OTHER_ALICE)
    await ledger.acknowledge("a consumer", 3)
    build = (await ledger.builds())[0]
    await ledger.mark(build, marks={(await ledger.subject(scope=BOB), "fact"): 7})


@pytest.fixture
async def source(tmp_path: Path) -> Path:
    path = tmp_path / "source.db"
    async with SqliteLedger.open(path, clock=HandClock()) as ledger:
        await filled(ledger)
    return path


@asynccontextmanager
async def both(source: Path, target: Path) -> AsyncGenerator[tuple[SqliteMovable, SqliteMovable]]:
    async with reading(source) as one, filling(target) as other:
        yield one, other


async def moved(source: Path, target: Path, *, restart: bool = False) -> Outcome:
    async with both(source, target) as (one, other):
        migration = Migration(one, other, plan=await plan(one, other, restart=restart))
        await migration.begin(restart=restart)
        assert [more async for more in migration.move()]
        assert [more async for more in migration.verify()]
        return await migration.finish()


def content(path: Path) -> dict[str, list[tuple]]:
    """Every row of every table."""
    with closing(sqlite3.connect(path)) as file:
        names = [
            name
            for (name,) in file.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite_s%'"
            )
        ]
        return {
            name: sorted(map(repr, file.execute(f"select * from {name}")))
            for name in (*names, "sqlite_sequence")
        }


def test_every_table_and_column_is_moved_or_explained(source: Path) -> None:
    """A table or column that is added later, and forgotten by the move, is found by this test."""
    assert {table.name for table in MOVED} | set(STAYS) == set(PLACES) | SCOPELESS
    with closing(sqlite3.connect(source)) as file:
        for table in MOVED:
            kept = file.execute(f"pragma table_info({table.name})").fetchall()
            assert set(table.columns) == {column[1] for column in kept}, table.name
            named = {column[1] for column in kept if column[5]}
            assert set(table.key) == named, table.name
        counted = {name for (name,) in file.execute("select name from sqlite_sequence")}
    assert counted == set(COUNTED)


def test_what_names_a_row_in_a_message_is_no_text() -> None:
    """Differences are named by table and id, never by text."""
    words = {"text", "name", "key", "quote", "payload", "claim", "reason", "changes", "value"}
    for table in MOVED:
        assert not words & set(table.shown) or table.name == "consumers", table.name


async def test_everything_goes_along(source: Path, tmp_path: Path) -> None:
    """Rows, the secret, and the counters; the target is sound, and nothing is left of the move."""
    with closing(sqlite3.connect(source)) as file:
        empty = [name for name in PLACES if not file.execute(f"select 1 from {name}").fetchone()]
    assert empty == []
    before = content(source)
    outcome = await moved(source, tmp_path / "target.db")
    assert outcome.sound
    assert content(tmp_path / "target.db") == before == content(source)
    assert outcome.sums["memories"].rows == len(before["memories"])
    async with SqliteLedger.open(tmp_path / "target.db", clock=HandClock()) as ledger:
        await sound(ledger)


async def test_an_erased_person_stays_erased(source: Path, tmp_path: Path) -> None:
    """Promise 11: the hash that is left of a person means the same in the target."""
    await moved(source, tmp_path / "target.db")
    async with SqliteLedger.open(tmp_path / "target.db", clock=HandClock()) as ledger:
        assert sum((await ledger.counts(scope=OTHER_ALICE)).values()) == 0
        with pytest.raises(Erased):
            await store(ledger, memory("Back again", scope=OTHER_ALICE))
        with pytest.raises(Erased):
            await ledger.accept(turn(9), scope=OTHER_ALICE)


async def test_numbers_go_on_where_they_stopped(source: Path, tmp_path: Path) -> None:
    """Scopes, jobs, events and builds get numbers that the source never gave, not even to what was
    removed there since."""
    async with SqliteLedger.open(source, clock=HandClock()) as ledger:
        late = OTHER_ALICE.__class__(tenant="acme", user="late")
        await ledger.accept(turn(1), scope=late)
        await ledger.write(lambda tx: tx.erase(scope=late, at=START), scope=late)
        for build in await ledger.builds():
            await ledger.dismiss(build)
    before = counters(source)
    await moved(source, tmp_path / "target.db")
    assert counters(tmp_path / "target.db") == before
    assert before["scopes"] > 5


def counters(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as file:
        return dict(file.execute("select name, seq from sqlite_sequence"))


class Stop(Exception):
    """The process is killed here."""


class Dying(SqliteMovable):
    """Dies after so many pages, before or after the one that it was to add."""

    left = 0

    async def put(self, *args, **more) -> None:
        await self._dying(super().put, *args, **more)

    async def link(self, *args, **more) -> None:
        await self._dying(super().link, *args, **more)

    async def _dying(self, add: Callable[..., Awaitable[None]], *args, **more) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stop
        await add(*args, **more)
        if self.left == 1:
            raise Stop


async def test_it_goes_on_wherever_it_was_interrupted(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed again and again, each time one page further: the end is the same."""
    monkeypatch.setattr("ricordo.memory.moving.migration.PAGE", 2)
    target = tmp_path / "target.db"
    deaths, progress = 0, [0]
    while True:
        async with both(source, target) as (one, other):
            dying = Dying(other._connection, name=other.name, thread=other._thread)
            dying.left = 3 + deaths % 2
            found = await plan(one, dying, restart=False)
            assert found.note.moved >= progress[-1]
            progress.append(found.note.moved)
            migration = Migration(one, dying, plan=found)
            await migration.begin()
            try:
                async for _ in migration.move():
                    pass
            except Stop:
                deaths += 1
                continue
            async for _ in migration.verify():
                pass
            assert (await migration.finish()).sound
            break
    assert deaths > len(MOVED)
    assert content(target) == content(source)


async def begun(source: Path, target: Path) -> None:
    """A move that was interrupted after its first page."""
    async with both(source, target) as (one, other):
        migration = Migration(one, other, plan=await plan(one, other, restart=False))
        await migration.begin()
        steps = migration.move()
        await anext(steps)
        assert await anext(steps) == 4
        await steps.aclose()


async def test_what_is_not_complete_is_not_opened(source: Path, tmp_path: Path) -> None:
    """Until it was compared, the message says how to go on, or to begin again."""
    target = tmp_path / "target.db"
    await begun(source, target)
    with pytest.raises(Unavailable, match=r"Run the same command again .* or with --restart"):
        await SqliteLedger.open(target, clock=HandClock())
    with pytest.raises(Unavailable, match="itself being filled"):
        await moved(target, tmp_path / "third.db")
    assert (await moved(source, target)).sound
    async with SqliteLedger.open(target, clock=HandClock()) as ledger:
        await sound(ledger)


async def test_only_an_empty_ledger_is_filled(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    async with SqliteLedger.open(target, clock=HandClock()) as ledger:
        await store(ledger, memory("Somebody else's"))
    before = content(target)
    for restart in (False, True):
        with pytest.raises(Conflict, match=r"is not empty \(.*1 memories.*\)"):
            await moved(source, target, restart=restart)
    assert content(target) == before
    await moved(source, tmp_path / "other.db")
    for each in (source, tmp_path / "other.db"):
        with pytest.raises(Conflict, match="the one to be moved, or was filled from it"):
            await moved(source, each)


async def test_an_empty_ledger_that_was_made_before_will_do(source: Path, tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "target.db", clock=HandClock()):
        pass
    assert (await moved(source, tmp_path / "target.db")).sound


async def test_two_sources_do_not_mix(source: Path, tmp_path: Path) -> None:
    target, another = tmp_path / "target.db", tmp_path / "another.db"
    await begun(source, target)
    async with SqliteLedger.open(another, clock=HandClock()) as ledger:
        await store(ledger, memory("Another's"))
    with pytest.raises(Conflict, match="from another ledger"):
        await moved(another, target)
    assert (await moved(another, target, restart=True)).sound
    assert content(target) == content(another)


async def test_two_moves_into_one_do_not_mix(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    await begun(source, target)
    async with both(source, target) as (one, other), both(source, target) as (third, fourth):
        first = Migration(one, other, plan=await plan(one, other, restart=False))
        second = Migration(third, fourth, plan=await plan(third, fourth, restart=False))
        async for _ in first.move():
            break
        async for _ in second.move():
            pass
        with pytest.raises(Conflict, match="another `ricordo migrate`"):
            async for _ in first.move():
                pass


async def test_a_source_that_changed_is_told_at_once_when_going_on(
    source: Path, tmp_path: Path
) -> None:
    target = tmp_path / "target.db"
    await begun(source, target)
    async with SqliteLedger.open(source, clock=HandClock()) as ledger:
        await store(ledger, memory("Meanwhile"), first_seed=9)
    with pytest.raises(Conflict, match=r"changed since .* --restart"):
        await moved(source, target)
    assert (await moved(source, target, restart=True)).sound
    assert content(target) == content(source)


async def test_a_source_that_changes_meanwhile_is_told_at_the_end(
    source: Path, tmp_path: Path
) -> None:
    """Nobody opens a target that lacks what was written while it was filled."""
    target = tmp_path / "target.db"
    async with both(source, target) as (one, other):
        migration = Migration(one, other, plan=await plan(one, other, restart=False))
        await migration.begin()
        async for _ in migration.move():
            pass
        async with SqliteLedger.open(source, clock=HandClock()) as ledger:
            await store(ledger, memory("Meanwhile"), first_seed=9)
        async for _ in migration.verify():
            pass
        with pytest.raises(Conflict, match=r"changed since .* --restart"):
            await migration.finish()
    with pytest.raises(Unavailable, match="not complete"):
        await SqliteLedger.open(target, clock=HandClock())


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        ("update memories set text = 'Something else' where row = 1", "changed"),
        ("update memories set recalls = recalls + 1 where row = 1", "changed"),
        ("update memory_index set vector = zeroblob(16) where memory_row = 1", "changed"),
        ("delete from origins where row = 1", "missing"),
        ("delete from erasures", "missing"),
        ("insert into consumers (name, position) values ('extra', 1)", "extra"),
        ("update outbox set payload = '{}' where position = 2", "changed"),
    ],
)
async def test_a_difference_is_named_and_keeps_the_target_shut(
    source: Path, tmp_path: Path, damage: str, what: str
) -> None:
    """By table and id, never by text."""
    target = tmp_path / "target.db"
    async with both(source, target) as (one, other):
        migration = Migration(one, other, plan=await plan(one, other, restart=False))
        await migration.begin()
        async for _ in migration.move():
            pass
        with closing(sqlite3.connect(target)) as file, file:
            file.execute(damage)
        async for _ in migration.verify():
            pass
        outcome = await migration.finish()
    assert not outcome.sound
    (found,) = outcome.differences
    assert found.what == what
    assert found.table in damage
    assert "omething" not in found.row
    assert "=" in found.row
    with pytest.raises(Unavailable, match="not complete"):
        await SqliteLedger.open(target, clock=HandClock())


async def test_many_differences_are_counted_out(source: Path, tmp_path: Path) -> None:
    """The first ones of each table are named."""
    async with SqliteLedger.open(source, clock=HandClock()) as ledger:
        await store(ledger, *(memory(f"Number {n}") for n in range(30)), first_seed=20)
    target = tmp_path / "target.db"
    async with both(source, target) as (one, other):
        migration = Migration(one, other, plan=await plan(one, other, restart=False))
        await migration.begin()
        async for _ in migration.move():
            pass
        with closing(sqlite3.connect(target)) as file, file:
            file.execute("update memories set recalls = 5")
        async for _ in migration.verify():
            pass
        assert len((await migration.finish()).differences) == 20


async def test_nothing_begun_is_nothing_to_clear(source: Path) -> None:
    """What removes everything refuses to, unless a move brought it."""
    before = content(source)
    async with filling(source) as end:
        with pytest.raises(Conflict, match="nothing to begin again"):
            await end.clear()
    assert content(source) == before


async def test_a_note_of_another_version_is_told(source: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    await begun(source, target)
    with closing(sqlite3.connect(target)) as file, file:
        file.execute("update meta set value = ? where name = 'moving'", (b"{}",))
    with pytest.raises(Corrupt, match="another version"):
        await moved(source, target)
    assert (await moved(source, target, restart=True)).sound


async def test_the_source_is_only_read(source: Path, tmp_path: Path) -> None:
    """An older one is not even brought up to date; where there is none, none is made."""
    kept = content(source)
    await moved(source, tmp_path / "target.db")
    assert content(source) == kept
    with closing(sqlite3.connect(source)) as file, file:
        file.execute("pragma user_version = 4")
    with pytest.raises(WrongSchema, match="ricordo doctor"):
        await moved(source, tmp_path / "again.db")
    with closing(sqlite3.connect(source)) as file:
        assert file.execute("pragma user_version").fetchone() == (4,)
    with pytest.raises(NotFound):
        await moved(tmp_path / "nowhere.db", tmp_path / "again.db")
    assert not (tmp_path / "nowhere.db").exists()
