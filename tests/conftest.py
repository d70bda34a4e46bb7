"""What tests of every room may ask for."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.support.places import Places
from tests.support.postgres import Server, started

KINDS = os.environ.get("RICORDO_TEST_POSTGRES", "pgserver").split(",")

# A client of Milvus talks over gRPC, whose core writes to standard error by itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

Servers = Callable[[str], Server]


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL servers by kind; each is started when it is first asked for."""
    with ExitStack() as running:
        yield cache(lambda kind: running.enter_context(started(kind)))


@pytest.fixture(scope="session", params=KINDS)
def postgres(request: pytest.FixtureRequest, servers: Servers) -> Server:
    """A running PostgreSQL server, of each kind that is to be tested."""
    return servers(request.param)


@pytest.fixture(scope="session")
def first_postgres(servers: Servers) -> Server:
    """One running PostgreSQL server, for what is about our side of the wire."""
    return servers(KINDS[0])


@pytest.fixture(scope="session")
def vectors_postgres(servers: Servers) -> Server:
    """The running PostgreSQL server that has pgvector."""
    return servers("pgserver")


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The name of a database with an empty ledger, of this test's own."""
    name = postgres.ledger()
    yield name
    postgres.give_back(name)


@pytest.fixture(params=["sqlite", KINDS[0]])
def places(request: pytest.FixtureRequest, servers: Servers, tmp_path: Path) -> Iterator[Places]:
    """Folders of this test, each with a memory of one engine to be opened in it."""
    server = None if request.param == "sqlite" else servers(request.param)
    with Places(tmp_path, server=server) as made:
        yield made


@pytest.fixture
def engine(places: Places, tmp_path: Path) -> str:
    """The engine of the memory that `tests.support.opening.opened` opens in `tmp_path`: a file
    there, or a database of this test's own, whose addresses lie there."""
    places.prepare(tmp_path)
    return places.engine
