"""`migrate`: a whole memory into another file or server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import DONE, FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import ALWAYS
from ricordo.hosts.cli.progress import progress

if TYPE_CHECKING:
    from ricordo.hosts.cli.given import Mover
    from ricordo.memory.moving import Outcome, Plan
    from ricordo.ports.moving import Movable


@command(
    takes=ALWAYS,
    example="ricordo migrate --from memory.db --to postgresql://admin@db.example/memories",
)
async def migrate(
    here: Here,
    from_: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="ADDRESS",
            help="What is moved: a file, or the postgresql:// address of an administrator.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="ADDRESS",
            help="Where to: a new file, or an administrator's address of an empty database that "
            "`ricordo init --postgres` made ready.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be moved.")
    ] = False,
    restart: Annotated[
        bool,
        typer.Option("--restart", help="Remove what an interrupted run brought, and begin again."),
    ] = False,
) -> int:
    """Move a whole memory between files and servers, and compare both sides at the end.

    Stop the programs that use it first: what they write meanwhile is noticed at the end, and the
    move then has to begin again. It can be interrupted; run it again to go on. The source is only
    read and stays as it is; the target cannot be opened before everything was compared.
    """
    here.as_operator()
    if here.given.mover is None:
        raise Invalid("this build cannot move a memory")
    if dry_run:
        return await _look(here, here.given.mover, from_, to, restart=restart)
    return await _move(here, here.given.mover, from_, to, restart=restart)


async def _look(here: Here, mover: "Mover", from_: str, to: str, *, restart: bool) -> int:
    from ricordo.memory.moving.planning import estimate, plan

    async with mover(from_) as source:
        if _is_there(to):
            async with mover(to) as target:
                found = await plan(source, target, restart=restart)
        else:
            found = await plan(source, None, restart=restart)
        took = await estimate(source, found)
    if here.screen.json_lines:
        here.screen.data(
            {
                "rows": found.rows,
                "moved": found.note.moved,
                "tables": dict(found.counts),
                "bytes": took.size,
                "seconds": round(took.seconds, 1),
            }
        )
        return DONE
    here.screen.table(
        ("table", "rows"), [(name, str(rows)) for name, rows in found.counts.items() if rows]
    )
    size, minutes = took.size / 1_000_000, max(1, round(took.seconds / 60))
    here.screen.line(f"{found.rows} rows, about {size:.1f} MB; at a guess {minutes} min.")
    if found.note.moved:
        here.screen.line(f"{found.note.moved} rows were moved already.")
    return DONE


async def _move(here: Here, mover: "Mover", from_: str, to: str, *, restart: bool) -> int:
    from ricordo.memory.moving import Migration
    from ricordo.memory.moving.planning import plan

    async with mover(from_) as source, mover(to, fill=True) as target:
        found = await plan(source, target, restart=restart)
        migration = Migration(source, target, plan=found)
        await migration.begin(restart=restart)
        with progress("moving", total=found.rows) as advance:
            async for more in migration.move():
                advance(more)
        with progress("comparing", total=2 * found.rows) as advance:
            async for more in migration.verify():
                advance(more)
        outcome = await migration.finish()
        _say(here, source, target, found, outcome)
    return DONE if outcome.sound else FAILED


def _say(
    here: Here, source: "Movable", target: "Movable", found: "Plan", outcome: "Outcome"
) -> None:
    if here.screen.json_lines:
        here.screen.data(
            {
                "from": source.name,
                "to": target.name,
                "sound": outcome.sound,
                "rows": outcome.rows,
                "went_on_after": found.note.moved,
                "tables": {
                    name: {"rows": each.rows, "scopes": each.scopes, "checksum": each.checksum}
                    for name, each in outcome.sums.items()
                },
                "differences": [
                    {"table": each.table, "row": each.row, "what": each.what}
                    for each in outcome.differences
                ],
            }
        )
        return
    if outcome.sound:
        memories = outcome.sums["memories"].rows
        here.screen.line(
            f"Moved and compared: {memories} memories, {outcome.rows} rows in all, from "
            f"{source.name} to {target.name}.\nUse only the new one from now on."
        )
        return
    here.screen.table(
        ("table", "row", "in the target"),
        [(each.table, each.row, each.what) for each in outcome.differences],
    )
    here.screen.line(
        f"{target.name} is not the same as {source.name}, and cannot be opened. Stop the programs "
        "that use either, and begin again with --restart."
    )


def _is_there(address: str) -> bool:
    """Whether there is something to look at; a server is asked when it is opened."""
    path = address.removeprefix("sqlite:///")
    return "://" in path or Path(path).exists()
