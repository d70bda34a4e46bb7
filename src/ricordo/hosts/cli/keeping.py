"""`consolidate`: one person's memory is put in order, and the way back."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.progress import progress
from ricordo.model import UserScope, check_id

if TYPE_CHECKING:
    from ricordo.memory.consolidation import Change, ConsolidationReport
    from ricordo.memory.engine import Ricordo
    from ricordo.memory.user import UserMemory

_SHOWN = 60
"""Characters of a memory that a table shows."""


@command(
    takes=("db", "tenant", "user", "config", "json", "verbose"),
    example="ricordo consolidate --user alice --dry-run",
)
async def consolidate(
    here: Here,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; show what would be done.")
    ] = False,
    undo: Annotated[
        str | None, typer.Option("--undo", metavar="ID", help="Take this pass back.")
    ] = None,
    passes: Annotated[
        bool, typer.Option("--list", help="Show the passes that changed something.")
    ] = False,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Every user of the file, one after the other.")
    ] = False,
) -> None:
    """Put a user's memory in order: merge what says the same, close what is outdated.

    What has ended is put away, what is stale and unused ranks lower, and entities that seem to be
    one are proposed for review. The background does the same once a day; what a pass did can be
    taken back with --undo.
    """
    if sum((undo is not None, passes, everyone)) > 1 or (dry_run and (undo is not None or passes)):
        raise Invalid("give only one of --undo, --list and --everyone; --dry-run goes with a pass")
    if everyone:
        here.as_operator()
    async with here.memory() as memory:
        mine = here.user_memory(memory, agent=None)
        if undo is not None:
            await _undo(here, mine, check_id(undo, what="pass"))
        elif passes:
            await _list(here, mine)
        elif everyone:
            await _everyone(here, memory, dry_run=dry_run)
        else:
            await _one(here, mine, dry_run=dry_run)


async def _one(here: Here, mine: "UserMemory", *, dry_run: bool) -> None:
    with progress("consolidating", total=None) as advance:
        report = await mine.consolidate(dry_run=dry_run, advance=advance)
    if here.screen.json_lines:
        here.screen.data(report_view(report))
        return
    if report.changes:
        rows = [await _row(mine, change) for change in report.changes]
        here.screen.table(("what", "id", "memory", "for it stands"), rows)
    here.screen.line(_summary(report))
    for note in report.notes:
        here.screen.remark(note)
    if report.pass_id is not None:
        here.screen.remark(f"ricordo consolidate --undo {report.pass_id} takes it back")


async def _everyone(here: Here, memory: "Ricordo", *, dry_run: bool) -> None:
    from ricordo.model import Principal

    people = [scope for scope in await memory.ledger.scopes() if isinstance(scope, UserScope)]
    with progress("consolidating", total=len(people)) as advance:
        for scope in people:
            mine = memory.user(Principal(tenant=scope.tenant, user=scope.user))
            report = await mine.consolidate(dry_run=dry_run)
            advance(1)
            if here.screen.json_lines:
                here.screen.data(
                    {"tenant": scope.tenant, "user": scope.user, **report_view(report)}
                )
            else:
                here.screen.line(f"{scope.tenant}/{scope.user}: {_summary(report)}")


async def _undo(here: Here, mine: "UserMemory", pass_id: str) -> None:
    undone = await mine.undo_consolidation(pass_id)
    text = f"Taken back: {undone.restored} steps"
    if undone.kept:
        text += f"; {undone.kept} were not, for what they changed has changed since"
    here.screen.result(
        {"pass_id": pass_id, "restored": undone.restored, "kept": undone.kept}, text=text
    )


async def _list(here: Here, mine: "UserMemory") -> None:
    from ricordo.hosts.cli.views import items_view
    from ricordo.memory.portable import Record, time_record

    found = await mine.consolidations()
    if here.screen.json_lines:
        views: list[Record] = [
            {
                "id": one.id,
                "at": time_record(one.at),
                "by": one.by,
                "steps": len(one.steps),
                "undone_at": time_record(one.undone_at),
            }
            for one in found
        ]
        here.screen.data(items_view(views))
    elif found:
        rows = [
            (
                one.id,
                f"{one.at:%Y-%m-%d %H:%M}",
                one.by,
                "undone" if one.undone_at else str(len(one.steps)),
            )
            for one in found
        ]
        here.screen.table(("id", "at", "by", "steps"), rows)
    else:
        here.screen.remark("no pass has changed anything")


def report_view(report: "ConsolidationReport") -> dict[str, object]:
    """A report as stable fields."""
    from ricordo.memory.portable import time_record

    return {
        "pass_id": report.pass_id,
        "dry_run": report.dry_run,
        "at": time_record(report.at),
        "examined": report.examined,
        "counts": report.counts,
        "undecided": report.undecided,
        "changes": [
            {
                "act": change.act.value,
                "memory_id": change.memory_id,
                "other_id": change.other_id,
                "relation_id": change.relation_id,
                "rival_id": change.rival_id,
                "proposal_id": change.proposal_id,
            }
            for change in report.changes
        ],
        "notes": list(report.notes),
    }


def _summary(report: "ConsolidationReport") -> str:
    counts = ", ".join(f"{name} {count}" for name, count in sorted(report.counts.items()))
    done = ("Would be done" if report.dry_run else "Done") + f": {counts or 'nothing'}"
    undecided = f"; undecided {report.undecided}" if report.undecided else ""
    return f"{done}{undecided} ({report.examined} memories looked at)"


async def _row(mine: "UserMemory", change: "Change") -> tuple[str, str, str, str]:
    """A change with the person's own words, which the report itself does not hold."""
    from ricordo.errors import NotFound

    subject = change.memory_id or change.relation_id or change.proposal_id or ""
    text = ""
    if change.memory_id is not None:
        try:
            text = (await mine.get(change.memory_id)).text[:_SHOWN]
        except NotFound:
            text = "(forgotten meanwhile)"
    return change.act.value, subject, text, change.other_id or change.rival_id or ""
