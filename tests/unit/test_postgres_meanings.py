"""Asking for searches in a database that cannot do them: each time what is missing, and whose turn
it is."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ricordo import Settings, open_memory
from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.founding import found
from ricordo.adapters.postgres.meanings import Meanings
from ricordo.errors import Invalid
from ricordo.testing.ledger.making import ALICE, memory, store
from ricordo.testing.naive import NOON
from tests.support.postgres import Server


@pytest.mark.parametrize(
    ("place", "has", "available", "used", "match"),
    [
        ("", None, None, False, "does not have the extension pgvector.*postgresql-NN-pgvector"),
        ("", None, "0.8.1", False, "not created in the database.*ricordo init --postgres"),
        ("public", "0.7.4", "0.8.1", False, "version 0.7.4, 0.8 is needed.*alter extension vector"),
        (
            "public",
            "0.8.1",
            "0.8.1",
            False,
            "does not use it yet.*init --postgres` again",
        ),
    ],
)
def test_what_is_missing_is_told_with_the_way_out(
    place: str, has: str | None, available: str | None, used: bool, match: str
) -> None:
    told = Meanings(place=place, version=has, available=available, used=used).missing
    assert told is not None
    assert re.search(match, told)
    assert Meanings(place="x", version="0.10.0", available="0.10.0", used=True).missing is None


async def test_a_server_as_it_is_installed_says_what_it_lacks(
    postgres: Server, database: str
) -> None:
    """Plain Debian PostgreSQL without pgvector: everything else works, and this says why not."""
    async with PostgresLedger.open(postgres.url(database), clock=lambda: NOON) as ledger:
        await store(ledger, memory("one"))
        if postgres.pgvector:
            await ledger.check_search()
        else:
            with pytest.raises(Invalid, match="does not have the extension pgvector"):
                await ledger.check_search()
            with pytest.raises(Invalid, match="does not have the extension pgvector"):
                await ledger.prepare(partition=memory("one").partition)
        assert (await ledger.counts(scope=ALICE))["search_rows"] == 0


@pytest.fixture
async def bare(vectors_postgres: Server) -> AsyncIterator[str]:
    """A ledger whose database lost pgvector."""
    name = vectors_postgres.empty()
    await found(vectors_postgres.admin(name), password="not-a-secret")
    vectors_postgres.run("drop extension vector cascade", database=name)
    yield name
    vectors_postgres.drop(name)


async def test_init_makes_what_is_missing(vectors_postgres: Server, bare: str) -> None:
    """Where the extension can be created, `ricordo init --postgres` creates and uses it."""
    url = vectors_postgres.url(bare)
    async with PostgresLedger.open(url, clock=lambda: NOON) as ledger:
        with pytest.raises(Invalid, match="not created in the database"):
            await ledger.check_search()
        early = ledger
        assert (await found(vectors_postgres.admin(bare))).lacking is None
        async with PostgresLedger.open(url, clock=lambda: NOON) as later:
            await later.check_search()
            known = memory("one")
            await store(later, known)
            while not await later.prepare(partition=known.partition):
                pass
        await store(early, memory("two"))
        assert (await early.counts(scope=ALICE))["search_rows"] == 2
        assert not [finding for finding in await early.check() if finding.problem]


async def test_where_it_cannot_be_created_the_rest_is_made(vectors_postgres: Server) -> None:
    """Here nobody may put anything into the schema `public`, for it was removed."""
    name = vectors_postgres.empty()
    vectors_postgres.run("drop schema public", database=name)
    made = await found(vectors_postgres.admin(name), password="not-a-secret")
    assert made.lacking is not None
    assert "create extension vector" in made.lacking
    vectors_postgres.run(
        "create schema extensions", "create extension vector schema extensions", database=name
    )
    assert (await found(vectors_postgres.admin(name))).lacking is None
    async with PostgresLedger.open(vectors_postgres.url(name), clock=lambda: NOON) as ledger:
        known = memory("one")
        await store(ledger, known)
        while not await ledger.prepare(partition=known.partition):
            pass
        assert (await ledger.counts(scope=ALICE))["search_rows"] == 1
    vectors_postgres.drop(name)


@pytest.mark.parametrize("kind", ["file", "server"])
async def test_asking_for_it_where_it_cannot_be_fails_at_opening(
    kind: str, vectors_postgres: Server, bare: str, tmp_path: Path
) -> None:
    """Not at the first question; the message names the setting."""
    address = str(tmp_path / "memory.db") if kind == "file" else vectors_postgres.url(bare)
    match = "needs a memory in PostgreSQL" if kind == "file" else "pgvector is not created"
    with pytest.raises(Invalid, match=match) as refused:
        async with open_memory(address, settings=Settings(search_in_database_from=1_000)):
            pass
    assert "search_in_database_from" in str(refused.value)
    async with open_memory(address):
        pass


def test_two_places_for_large_partitions_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="unset one of them"):
        Settings(search_in_database_from=1, vector_view={"provider": "qdrant"})
