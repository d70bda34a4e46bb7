"""`stats` and `doctor`: how the file is doing."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.access import organization_scope, user_scope
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import DONE, FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE, PERSON
from ricordo.model import Role, Scope

if TYPE_CHECKING:
    from ricordo.hosts.cli.checks import Check

_PATIENCE = 5.0
"""Seconds that a probed recall may take: what is measured is how long it takes, all of it."""


@command(takes=EVERYWHERE, example="ricordo stats --user alice --probe 20")
async def stats(
    here: Here,
    everything: Annotated[
        bool, typer.Option("--everything", help="Of the whole file rather than one user.")
    ] = False,
    probe: Annotated[
        int | None,
        typer.Option(metavar="N", help="Also time this many recalls, which are not counted."),
    ] = None,
) -> None:
    """Count what is kept and what waits, of one user, one namespace, or the whole file.

    With --probe, recalls of the user in question are timed here and now, with a histogram of each
    act. What a running program measured is its own: `memory.stats()` there, or telemetry.
    """
    from ricordo.hosts.cli.counting import show_stats, stats_view
    from ricordo.memory import stats as counting

    scope: Scope | None
    if everything:
        here.as_operator()
        scope = None
    elif here.about_organization:
        scope = organization_scope(here.principal(), here.namespace, role=Role.READER)
    else:
        scope = user_scope(here.principal())
    async with here.memory() as memory:
        tried = None
        if probe is not None:
            tried = await counting.probe(
                memory.services,
                principal=await here.principal_everywhere(memory),
                agent=here.agent,
                times=probe,
                deadline=_PATIENCE,
            )
        found = await counting.stats(memory.services, scope=scope)
        at = memory.services.clock()
    if here.screen.json_lines:
        here.screen.data(stats_view(found, tried, scope=scope, at=at))
    else:
        show_stats(here, found, tried, scope=scope, at=at)


@command(takes=PERSON, example="ricordo doctor")
async def doctor(here: Here) -> int:
    """Check settings, file, embedding and model; show every setting with its source.

    Secrets are masked. The exit code is 1 when something is wrong.
    """
    from ricordo.hosts.cli.checks import examine

    here.warned = True  # mistyped variables are among the checks
    loaded = here.load(worker=False)
    checks = await examine(here, loaded)
    sound = all(check.problem is None for check in checks)
    if here.screen.json_lines:
        here.screen.data(
            {
                "sound": sound,
                "settings": [
                    {"name": name, "value": loaded.shown(name), "source": source}
                    for name, source in loaded.sources.items()
                ],
                "checks": [check.view() for check in checks],
            }
        )
        return DONE if sound else FAILED
    here.screen.line("Settings", style="bold")
    here.screen.table(
        ("name", "value", "source"),
        [(name, loaded.shown(name), source) for name, source in loaded.sources.items()],
    )
    here.screen.line("Checks", style="bold")
    for check in checks:
        _show(here, check)
    here.screen.line("Sound." if sound else "Something is wrong; see above.", style="bold")
    return DONE if sound else FAILED


def _show(here: Here, check: "Check") -> None:
    if check.problem is not None:
        here.screen.line(f"✗ {check.name}: {check.problem}", style="bold red")
    else:
        here.screen.line(f"✓ {check.name}" + (f": {check.detail}" if check.detail else ""))
