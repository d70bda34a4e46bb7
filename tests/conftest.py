"""What tests of every room may ask for."""

import os
from collections.abc import Iterator

import pytest

from tests.support.postgres import Server, started

KINDS = os.environ.get("RICORDO_TEST_POSTGRES", "pgserver").split(",")


@pytest.fixture(scope="session", params=KINDS)
def postgres(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A running PostgreSQL server, of each kind that is to be tested."""
    with started(request.param) as server:
        yield server


@pytest.fixture
def database(postgres: Server) -> Iterator[str]:
    """The name of a database with an empty ledger, of this test's own."""
    name = postgres.ledger()
    yield name
    postgres.give_back(name)
