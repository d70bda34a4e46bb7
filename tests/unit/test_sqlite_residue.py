"""Promise 11, byte by byte: what was removed cannot be read in the files any more."""

import random
import secrets
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.rawfile import RawFiles
from ricordo.adapters.sqlite.sweeping import Sweeper
from ricordo.adapters.sqlite.wiping import gap, logged_pages, wipe
from ricordo.model import UserScope
from ricordo.ports import Writing
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import (
    ALICE,
    BOB,
    SPACE,
    entity,
    graph,
    indexed,
    memory,
    origin,
    relation,
    replace_with,
    sound,
    store,
    turn,
)
from ricordo.testing.ledger.removals import fill


def everything(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


def encodings(text: str) -> Iterator[bytes]:
    yield text.encode()
    yield text.encode("ascii", "backslashreplace")
    yield text.casefold().encode()


@pytest.mark.parametrize(
    "text",
    [
        "Geheimnis von Zürich",
        "秘密の言葉がここにある",
        "🦉🔑🦉🔑 emoji only",
        "tabs\tand\nnewlines\r\n\x01\x7f",
        '\'; drop table memories; -- "secret"',
        "long: " + "a secret sentence, " * 400,
    ],
    ids=["umlaut", "cjk", "emoji", "control", "quotes", "overflow pages"],
)
async def test_erased_text_is_in_no_file(tmp_path: Path, text: str) -> None:
    clock = HandClock()
    async with SqliteLedger.open(tmp_path / "memory.db", clock=clock) as ledger:
        mark = secrets.token_hex(8)
        scope = UserScope(tenant="acme", user=f"user-{mark}")
        await fill(ledger, BOB, text="kept")
        await fill(ledger, scope, text=f"{mark} {text[:120]}")
        await store(ledger, memory(f"{mark} {text}", scope=scope), memory("kept", scope=ALICE))
        assert mark.encode() in everything(tmp_path)
        at = clock.forward(1)
        await ledger.write(lambda tx: tx.erase(scope=scope, at=at), scope=scope)
        assert await ledger.scrub()
        left = everything(tmp_path)
        assert mark.encode() not in left
        for form in encodings(text):
            assert form[:24] not in left
        assert b"kept" in left
        await sound(ledger)


async def test_forgotten_text_and_its_history_are_in_no_file(tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "memory.db", clock=HandClock()) as ledger:
        marks = [secrets.token_hex(8) for _ in range(5)]
        going = memory(marks[0], origins=(origin(quote=marks[1]),))
        kept = memory("kept")
        a, b = entity(marks[2]), entity("b", aliases=("c",))
        await store(ledger, going, kept)
        await replace_with(ledger, replace(going, text=marks[3] * 300, version=2), seed=2)
        await graph(
            ledger,
            [a, b],
            [
                relation(a, b, going, origins=going.origins),
                relation(b, b, kept, going, origins=(*kept.origins, *going.origins)),
            ],
        )
        await ledger.write(lambda tx: tx.remove([going.id], scope=ALICE), scope=ALICE)
        assert await ledger.scrub()
        left = everything(tmp_path)
        assert not [mark for mark in marks if mark.encode() in left]
        await sound(ledger)


async def test_a_finished_turn_s_words_are_in_no_file(tmp_path: Path) -> None:
    """The queue keeps ids of what it is done with, never words."""
    clock = HandClock()
    async with SqliteLedger.open(tmp_path / "memory.db", clock=clock) as ledger:
        marks = [secrets.token_hex(8) for _ in range(20)]
        for number, mark in enumerate(marks):
            await ledger.accept(turn(number, text=mark * (1 + 200 * (number % 2))), scope=ALICE)
        batch = await ledger.claim(at=clock.now, size=20, patience=0, lease=60)
        assert batch
        await ledger.write(lambda tx: tx.finish(batch), scope=ALICE)
        assert await ledger.scrub()
        left = everything(tmp_path)
        assert not [mark for mark in marks if mark.encode() in left]


async def test_nothing_stays_in_the_gaps_of_pages(tmp_path: Path) -> None:
    """Splitting and joining pages leaves copies that SQLite does not know of; see `wiping`."""
    scopes = [UserScope(tenant="acme", user=name) for name in ("going", "staying")]
    clock = HandClock()
    gone: list[str] = []
    held: dict[UserScope, list[tuple[str, str]]] = {scope: [] for scope in scopes}

    async def work(tx: Writing, scope: UserScope, step: int) -> None:
        for number in range(40):
            mark = secrets.token_hex(8)
            if number % 4 == 3:
                memory_id, text = held[scope].pop(secrets.randbelow(len(held[scope])))
                await tx.remove([memory_id], scope=scope)
                gone.append(text)
                continue
            each = memory(mark * (1, 2, 12, 60)[(number + step) % 4], scope=scope)
            ends = [entity(f"{mark}{end}", scope=scope) for end in "ab"]
            await tx.put(each, indexed=indexed(3), space=SPACE)
            for end in ends:
                await tx.put_entity(end)
            await tx.put_relation(relation(*ends, each))
            held[scope].append((each.id, mark))

    async with SqliteLedger.open(tmp_path / "memory.db", clock=clock) as ledger:
        for step in range(40):
            scope = scopes[step % 2]
            await ledger.write(
                lambda tx, scope=scope, step=step: work(tx, scope, step), scope=scope
            )
        assert await ledger.scrub()
        left = everything(tmp_path)
        assert not [mark for mark in gone if mark.encode() in left]
        at = clock.forward(1)
        await ledger.write(lambda tx: tx.erase(scope=scopes[0], at=at), scope=scopes[0])
        assert await ledger.scrub()
        left = everything(tmp_path)
        assert not [mark for _, mark in held[scopes[0]] if mark.encode() in left]
        assert all(mark.encode() in left for _, mark in held[scopes[1]])
        await sound(ledger)


def split(path: Path) -> list[str]:
    """Make pages split, then delete; the marks that were deleted. No wiping happens here."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma secure_delete = on")
    connection.execute("pragma synchronous = off")
    connection.execute("create table t (id integer primary key, text text)")
    connection.execute("create index i on t (text)")
    marks: list[str] = []
    chance = random.Random(7)  # every run splits the same pages
    for number in range(4_000):
        marks.append(chance.randbytes(8).hex())
        connection.execute(
            "insert into t values (?, ?)", (number * 7919 % 4_001, marks[-1] * (1 + number % 9))
        )
        if number % 3 == 0:
            connection.execute("delete from t where id = ?", (chance.randrange(4_001),))
    connection.execute("delete from t where id % 5 <> 0")
    alive = "".join(row[0] for row in connection.execute("select text from t"))
    connection.close()
    return [mark for mark in marks if mark not in alive]


def test_wiping_removes_what_secure_delete_leaves(tmp_path: Path) -> None:
    """The leftovers are real; wiping takes them, and nothing else."""
    path = tmp_path / "split.db"
    gone = split(path)
    before = path.read_bytes()
    assert [mark for mark in gone if mark.encode() in before], "SQLite mended it: drop `wiping`"
    file = RawFiles().hold(path)
    pages = range(1, len(before) // 4_096 + 1)
    assert wipe(file, pages) > 0
    assert wipe(file, [0, *pages, 10**6]) == 0
    file.release()
    after = path.read_bytes()
    assert not [mark for mark in gone if mark.encode() in after]
    connection = sqlite3.connect(path)
    assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    connection.close()


@pytest.mark.parametrize("between", [False, True])
def test_what_others_write_after_a_sweep_is_wiped_too(tmp_path: Path, between: bool) -> None:
    """Promise 11. A sweep is spared only where nobody has committed since the last one."""
    path = tmp_path / "split.db"
    file = RawFiles().hold(path)
    writer, mover, other = (sqlite3.connect(path, isolation_level=None) for _ in range(3))
    for connection in (writer, mover, other):
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma wal_autocheckpoint = 0")
    sweeper = Sweeper(writer, mover, file=file, log=Path(f"{path}-wal"))
    other.execute("create table before (x)")
    assert sweeper.sweep()
    if between:
        gone = split(path)
    else:
        other.execute("create table meanwhile (x)")
        assert sweeper.empty(patience=5)
        gone = split(path)
        assert sweeper.sweep()
    assert sweeper.empty(patience=5)
    left = everything(tmp_path)
    assert not [mark for mark in gone if mark.encode() in left]
    for connection in (writer, mover, other):
        connection.close()
    file.release()


def test_the_log_names_its_pages(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table t (text)")
    log = Path(f"{path}-wal")
    assert logged_pages(log) == {1, 2}
    log.write_bytes(log.read_bytes()[:-100])
    assert logged_pages(log) < {1, 2}
    assert logged_pages(tmp_path / "none") == set()
    connection.close()


@pytest.mark.parametrize("sort", [0, 1, 255, 3])
def test_only_pages_of_trees_have_a_gap(sort: int) -> None:
    """Overflow and free pages hold nothing but payload, or zeroes."""
    assert gap(bytes([sort]) + b"\0" * 4_095, first=False) == (0, 0)


def test_a_gap_lies_between_the_list_and_the_cells() -> None:
    leaf = bytes([13, 0, 0, 0, 2, 0x0F, 0x00, 0]) + b"\0" * 4_088
    assert gap(leaf, first=False) == (12, 0x0F00)
    interior = bytes([5, 0, 0, 0, 2, 0x0F, 0x00, 0]) + b"\0" * 4_088
    assert gap(interior, first=False) == (16, 0x0F00)
    assert gap(b"\0" * 100 + leaf[:-100], first=True) == (112, 0x0F00)
    damaged = bytes([13, 0, 0, 0xFF, 0xFF, 0x00, 0x01, 0]) + b"\0" * 4_088
    assert gap(damaged, first=False) == (0, 0)
