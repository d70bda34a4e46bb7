"""`verify` and `rebuild`: the views outside the file."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.errors import NotFound
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import DONE, FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE, Yes
from ricordo.hosts.cli.progress import progress
from ricordo.memory.viewing.places import place_of

if TYPE_CHECKING:
    from ricordo.memory.portable import Record
    from ricordo.memory.viewing.leaving import LeftBehind
    from ricordo.memory.viewing.verifying import Difference


@command(takes=FILE, example="ricordo verify --repair")
async def verify(
    here: Here,
    view: Annotated[
        str | None, typer.Argument(metavar="VIEW", help="Only this view.", show_default=False)
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what differs.")] = False,
) -> int:
    """Compare the views outside with the file: what is missing there, extra, or stale.

    What was announced and not fed yet is fed first. The exit code is 1 when something differs and
    was not mended.
    """
    from ricordo.memory.viewing.verifying import verify as verifying

    here.as_operator()
    found: list[Difference] = []
    async with here.memory() as memory:
        views = memory.services.views
        asked = list(views) if view is None else [views.named(view)]
        if not asked:
            raise NotFound("no view is configured; set vector_view or graph_view_url")
        total = len(await memory.ledger.scopes()) * len(asked)
        with progress("comparing", total=total) as advance:
            for one in asked:
                async for difference in verifying(memory.ledger, one, repair=repair):
                    advance(1)
                    if difference is not None:
                        found.append(difference)
    # Strays that the store cannot list are told of, but are no difference that was found.
    sound = all(one.mended or (one.fault and one.scope is None) for one in found)
    if here.screen.json_lines:
        here.screen.data({"sound": sound, "differences": [_difference(one) for one in found]})
    else:
        _say(here, [one.name for one in asked], found)
    return DONE if sound else FAILED


@command(takes=FILE, example="ricordo rebuild vectors")
async def rebuild(
    here: Here,
    view: Annotated[
        str, typer.Argument(metavar="VIEW", help="`vectors` or `graph`.", show_default=False)
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Build nothing; give up what is not set any more.")
    ] = False,
    yes: Yes = False,
) -> int:
    """Build a view anew while the old build serves, then switch.

    Can be interrupted; the next run goes on where it stopped. A build in another engine than the
    settings name is kept, and receipts name it. With `--remove` such builds, or all of a view that
    is not configured, are waited for no more; what must be deleted in their engines is told.
    """
    from ricordo.memory.viewing.rebuilding import kept
    from ricordo.memory.viewing.rebuilding import rebuild as rebuilding

    here.as_operator()
    if remove:
        return await _give_up(here, view, yes=yes)
    async with here.memory() as memory:
        outside = memory.services.views.named(view)
        scopes = 0
        with progress("rebuilding", total=len(await memory.ledger.scopes())) as advance:
            async for done, total in rebuilding(memory.ledger, outside):
                advance(done - scopes)
                scopes = total if done == total else done
        away = await kept(memory.ledger, outside)
    for build in away:
        here.screen.remark(
            f"build {build.build} is kept, for it lies in {place_of(build)}; set that again "
            f"to have it removed, or give it up: ricordo rebuild {view} --remove"
        )
    here.screen.result(
        {"view": view, "scopes": scopes, "kept": [build.build for build in away]},
        text=f"View {view} is built anew: {scopes} scopes",
    )
    return DONE


async def _give_up(here: Here, view: str, *, yes: bool) -> int:
    from ricordo.memory.viewing.leaving import to_give_up

    async with here.memory() as memory:
        left = await to_give_up(memory.services, view)
        for one in left:
            here.screen.remark(_left(one))
        question = f"Give up {len(left)} builds of {view}? No receipt names them any more."
        if not await here.screen.confirm(question, yes=yes):
            here.screen.remark("Nothing was changed.")
            return FAILED
        left = await memory.give_up_view(view)
    here.screen.result(
        {"view": view, "left": [_left_view(one) for one in left]},
        text=f"View {view}: given up {len(left)} builds; delete there what was named",
    )
    return DONE


def _left(one: "LeftBehind") -> str:
    what = "labels and relations" if one.sort == "graph" else "the collection"
    place = one.place or "its engine"
    return f"build {one.build}: to be deleted by hand in {place}: {what} {', '.join(one.names)}"


def _left_view(one: "LeftBehind") -> "Record":
    return {"build": one.build, "place": one.place or None, "names": list(one.names)}


def _say(here: Here, views: list[str], found: "list[Difference]") -> None:
    if not found:
        here.screen.line(f"{', '.join(views)}: the same as the file.")
        return
    here.screen.table(
        ("view", "scope", "missing", "extra", "stale", "mended"),
        [
            (
                one.view,
                "(unknown)" if one.scope is None else str(one.scope),
                str(one.missing),
                str(one.extra),
                str(one.stale),
                "yes" if one.mended else "no",
            )
            for one in found
            if one.fault is None
        ],
    )
    for one in found:
        if one.fault is not None:
            where = "entries of unknown scopes" if one.scope is None else str(one.scope)
            here.screen.remark(f"{one.view}: {where} not compared: {one.fault}")


def _difference(one: "Difference") -> "Record":
    from ricordo.memory.portable import scope_record

    return {
        "view": one.view,
        "scope": None if one.scope is None else scope_record(one.scope),
        "missing": one.missing,
        "extra": one.extra,
        "stale": one.stale,
        "mended": one.mended,
        "fault": one.fault,
    }
