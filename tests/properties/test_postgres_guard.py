"""Promise 1, in the server: whoever connects as the program sees no scope that it did not enter.

Raw SQL, as somebody who found the program's password, or as a bug in our own statements, would run.
"""

from collections.abc import Iterator

import psycopg
import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.founding import found
from ricordo.adapters.postgres.places import PLACES, SCOPELESS
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.errors import Denied
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import ALICE, BOB, OTHER_ALICE
from ricordo.testing.ledger.removals import fill
from tests.support.postgres import Server
from tests.support.searching import prepared

SEARCHED = {"search_rows", "search_totals", "search_partitions"}
"""Places that only a server with pgvector fills."""


@pytest.fixture
async def filled(postgres: Server, database: str) -> str:
    """A ledger in which three people have something in every place."""
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        for scope in (ALICE, BOB, OTHER_ALICE):
            await fill(ledger, scope, text=f"A secret of {scope.tenant} {scope.user}")
            if postgres.pgvector:
                await prepared(ledger, scope)
    return database


@pytest.fixture
def raw(postgres: Server, filled: str) -> Iterator[psycopg.Connection]:
    """A connection as the program's role."""
    with psycopg.connect(postgres.url(filled), options="-c search_path=ricordo") as connection:
        yield connection


def _count(raw: psycopg.Connection, place: str) -> int:
    return raw.execute(f"select count(*) from {place}".encode()).fetchone()[0]


def test_a_forgotten_scope_gives_no_row(raw: psycopg.Connection) -> None:
    assert {place: _count(raw, place) for place in PLACES} == dict.fromkeys(PLACES, 0)


@pytest.mark.parametrize("wrong", ["", "0", "999999", "-1"])
def test_a_scope_that_is_none_gives_no_row(raw: psycopg.Connection, wrong: str) -> None:
    raw.execute("select set_config('ricordo.scope', %s, true)", (wrong,))
    assert not any(_count(raw, place) for place in PLACES)


def test_another_tenant_s_rows_are_not_read(raw: psycopg.Connection, postgres: Server) -> None:
    """Having entered one scope, no statement reads, changes or removes another's rows."""
    number = raw.execute("select enter_writing('user', 'acme', 'alice')").fetchone()[0]
    mine = {place: _count(raw, place) for place in PLACES}
    bare = set() if postgres.pgvector else SEARCHED
    assert {place for place, count in mine.items() if not count} == bare
    texts = raw.execute("select text from memories").fetchall()
    assert all("acme alice" in text for (text,) in texts)
    for place in PLACES:
        column = "id" if place == "scopes" else "scope_id"
        found = raw.execute(f"select count(*) from {place} where {column} <> {number}".encode())
        assert found.fetchone() == (0,)
    changed = raw.execute("update memories set text = 'taken'")
    assert changed.rowcount == mine["memories"]
    for place in PLACES:
        assert raw.execute(f"delete from {place}".encode()).rowcount <= mine[place]
    raw.execute("select enter_reading('{user}', '{acme}', '{bob}')")
    assert all("acme bob" in text for (text,) in raw.execute("select text from memories"))
    assert all(_count(raw, place) for place in PLACES if place not in bare)


def test_words_are_found_in_entered_scopes_only(
    raw: psycopg.Connection, postgres: Server, filled: str
) -> None:
    """The one function that looks past the rules of `search_rows` looks by them all the same."""
    for entering in (
        "select set_config('ricordo.scope', '', true)",
        "select enter_reading('{user}', '{acme}', '{bob}')",
    ):
        raw.execute(entering.encode())
        assert _words(raw, postgres, filled) == []
    raw.execute("select enter_reading('{user}', '{acme}', '{alice}')")
    assert bool(_words(raw, postgres, filled)) is bool(postgres.pgvector)


def _words(raw: psycopg.Connection, server: Server, database: str) -> list[tuple]:
    """What is found of every word that one of Alice's partitions holds."""
    with psycopg.connect(server.admin(database), options="-c search_path=ricordo") as admin:
        known = admin.execute(
            "select r.partition_id, r.space_id, array_agg(u.lexeme) from search_rows r "
            "join scopes s on s.id = r.scope_id and s.tenant = 'acme' and s.owner = 'alice', "
            "unnest(r.words) u group by 1, 2 limit 1"
        ).fetchone()
    if known is None:
        return []
    whose, which, words = known
    return raw.execute(
        "select * from find_words(%s, %s, null, %s, %s, %s, 10, 10, 10)",
        (whose, which, *([words] * 3)),
    ).fetchall()


def test_nothing_is_written_into_another_s_scope(raw: psycopg.Connection) -> None:
    theirs = raw.execute("select enter_writing('user', 'acme', 'bob')").fetchone()[0]
    raw.execute("select enter_writing('user', 'acme', 'alice')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        raw.execute(
            "insert into audit (scope_id, at, act, done_by, subjects) values (%s, 0, '', '', '')",
            (theirs,),
        )
    raw.rollback()
    raw.execute("select enter_writing('user', 'acme', 'alice')")
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        raw.execute("update memories set scope_id = %s", (theirs,))


def test_a_scope_ends_with_its_transaction(raw: psycopg.Connection) -> None:
    """A connection of the pool carries nothing from one caller to the next."""
    raw.execute("select enter_writing('user', 'acme', 'alice')")
    raw.commit()
    assert _count(raw, "memories") == 0


def test_the_program_s_role_owns_nothing_and_can_become_nobody(raw: psycopg.Connection) -> None:
    role = raw.execute(
        "select rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication from pg_roles "
        "where rolname = current_user"
    ).fetchone()
    assert role == (False,) * 5
    owned = raw.execute(
        "select count(*) from pg_class where relowner = (select oid from pg_roles "
        "where rolname = current_user)"
    ).fetchone()
    assert owned == (0,)
    for statement in (
        "set role ricordo_owner",
        "set role ricordo_operator",
        "set role ricordo_mover",
        "set role ricordo_finder",
        "alter table memories disable row level security",
        "alter table memories no force row level security",
        "drop policy entered on memories",
        "create policy mine on memories using (true)",
        "create table ricordo.mine ()",
        "select * from pg_authid",
        "truncate memories",
        "update meta set value = ''",
        "create or replace function seen() returns bigint[] language sql as 'select array[1]'",
    ):
        with pytest.raises(psycopg.errors.Error) as refused:
            raw.execute(statement.encode())
        assert refused.value.sqlstate == "42501", statement
        raw.rollback()


def test_what_looks_over_all_scopes_shows_no_text(raw: psycopg.Connection) -> None:
    """The functions of the operator give ids, counts and announcements, and read nothing else."""
    told = []
    for call in (
        "all_scopes()",
        "count_rows()",
        "count_jobs()",
        "parked_jobs(100)",
        "stale_memories('', 'm', 1, 't', 'w', 100)",
        "next_scope(9000000000000000000, 1, 9000000000000000000)",
        "announced_events(0, 100)",
    ):
        told += raw.execute(f"select * from {call}".encode()).fetchall()
    assert told
    assert "secret" not in repr(told)


def test_the_operator_s_role_could_not_read_a_text(postgres: Server, filled: str) -> None:
    """Even a fault in one of those functions finds no right to a text, a quote or a vector."""
    with psycopg.connect(postgres.admin(filled), options="-c search_path=ricordo") as admin:
        admin.execute("set role ricordo_operator")
        admin.execute("select id, scope_id from memories")
        for column, place in (
            ("text", "memories"),
            ("text", "revisions"),
            ("quote", "origins"),
            ("quote", "relation_origins"),
            ("vector", "memory_index"),
            ("terms", "memory_index"),
            ("words", "search_rows"),
            ("thread", "search_rows"),
            ("payload", "queue"),
            ("text", "refusals"),
            ("name", "entities"),
            ("name", "names"),
        ):
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege),
                admin.transaction(),
            ):
                admin.execute(f"select {column} from {place}".encode())


def test_the_owner_sees_nothing(postgres: Server, filled: str) -> None:
    """FORCE: the rules hold for who owns the tables, too."""
    with psycopg.connect(postgres.admin(filled), options="-c search_path=ricordo") as admin:
        admin.execute("set role ricordo_owner")
        assert not any(_count(admin, place) for place in PLACES)


def test_nothing_of_another_s_row_can_be_said(raw: psycopg.Connection) -> None:
    """Whoever entered one scope cannot hang anything on another's rows: that would make them
    undeletable, and tell that they are there."""
    raw.execute("select enter_writing('user', 'acme', 'bob')")
    theirs = raw.execute("select max(row) from memories").fetchone()[0]
    mine = raw.execute("select enter_writing('user', 'acme', 'alice')").fetchone()[0]
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        raw.execute(
            "insert into revisions (scope_id, memory_row, version, text, replaced_at, changed_by) "
            "values (%s, %s, 77, '', 0, '')",
            (mine, theirs),
        )


def test_every_reference_names_the_scope(postgres: Server, filled: str) -> None:
    """A reference that is added later, and names a row alone, is found by this test."""
    with psycopg.connect(postgres.admin(filled)) as admin:
        bare = admin.execute(
            "select f.conrelid::regclass::text, f.conname from pg_constraint f "
            "join pg_attribute s on s.attrelid = f.confrelid and s.attname = 'scope_id' "
            "where f.connamespace = 'ricordo'::regnamespace and f.contype = 'f' "
            "and not s.attnum = any (f.confkey)"
        ).fetchall()
    assert bare == []


@pytest.mark.parametrize(
    "statement",
    [
        "update erasures set erased_at = 9000000000000000",
        "insert into erasures values ('someone', 1, 9000000000000000)",
        "delete from erasures",
    ],
)
def test_an_erasure_is_not_changed_by_a_program(raw: psycopg.Connection, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        raw.execute(statement.encode())


def test_no_erasure_is_of_the_future(raw: psycopg.Connection) -> None:
    """Or nothing of that person would ever be remembered again."""
    raw.execute("select note_erasure('someone', 1, 9000000000000000)")
    (ahead,) = raw.execute(
        "select erased_at - extract(epoch from now()) * 1000000 from erasures "
        "where subject = 'someone'"
    ).fetchone()
    assert ahead <= 86_400_000_000


LOOSENED = {
    "create policy leak on memories to ricordo_user using (true)": "no other rule shows rows",
    "create policy leak on names using (true)": "no other rule shows rows",
    "alter policy entered on entities using (true)": "no other rule shows rows",
    "alter policy entered on scopes using (true)": "no other rule shows rows",
    "drop policy entered on origins": "rows are guarded by scope",
    "alter table memories no force row level security": "rows are guarded by scope",
    "alter table scopes disable row level security": "rows are guarded by scope",
    "revoke update on memories from ricordo_user": "the program may use its tables",
    "drop function latest_event() cascade": "the schema has its functions",
}
BEYOND_REPAIR = ("create policy", "drop function")


@pytest.mark.parametrize("change", LOOSENED)
async def test_a_loosened_guard_is_found_and_put_back(postgres: Server, change: str) -> None:
    """By `ricordo doctor`, and by `ricordo init --postgres`: but for what somebody added, and for a
    function that somebody dropped."""
    database = postgres.copy("ledger_template")
    with psycopg.connect(postgres.admin(database), options="-c search_path=ricordo") as admin:
        admin.execute(change.encode())
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        assert LOOSENED[change] in {each.check for each in await ledger.check() if each.problem}
        await found(postgres.admin(database))
        broken = {each.check for each in await ledger.check() if each.problem}
    postgres.drop(database)
    assert (broken == set()) is not change.startswith(BEYOND_REPAIR)


@pytest.mark.parametrize("power", ["createrole", "replication"])
async def test_a_role_that_could_make_itself_more_is_refused(
    postgres: Server, database: str, power: str
) -> None:
    postgres.run(f"create role climber login password 'x' {power} in role ricordo_user")
    try:
        with pytest.raises(Denied, match="could make itself"):
            async with PostgresLedger.open(
                postgres.url(database, role="climber", password="x"), clock=HandClock()
            ):
                pytest.fail("it was opened")
    finally:
        postgres.run("drop role climber")


async def test_every_place_is_guarded(postgres: Server, filled: str, tmp_path) -> None:
    """A table that is added later, and forgotten by the guards, is found by this test."""
    with psycopg.connect(postgres.admin(filled)) as admin:
        tables = admin.execute(
            "select relname, relrowsecurity and relforcerowsecurity from pg_class "
            "where relnamespace = 'ricordo'::regnamespace and relkind = 'r'"
        ).fetchall()
    assert {name for name, _ in tables} == {*PLACES, *SCOPELESS}
    assert {name for name, guarded in tables if guarded} == set(PLACES)


async def test_both_ledgers_keep_the_same_columns(postgres: Server, filled: str, tmp_path) -> None:
    """One definition for both: what one keeps, so does the other, under the same name."""
    import sqlite3
    from contextlib import closing

    async with SqliteLedger.open(tmp_path / "memory.db", clock=HandClock()):
        pass
    with closing(sqlite3.connect(tmp_path / "memory.db")) as file:
        embedded = {
            (table, column)
            for (table,) in file.execute(
                "select name from sqlite_master where type = 'table' and name not like 'sqlite%'"
            )
            for _, column, *_ in file.execute(f"pragma table_info({table})")
        }
    with psycopg.connect(postgres.admin(filled)) as admin:
        served = set(
            admin.execute(
                "select table_name, column_name from information_schema.columns "
                "where table_schema = 'ricordo'"
            ).fetchall()
        )
    assert embedded - served == {("erasures", "scope_id")}
    copies = {(table, column) for table, column in served if table in SEARCHED}
    assert served - embedded - copies == {
        ("erasures", "former_id"),  # not guarded by scope: it is read by its hash
        ("outbox", "row"),  # an event gets its position after its commit
        ("outbox_end", "position"),
        ("alembic_version", "version_num"),
    }
