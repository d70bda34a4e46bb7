"""`events readers` and `events retire`: for whom events are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE, Yes
from ricordo.hosts.cli.screen import Screen
from ricordo.hosts.cli.views import items_view, reader_state, reader_view

if TYPE_CHECKING:
    from ricordo.ports import Reader

Name = Annotated[str, typer.Argument(help="The reader, as `readers` shows it.", show_default=False)]


@command(takes=FILE, example="ricordo events readers")
async def readers(here: Here) -> None:
    """Show who reads events under a name, how far behind they are, and since when.

    Events that one of them has yet to read are kept, however old they are. One that does not come
    back therefore lets the memory grow for ever; `retire` ends that.
    """
    here.as_operator()
    async with here.memory() as memory:
        found, at = await memory.readers(), memory.services.clock()
    if here.screen.json_lines:
        here.screen.data(items_view(reader_view(one, at=at) for one in found))
    elif found:
        show_readers(here.screen, found, at=at)
    else:
        here.screen.remark("nobody reads events under a name")


@command(takes=FILE, example="ricordo events retire relay:nats --yes")
async def retire(here: Here, name: Name, yes: Yes = False) -> int | None:
    """Keep events no more for a reader that does not come back.

    One that is at work is not retired. Erasures still wait for it, and should it come back it is
    told how many events are gone that it never had.
    """
    here.as_operator()
    async with here.memory() as memory:
        question = f"Keep no events for {name} any more? What it has yet to read may go."
        if not await here.screen.confirm(question, yes=yes):
            here.screen.remark("Nothing was changed.")
            return FAILED
        found, at = await memory.retire_reader(name), memory.services.clock()
    text = f"Retired: {name}; {found.behind} events do not wait for it any more"
    here.screen.result(reader_view(found, at=at), text=text)
    return None


def show_readers(screen: Screen, found: "Sequence[Reader]", *, at: datetime) -> None:
    """A table of who reads events."""
    screen.table(
        ("reader of events", "behind", "since", "last seen", "state"),
        [
            (
                one.name,
                str(one.behind),
                _time(one.waiting_since),
                _time(one.seen),
                reader_state(one, at=at) + (f", {one.missed} missed" if one.missed else ""),
            )
            for one in found
        ],
    )


def _time(when: datetime | None) -> str:
    return "" if when is None else f"{when:%Y-%m-%d %H:%M}"


READERS = (readers, retire)
