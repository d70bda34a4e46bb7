"""A standby beside a PostgreSQL server of the tests: a second one that repeats all that it does."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg

from tests.support.postgres import PASSWORD, ROLE, Server

WAIT = 60.0
"""Seconds in which servers find each other."""


@contextmanager
def standby_of(primary: Server) -> Iterator[Server]:
    """A running standby, without which the primary acknowledges no commit."""
    folder = Path(tempfile.mkdtemp(prefix="ricordo-pg-", dir="/tmp"))
    try:
        if primary.user is not None:
            shutil.chown(folder, primary.user)
        standby = _copied(primary, folder)
        standby.again()
        try:
            # What was acknowledged can be seen there, too.
            primary.run("alter system set synchronous_commit = 'remote_apply'")
            primary.run("alter system set synchronous_standby_names = '*'")
            primary.run("select pg_reload_conf()")
            _until(primary, "select count(*) from pg_stat_replication where sync_state = 'sync'")
            yield standby
        finally:
            standby.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def promote(standby: Server) -> None:
    """Let it be the primary from now on, as whoever watches over servers does."""
    standby.run("select pg_promote(true, 60)")


def url_of(servers: list[Server], database: str) -> str:
    """One address of several servers, of which whichever takes writes is meant."""
    hosts = ",".join(quote(str(server.folder), safe="") for server in servers)
    return (
        f"postgresql://{ROLE}:{PASSWORD}@/{database}?host={hosts}&target_session_attrs=read-write"
    )


def _copied(primary: Server, folder: Path) -> Server:
    """The primary as it is now, in another folder, told to follow it."""
    rules = primary.folder / "data" / "pg_hba.conf"
    rules.write_text("local replication postgres trust\n" + rules.read_text())
    primary.run("select pg_reload_conf()")
    tool = Path(primary.command[0]).parent / "pg_basebackup"
    data = folder / "data"
    subprocess.run(
        [
            *(tool, "--host", primary.folder, "--username", "postgres", "--pgdata", data),
            *("--write-recovery-conf", "--checkpoint", "fast", "--wal-method", "stream"),
        ],
        check=True,
        capture_output=True,
        user=primary.user,
        cwd=folder,
        timeout=120,
    )
    moved = {str(primary.folder): str(folder), str(primary.folder / "data"): str(data)}
    command = [moved.get(part, part) for part in primary.command]
    return Server(folder, command=command, user=primary.user)


def _until(server: Server, question: str) -> None:
    until = time.monotonic() + WAIT
    with psycopg.connect(server.admin(), autocommit=True) as connection:
        while not (connection.execute(question.encode()).fetchone() or (0,))[0]:
            if time.monotonic() > until:
                raise RuntimeError(f"a standby did not become ready: {question}")
            time.sleep(0.05)
