"""A ledger moved between engines and back is the same ledger."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

import psycopg
import pytest

from ricordo.adapters.postgres import PostgresLedger
from ricordo.adapters.postgres.moving import OWN, STAYS, moving
from ricordo.adapters.sqlite import SqliteLedger
from ricordo.adapters.sqlite.moving import filling, reading
from ricordo.columns.moved import MOVED
from ricordo.errors import Conflict, Denied, Erased, NotFound, Unavailable
from ricordo.memory.moving import Migration, Outcome
from ricordo.memory.moving.planning import plan
from ricordo.ports import Ledger
from ricordo.ports.moving import Movable
from ricordo.testing.ledger import HandClock
from ricordo.testing.ledger.making import ALICE, OTHER_ALICE, memory, sound, store, turn
from tests.support.postgres import Server
from tests.unit.test_moving import content, filled

End = AbstractAsyncContextManager[Movable]


async def moved(source: End, target: End, *, restart: bool = False) -> Outcome:
    async with source as one, target as other:
        migration = Migration(one, other, plan=await plan(one, other, restart=restart))
        await migration.begin(restart=restart)
        async for _ in migration.move():
            pass
        async for _ in migration.verify():
            pass
        return await migration.finish()


def test_every_table_and_column_of_the_server_is_moved_or_explained(
    postgres: Server, database: str
) -> None:
    """A table or column that is added later, and forgotten by the move, is found by this test."""
    renamed = {("erasures", "former_id"): "scope_id"}
    with psycopg.connect(postgres.admin(database)) as admin:
        found = admin.execute(
            "select table_name, column_name from information_schema.columns "
            "where table_schema = 'ricordo'"
        ).fetchall()
    kept = {
        (table, renamed.get((table, column), column))
        for table, column in found
        if table not in STAYS and (table, column) not in OWN
    }
    assert kept == {(table.name, column) for table in MOVED for column in table.columns}


async def test_there_and_back_everything_is_the_same(
    postgres: Server, database: str, tmp_path: Path
) -> None:
    """File, server, another server's database, file: the same rows, sums, secret and counters."""
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
    before = content(tmp_path / "source.db")
    second = postgres.ledger()
    there = await moved(reading(tmp_path / "source.db"), moving(postgres.admin(database)))
    over = await moved(moving(postgres.admin(database)), moving(postgres.admin(second)))
    back = await moved(moving(postgres.admin(second)), filling(tmp_path / "target.db"))
    postgres.give_back(second)
    assert all(each.sound for each in (there, over, back))
    assert there.sums == over.sums == back.sums
    assert content(tmp_path / "target.db") == before == content(tmp_path / "source.db")


async def test_the_server_s_memory_goes_on_where_the_file_s_stopped(
    postgres: Server, database: str, tmp_path: Path
) -> None:
    """No number is given twice, what was erased stays erased, and everything can be written."""
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
        position = await ledger.latest()
    await moved(reading(tmp_path / "source.db"), moving(postgres.admin(database)))
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        await sound(ledger)
        assert await ledger.latest() == position
        assert await ledger.position("a consumer") == 3
        with pytest.raises(Erased):
            await ledger.accept(turn(9), scope=OTHER_ALICE)
        await filled_again(ledger)
        await sound(ledger)
        assert [at for at, _ in await ledger.announced(after=position, limit=1)] == [position + 1]
    await moved(moving(postgres.admin(database)), filling(tmp_path / "target.db"))
    async with SqliteLedger.open(tmp_path / "target.db", clock=HandClock()) as ledger:
        await filled_again(ledger)
        await sound(ledger)


async def filled_again(ledger: Ledger) -> None:
    """Something new in every place, of a person who was there and of one who was not."""
    from ricordo.model import UserScope, new_id
    from ricordo.testing.ledger.removals import fill

    await fill(ledger, UserScope(tenant="acme", user=new_id("u")), text="New")
    await store(ledger, memory(f"New of {ALICE}, {new_id('x')}"), first_seed=50)


async def test_what_is_not_complete_is_not_opened_and_can_be_gone_on_with(
    postgres: Server, database: str, tmp_path: Path
) -> None:
    """The program is told how to go on; another source, and a restart, are told apart."""
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
    async with SqliteLedger.open(tmp_path / "another.db", clock=HandClock()) as ledger:
        await store(ledger, memory("Another's"))
    await begun(reading(tmp_path / "source.db"), moving(postgres.admin(database)))
    with pytest.raises(Unavailable, match=r"Run the same command again .* or with --restart"):
        await PostgresLedger.open(postgres.url(database), clock=HandClock())
    with pytest.raises(Conflict, match="from another ledger"):
        await moved(reading(tmp_path / "another.db"), moving(postgres.admin(database)))
    one, other = reading(tmp_path / "another.db"), moving(postgres.admin(database))
    assert (await moved(one, other, restart=True)).sound
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        assert (await ledger.counts())["memories"] == 1
        await sound(ledger)


async def begun(source: End, target: End) -> None:
    """A move that was interrupted in its midst."""
    async with source as one, target as other:
        migration = Migration(one, other, plan=await plan(one, other, restart=False))
        await migration.begin()
        steps = migration.move()
        for _ in range(10):
            await anext(steps)
        await steps.aclose()


async def test_going_on_ends_the_same(postgres: Server, database: str, tmp_path: Path) -> None:
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
    await begun(reading(tmp_path / "source.db"), moving(postgres.admin(database)))
    assert (await moved(reading(tmp_path / "source.db"), moving(postgres.admin(database)))).sound


async def test_two_that_begin_at_once_do_not_mix(
    postgres: Server, database: str, tmp_path: Path
) -> None:
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await store(ledger, memory())
    async with (
        reading(tmp_path / "source.db") as source,
        moving(postgres.admin(database)) as one,
        moving(postgres.admin(database)) as other,
    ):
        found = await plan(source, one, restart=False)
        await Migration(source, one, plan=found).begin()
        with pytest.raises(Conflict, match="another `ricordo migrate`"):
            await Migration(source, other, plan=found).begin()


async def test_a_server_s_ledger_with_something_in_it_is_not_filled(
    postgres: Server, database: str, tmp_path: Path
) -> None:
    async with PostgresLedger.open(postgres.url(database), clock=HandClock()) as ledger:
        await store(ledger, memory())
    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()):
        pass
    with pytest.raises(Conflict, match="is not empty"):
        await moved(reading(tmp_path / "source.db"), moving(postgres.admin(database)))


async def test_a_program_s_role_may_not_move(postgres: Server, database: str) -> None:
    """Decision 8: only who may see every row can move; the message says who that is."""
    with pytest.raises(Denied, match="the administrator that `ricordo init --postgres`"):
        async with moving(postgres.url(database)):
            pass
    name = postgres.empty()
    with pytest.raises(NotFound, match="ricordo init --postgres"):
        async with moving(postgres.admin(name)):
            pass
    postgres.drop(name)


async def test_an_administrator_who_is_no_superuser_may_move(
    postgres: Server, tmp_path: Path
) -> None:
    """As hosted servers give: a role that may make roles, and owns its database."""
    from ricordo.adapters.postgres.founding import found

    async with SqliteLedger.open(tmp_path / "source.db", clock=HandClock()) as ledger:
        await filled(ledger)
    database = postgres.empty()
    postgres.run(
        "do $$ begin if not exists (select 1 from pg_roles where rolname = 'hosted') then "
        "create role hosted login createrole password 'hosted'; end if; end $$",
        "do $$ declare each text; begin for each in select rolname from pg_roles where rolname "
        "like 'ricordo\\_%' loop execute format('grant %I to hosted with admin option', each); "
        "end loop; end $$",
        f"alter database {database} owner to hosted",
    )
    admin = postgres.url(database, role="hosted", password="hosted")
    await found(admin)
    outcome = await moved(reading(tmp_path / "source.db"), moving(admin))
    assert outcome.sound
    back = await moved(moving(admin), filling(tmp_path / "target.db"))
    assert back.sums == outcome.sums
    postgres.drop(database)
