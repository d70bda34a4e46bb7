"""`recall` and `explore`: what is remembered, by question and by relation."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.access import organization_scope, readable, user_scope
from ricordo.errors import Unavailable
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE, PERSON, PLACE
from ricordo.hosts.cli.reading import read_name, read_text, read_time
from ricordo.model import (
    OrganizationScope,
    Path,
    Recalled,
    Recollection,
    Role,
    Scope,
    check_id,
)

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
        bool, typer.Option("--explain", help="Show why: signals, origins, the walk.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="user|organization", help="Ask one memory only.")
    ] = None,
) -> None:
    """Recall what helps with a question, in the user's and the organization's memory.

    Only what was remembered through this agent is seen of the user's preferences. A person waits
    up to five seconds for a complete answer; give --deadline for an agent's haste.
    """
    asked = read_text(question, what="question")
    then = read_time(as_of, option="--as-of")
    names = [check_id(name, what="namespace") for name in namespace or ()]
    if only not in (None, "user", "organization"):
        raise typer.BadParameter("--only is user or organization")
    settings = here.settings
    async with here.memory() as memory:
        # The model is loaded before the clock runs, as it is in a program that asks twice.
        with suppress(Unavailable):
            await memory.services.embedder.question(asked)
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
        )
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import recollection_view

        here.screen.data(recollection_view(found))
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


def show_recollection(here: Here, found: Recollection, *, explain: bool) -> None:
    """Print what was found, best first; with `explain`, why."""
    for item in found.items:
        here.screen.line(f"{item.score:.3f}  {item.memory.text}")
        if explain:
            for line in _reasons(item):
                here.screen.line(f"       {line}", style="dim")
    if explain:
        for path in found.paths:
            here.screen.line(f"walk   {path_text(path)}", style="dim")
        here.screen.line(
            f"{len(found.items)} of {found.visible} visible memories, {found.left_out} left out, "
            f"{found.took_ms:.1f} ms",
            style="dim",
        )
    if not found.items:
        here.screen.remark("nothing found")
    if found.degraded:
        missing = ", ".join(found.degraded)
        here.screen.remark(f"incomplete, missing: {missing}; a longer --deadline may help")


def _reasons(item: Recalled) -> list[str]:
    memory = item.memory
    signals = ", ".join(f"{name} {value:.3f}" for name, value in item.signals.items())
    agent = f", learned by {memory.agent}" if memory.agent else ""
    lines = [
        f"{memory.id}  {memory.kind.value} of {memory.scope}{agent}",
        f"because {signals or 'of nothing but that there is room'}",
    ]
    for origin in memory.origins:
        where = "/".join(p for p in (origin.thread_id, origin.run_id) if p) or "said outright"
        who = origin.agent or origin.author or "?"
        lines.append(f"from {where} by {who} at {origin.at:%Y-%m-%d %H:%M}")
    if item.path:
        lines.append(f"by way of {path_text(item.path)}")
    return lines


def path_text(path: Path) -> str:
    """A walk in one line; steps in the organization's graph are marked."""
    text = path.start
    for step in path.steps:
        shared = "°" if isinstance(step.scope, OrganizationScope) else ""
        if step.forward:
            text += f" –{step.type}{shared}→ {step.target}"
        else:
            text += f" ←{step.type}{shared}– {step.source}"
    return text


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
