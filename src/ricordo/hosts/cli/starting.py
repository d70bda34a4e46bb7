"""`init` and `demo`: the first five minutes."""

import os
from pathlib import Path
from typing import Annotated

import typer

from ricordo.errors import Conflict, Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.given import Made
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE


@command(takes=FILE, example="ricordo init --db memory.db")
async def init(
    here: Here,
    write_settings: Annotated[
        bool, typer.Option("--write-settings", help="Also write ./ricordo.toml to fill in.")
    ] = False,
    postgres: Annotated[
        str | None,
        typer.Option(
            "--postgres",
            metavar="URL",
            help="Make roles and tables in this PostgreSQL database, as its administrator.",
        ),
    ] = None,
    role: Annotated[
        str,
        typer.Option(
            "--role",
            metavar="NAME",
            help="With --postgres: what programs connect as. Its password is taken from "
            "RICORDO_ROLE_PASSWORD; a new role gets one made up, which is printed once.",
        ),
    ] = "ricordo_app",
) -> None:
    """Make the memory file, if it is not there yet, and say where it is."""
    if write_settings:
        _write_settings(Path("ricordo.toml"))
    if postgres is not None:
        await _found(here, postgres, role=role)
        return
    from ricordo.settings.secrets import shown_address

    existed = here.exists(here.settings.database)
    async with here.memory(create=True):
        pass
    database = shown_address(here.settings.database)
    state = "is there already" if existed else "is ready"
    here.screen.result(
        {"database": database, "created": not existed},
        text=f"{database} {state}. Try: ricordo remember --user alice 'Works on Project Falcon'",
    )


async def _found(here: Here, address: str, *, role: str) -> None:
    from ricordo.settings.loading import ROLE_PASSWORD_VARIABLE

    if here.given.founder is None:
        raise Invalid("this build knows no PostgreSQL")
    password = os.environ.get(ROLE_PASSWORD_VARIABLE) or None
    settings = here.settings
    made = await here.given.founder(
        address,
        role=role,
        password=password,
        approximate=settings.search_approximately_from,
    )
    state = "is ready" if made.created else "is there already, and up to date"
    secret = "" if made.password is None else f"\nIts password, shown only now: {made.password}"
    here.screen.result(
        {
            "database": made.name,
            "created": made.created,
            "role": made.role,
            "password": made.password,
            "lacking": made.lacking,
            "indexed": list(made.indexed),
            "unindexed": list(made.unindexed),
        },
        text=f"{made.name} {state}. Programs connect as {made.role}.{secret}"
        + _searches(made, wanted=settings.search_in_database_from is not None),
    )


def _searches(made: Made, *, wanted: bool) -> str:
    """What was done for searches in the database, as far as there is something to say."""
    told = ""
    if wanted and made.lacking is not None:
        told += f"\nIt cannot search large partitions by itself: {made.lacking}."
    if made.indexed:
        told += f"\nApproximate indexes made: {', '.join(made.indexed)}"
    if made.unindexed:
        told += f"\nApproximate indexes removed: {', '.join(made.unindexed)}"
    return told


def _write_settings(path: Path) -> None:
    from ricordo.settings.template import template

    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(template())
    except FileExistsError as error:
        raise Conflict(f"{path} exists already; it was left as it is") from error
    except OSError as error:
        raise Invalid(f"{path} cannot be written: {error.strerror}") from error


@command(takes=("json", "verbose"), example="ricordo demo")
async def demo(
    here: Here,
    db: Annotated[
        Path | None,
        typer.Option("--db", metavar="PATH", help="Keep the story's memory in this new file."),
    ] = None,
    no_color: Annotated[bool, typer.Option("--no-color", help="Leave colours out.")] = False,
) -> int:
    """Play the story of Alice, with a real agent and a recorded model."""
    if here.given.demo is None:
        raise Invalid("this build has no demonstration")
    if db is not None and db.exists():
        raise Conflict(f"{db} exists already; the demonstration wants a new file")
    return await here.given.demo(as_json=here.screen.json_lines, color=not no_color, database=db)
