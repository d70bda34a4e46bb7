"""`entities`: other names for one thing, and two things that are one."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE
from ricordo.hosts.cli.reading import read_ids, read_name

if TYPE_CHECKING:
    from ricordo.memory.network import Merged

Name = Annotated[str, typer.Argument(metavar="ENTITY", show_default=False)]


@command(
    takes=EVERYWHERE,
    example='ricordo entities alias --namespace platform "Project Falcon" Falcon',
)
async def alias(
    here: Here,
    entity: Name,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its other name.")],
) -> None:
    """Let another name mean the same entity."""
    known, other = read_name(entity), read_name(name)
    async with here.memory() as memory:
        named = await here.records(memory).alias(known, name=other)
    here.screen.result(
        {"id": named.id, "name": named.name, "aliases": list(named.aliases)},
        text=f"{named.name} is also known as {', '.join(named.aliases)}",
    )


@command(
    takes=EVERYWHERE, example="ricordo entities merge --namespace platform k8s --into Kubernetes"
)
async def merge(
    here: Here,
    entity: Name,
    into: Annotated[
        str, typer.Option("--into", metavar="ENTITY", help="What stands for it from now on.")
    ],
) -> None:
    """Let one entity stand for another: its relations move there, its names become aliases.

    `unmerge` takes it back.
    """
    gone, stays = read_name(entity), read_name(into)
    async with here.memory() as memory:
        merged = await here.records(memory).merge(gone, into=stays)
    here.screen.result({"id": merged}, text=f"Merged; to undo: ricordo entities unmerge {merged}")


@command(takes=EVERYWHERE, example="ricordo entities unmerge --namespace platform g_3f9a")
async def unmerge(
    here: Here,
    merge_id: Annotated[
        str, typer.Argument(metavar="ID", help="What `merge` answered, and `merges` lists.")
    ],
) -> None:
    """Take a merge back: relations and names that it moved return."""
    [wanted] = read_ids([merge_id])
    async with here.memory() as memory:
        source, target = await here.records(memory).unmerge(wanted)
    here.screen.result({"id": wanted, "source": source, "target": target}, text=f"Undone: {wanted}")


@command(takes=EVERYWHERE, example="ricordo entities merges --namespace platform")
async def merges(here: Here) -> None:
    """List merges that can be undone, newest first, with the ids that `unmerge` takes."""
    async with here.memory() as memory:
        found = await here.records(memory).merges()
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import items_view

        here.screen.data(items_view(_view(one) for one in found))
    elif found:
        rows = [(one.id, one.source, one.target, f"{one.at:%Y-%m-%d %H:%M}") for one in found]
        here.screen.table(("id", "entity", "became", "at"), rows)
    else:
        here.screen.remark("nothing was merged")


def _view(merged: "Merged") -> dict[str, object]:
    from ricordo.memory.portable import time_record

    at = time_record(merged.at)
    return {"id": merged.id, "source": merged.source, "target": merged.target, "at": at}


ENTITIES = (merges, alias, merge, unmerge)
