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


@command(takes=EVERYWHERE, example="ricordo stats --user alice")
async def stats(
    here: Here,
    everything: Annotated[
        bool, typer.Option("--everything", help="Of the whole file rather than one user.")
    ] = False,
) -> None:
    """Count what is kept and what waits, of one user, one namespace, or the whole file."""
    from ricordo.hosts.cli.views import counts_view
    from ricordo.memory.portable import Record, scope_record, time_record

    scope: Scope | None
    if everything:
        here.as_operator()
        scope = None
    elif here.about_organization:
        scope = organization_scope(here.principal(), here.namespace, role=Role.READER)
    else:
        scope = user_scope(here.principal())
    async with here.memory() as memory:
        counts = await memory.ledger.counts(scope=scope)
        backlog = await memory.ledger.backlog(scope=scope)
    waits: Record = {
        "waiting": backlog.waiting,
        "leased": backlog.leased,
        "parked": backlog.parked,
        "oldest": time_record(backlog.oldest),
    }
    if here.screen.json_lines:
        where = None if scope is None else scope_record(scope)
        here.screen.data({"scope": where, "counts": counts_view(counts), "backlog": waits})
        return
    here.screen.line("whole file" if scope is None else str(scope), style="bold")
    rows = [*counts_view(counts).items(), *waits.items()]
    here.screen.table(("what", "count"), [(name, str(count)) for name, count in rows if count])


@command(takes=PERSON, example="ricordo doctor")
async def doctor(here: Here) -> int:
    """Check settings, file, embedding and model; show every setting with its source.

    Secrets are masked. The exit code is 1 when something is wrong.
    """
    from ricordo.hosts.cli.checks import examine

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
