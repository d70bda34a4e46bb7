"""Opening a ledger: only a sound one of ours is touched; anything else says clearly why not."""

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.schema import APPLICATION_ID
from ricordo.errors import Corrupt, ForeignFile, Invalid, NotFound, Unavailable, WrongSchema
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import memory, sound, store, stored

CLOCK = HandClock()


def folder(path: Path) -> dict[str, bytes]:
    """Everything that lies there, byte for byte."""
    return {each.name: each.read_bytes() for each in path.iterdir() if each.is_file()}


async def refused(path: Path, kind: type[Exception], match: str, *, create: bool = True) -> None:
    """Opening fails so, and nothing in the directory changed."""
    before = folder(path.parent) if path.parent.is_dir() else {}
    with pytest.raises(kind, match=match) as caught:
        async with SqliteLedger.open(path, clock=CLOCK, create=create):
            pass
    assert type(caught.value) is kind
    assert str(path.parent) in str(caught.value)
    assert (folder(path.parent) if path.parent.is_dir() else {}) == before


def foreign_sqlite(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("create table their_own (text)")
    connection.execute("insert into their_own values ('data')")
    connection.commit()
    connection.close()


def foreign_with_log(path: Path) -> None:
    """Another program's file whose log is still to be read: opening would empty it."""
    other = path.with_name("source")
    connection = sqlite3.connect(other)
    connection.execute("pragma journal_mode = wal")
    connection.execute("create table their_own (text)")
    connection.commit()
    for suffix in ("", "-wal"):
        shutil.copy(f"{other}{suffix}", f"{path}{suffix}")
    connection.close()
    other.unlink()


def foreign_mark(path: Path) -> None:
    foreign_sqlite(path)
    connection = sqlite3.connect(path)
    connection.execute("pragma application_id = 1196444487")
    connection.close()


FOREIGN: dict[str, Callable[[Path], object]] = {
    "text": lambda path: path.write_text("Dear diary, " * 1_000),
    "short": lambda path: path.write_bytes(b"x"),
    "noise": lambda path: path.write_bytes(os.urandom(8_192)),
    "another program's": foreign_sqlite,
    "another program's mark": foreign_mark,
    "another program's log": foreign_with_log,
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_foreign_file_is_left_as_it_is(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    """Issue, item 2. Not even a log is left beside it."""
    path = tmp_path / "theirs.db"
    make(path)
    await refused(path, ForeignFile, "SQLite file|not a Ricordo ledger")


@pytest.mark.parametrize("live", [False, True], ids=["at rest", "with a log"])
async def test_a_newer_schema_is_left_as_it_is(tmp_path: Path, live: bool) -> None:
    path = tmp_path / "memory.db"
    await made(path)
    connection = sqlite3.connect(path)
    connection.execute("pragma user_version = 99")
    if not live:
        connection.close()
        await refused(path, WrongSchema, "Upgrade Ricordo")
        return
    with pytest.raises(WrongSchema, match="Upgrade Ricordo"):
        await SqliteLedger.open(path, clock=CLOCK)
    assert connection.execute("pragma user_version").fetchone() == (99,)
    connection.close()


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    await refused(tmp_path / "nowhere" / "memory.db", Invalid, "does not exist; create it first")


async def test_a_directory_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    await refused(tmp_path / "memory.db", Invalid, "is a directory")


async def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "memory.db")
    await refused(tmp_path / "memory.db", ForeignFile, "not a regular file")


async def test_a_path_with_a_nul_is_refused() -> None:
    with pytest.raises(Invalid, match="NUL"):
        await SqliteLedger.open("a\0b", clock=CLOCK)


async def test_a_missing_file_is_made_only_when_asked(tmp_path: Path) -> None:
    await refused(tmp_path / "memory.db", NotFound, "ricordo init", create=False)
    await made(tmp_path / "memory.db")
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK, create=False) as ledger:
        assert (await ledger.counts())["memories"] == 1


@pytest.mark.parametrize(
    "name", ["a b.db", "ä%20?mode=ro#x.db", "quo'te\".db", ":memory:", "-wal", "e\u0301.db"]
)
async def test_any_file_name_is_a_name(tmp_path: Path, name: str) -> None:
    """Nothing in a path is a parameter of SQLite's."""
    await made(tmp_path / name)
    assert [each for each, held in folder(tmp_path).items() if held] == [name]


async def test_a_file_cut_short_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    await made(path)
    os.truncate(path, path.stat().st_size - 4_096)
    await refused(path, Corrupt, "damaged")


async def test_a_log_that_was_being_moved_is_taken_up(tmp_path: Path) -> None:
    """`kill -9` during a checkpoint leaves a file shorter than its header says, and its log."""
    (tmp_path / "live").mkdir()
    (tmp_path / "dead").mkdir()
    known = memory()
    async with SqliteLedger.open(tmp_path / "live" / "memory.db", clock=CLOCK) as ledger:
        await store(ledger, known, *(memory(f"{number} " * 1_000) for number in range(20)))
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(tmp_path / "live" / name, tmp_path / "dead" / name)
    overwrite(tmp_path / "dead" / "memory.db", 28, (4_000).to_bytes(4, "big"))
    async with SqliteLedger.open(tmp_path / "dead" / "memory.db", clock=CLOCK) as ledger:
        assert await stored(ledger, known.id) == [known]
        await sound(ledger)


async def test_an_empty_file_beside_its_log_is_corrupt(tmp_path: Path) -> None:
    """SQLite would throw the log away, and with it everything."""
    path = tmp_path / "memory.db"
    make_empty(path, log=b"x" * 100)
    await refused(path, Corrupt, "is empty, but its log")


async def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    make_empty(path)
    await made(path)


async def test_damage_inside_is_corrupt(tmp_path: Path) -> None:
    """Found where it is met, and by the check; never an SQLite exception."""
    path = tmp_path / "memory.db"
    await made(path, memories=50)
    overwrite(path, 4_096, b"\xff" * (len(folder(tmp_path)["memory.db"]) - 4_096))
    with pytest.raises(Corrupt):
        async with SqliteLedger.open(path, clock=CLOCK) as ledger:
            await ledger.counts()


async def test_a_lost_secret_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    await made(path)
    connection = sqlite3.connect(path)
    connection.execute("delete from meta")
    connection.commit()
    connection.close()
    await refused(path, Corrupt, "secret")


READ_ONLY = """
import asyncio, os, sys
from datetime import UTC, datetime
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.schema import migrations
from ricordo.errors import Unavailable
steps = migrations()
if os.geteuid() == 0:
    os.setuid(65534)
async def main():
    try:
        await SqliteLedger.open(sys.argv[1], clock=lambda: datetime.now(UTC), steps=steps)
    except Unavailable as error:
        print(error)
asyncio.run(main())
"""


@pytest.mark.parametrize("sealed", ["file", "directory", "new"])
def test_what_may_not_be_written_is_refused(sealed: str) -> None:
    """A read-only path: a clear error, nothing changed. Tried without the power of root."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "memory.db"
        if sealed != "new":
            asyncio.run(made(path))
            path.chmod(0o444 if sealed == "file" else 0o666)
        before = folder(path.parent)
        path.parent.chmod(0o777 if sealed == "file" else 0o555)
        told = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        path.parent.chmod(0o777)
        assert "may not be written" in told.stdout, told.stderr
        assert folder(path.parent) == before


def test_the_mark_is_in_the_file_before_there_is_a_log(tmp_path: Path) -> None:
    """A ledger that died right after its making is still known as ours."""
    program = (
        "import asyncio, os, signal, sys\n"
        "from datetime import UTC, datetime\n"
        "from ricordo.adapters.sqlite import SqliteLedger\n"
        "async def main():\n"
        "    await SqliteLedger.open(sys.argv[1], clock=lambda: datetime.now(UTC))\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "asyncio.run(main())\n"
    )
    path = tmp_path / "memory.db"
    subprocess.run([sys.executable, "-c", program, str(path)], check=False, timeout=60)
    assert int.from_bytes(path.read_bytes()[68:72], "big") == APPLICATION_ID


async def test_two_ledgers_of_one_process_do_not_unlock_each_other(tmp_path: Path) -> None:
    """Closing one handle of a file drops all of a process's POSIX locks on it; ours must not."""
    path = tmp_path / "memory.db"
    program = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], timeout=0)\n"
        "connection.execute('pragma locking_mode = exclusive')\n"
        "try:\n"
        "    connection.execute('begin exclusive')\n"
        "    connection.execute('pragma user_version')\n"
        "    print('free')\n"
        "except sqlite3.OperationalError:\n"
        "    print('locked')\n"
    )

    def tried() -> str:
        told = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
        )
        return told.stdout.strip()

    async with SqliteLedger.open(path, clock=CLOCK) as first:
        async with SqliteLedger.open(path, clock=CLOCK) as second:
            await store(second, memory("one"))
            await second.scrub()
        with pytest.raises(ForeignFile):
            await SqliteLedger.open(make_foreign(tmp_path), clock=CLOCK)
        assert tried() == "locked"
        await store(first, memory("two"))
    assert tried() == "free"


async def test_opening_twice_and_awaiting_are_the_same(tmp_path: Path) -> None:
    one = await SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK)
    known = memory()
    await store(one, known)
    async with SqliteLedger.open(tmp_path / "memory.db", clock=CLOCK) as two:
        assert await stored(two, known.id) == [known]
    async with one:
        assert await stored(one, known.id) == [known]
    with pytest.raises(Unavailable):
        await one.latest()


def make_foreign(path: Path) -> Path:
    foreign_sqlite(path / "theirs.db")
    return path / "theirs.db"


def make_empty(path: Path, *, log: bytes = b"") -> None:
    path.touch()
    if log:
        Path(f"{path}-wal").write_bytes(log)


def overwrite(path: Path, place: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(place)
        file.write(data)


async def made(path: Path, *, memories: int = 1) -> None:
    async with SqliteLedger.open(path, clock=CLOCK) as ledger:
        for number in range(memories):
            await store(ledger, memory(f"text {number}"))


async def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """What is remembered of people is not for everybody on the machine, its log included."""
    async with SqliteLedger.open(tmp_path / "memory.db", clock=HandClock()):
        modes = modes_in(tmp_path)
    assert modes
    assert set(modes.values()) == {0o600}, modes


def modes_in(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
