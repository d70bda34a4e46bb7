"""`recall` and `explore`: what is remembered, by question and by relation."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.access import organization_scope, readable, user_scope
from ricordo.errors import Unavailable
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.explaining import NEARLY, path_text, show_recollection
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE, PERSON, PLACE
from ricordo.hosts.cli.reading import read_name, read_question, read_time
from ricordo.model import Role, Scope, check_id

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo
    from ricordo.ports import Walk


_PATIENCE = 5.0


@command(
    takes=PERSON,
    example='ricordo recall --user alice --agent coder "how long should examples be" --json',
)
async def recall(
    here: Here,
    question: Annotated[
        str, typer.Argument(help="The question; - reads standard input.", show_default=False)
    ],
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            metavar="N",
            help="Ask the organization in this namespace only; repeatable. Without it: in all "
            "that are granted.",
            rich_help_panel=PLACE,
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Most memories.")] = None,
    tokens: Annotated[int | None, typer.Option(help="Most tokens of text.")] = None,
    deadline: Annotated[
        float | None, typer.Option(help="Seconds; then what is found so far is shown.")
    ] = None,
    hops: Annotated[int | None, typer.Option(help="Most steps in the graphs.")] = None,
    as_of: Annotated[
        str | None, typer.Option("--as-of", metavar="DATE", help="What was true then.")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show why: signals, walks, what nearly made it."),
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="user|organization", help="Ask one memory only.")
    ] = None,
) -> None:
    """Recall what helps with a question, in the user's and the organization's memory.

    Only what was remembered through this agent is seen of the user's preferences. A person waits
    up to five seconds for a complete answer; give --deadline for an agent's haste.
    """
    asked = read_question(question)
    then = read_time(as_of, option="--as-of")
    names = [check_id(name, what="namespace") for name in namespace or ()]
    if only not in (None, "user", "organization"):
        raise typer.BadParameter("--only is user or organization")
    settings = here.settings
    async with here.memory() as memory:
        # The model is loaded before the clock runs, as it is in a program that asks twice.
        with suppress(Unavailable):
            await memory.services.question(asked)
        found = await memory.recall(
            asked,
            principal=await here.principal_everywhere(memory, namespaces=names),
            agent=here.agent,
            limit=settings.recall_limit if limit is None else limit,
            tokens=settings.recall_tokens if tokens is None else tokens,
            deadline=max(settings.recall_deadline, _PATIENCE) if deadline is None else deadline,
            hops=settings.recall_hops if hops is None else hops,
            as_of=then,
            user=only != "organization",
            organization=only != "user",
            namespaces=names or None,
            nearly=NEARLY if explain else 0,
        )
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import recollection_view

        here.screen.data(recollection_view(found, explain=explain))
    else:
        show_recollection(here, found, explain=explain)


@command(
    takes=EVERYWHERE,
    example='ricordo explore --namespace platform "Project Falcon" --hops 3',
)
async def explore(
    here: Here,
    entity: Annotated[str, typer.Argument(help="Name of an entity.", show_default=False)],
    hops: Annotated[int, typer.Option(help="Most steps.")] = 2,
    to: Annotated[
        str | None, typer.Option("--to", metavar="ENTITY", help="Show the way to this entity.")
    ] = None,
) -> None:
    """Walk outwards from an entity, or find the shortest way to another one.

    From the user's graph on into the organization's; with --namespace, in that one only.
    """
    from ricordo.memory import network

    start = read_name(entity)
    end = None if to is None else read_name(to)
    async with here.memory() as memory:
        scopes = await _graphs(here, memory)
        if end is None:
            walk = await network.explore(memory.services, start, scopes=scopes, hops=hops)
        else:
            walk = await network.paths(memory.services, start, to=end, scopes=scopes, hops=hops)
    _show_walk(here, walk)


async def _graphs(here: Here, memory: "Ricordo") -> list[Scope]:
    if here.about_organization:
        return [organization_scope(here.principal(), here.namespace, role=Role.READER)]
    principal = await here.principal_everywhere(memory)
    return [user_scope(principal), *readable(principal)]


def _show_walk(here: Here, walk: "Walk") -> None:
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import walk_view

        here.screen.data(walk_view(walk))
        return
    for path in walk.paths:
        here.screen.line(path_text(path))
    if not walk.paths:
        here.screen.remark("nothing found")
    if walk.capped:
        here.screen.remark("the walk was cut short; ask for fewer --hops")
