"""`list` and `show`: what is there."""

from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE
from ricordo.hosts.cli.reading import read_ids, read_time
from ricordo.model import (
    Kind,
    Listing,
    Memory,
    Page,
    Relation,
    Revision,
    Sensitivity,
    Status,
    check_id,
)

Cursor = Annotated[
    str | None, typer.Option("--after", metavar="CURSOR", help="Go on after this cursor.")
]
Limit = Annotated[int, typer.Option(help="Most memories, 1 to 1,000.")]


@command(takes=EVERYWHERE, example="ricordo list --user alice --kind fact", name="list")
async def list_memories(
    here: Here,
    kind: Annotated[Kind | None, typer.Option(help="Only this kind.")] = None,
    status: Annotated[
        list[Status] | None, typer.Option(help="Only this status; repeatable.")
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Only from this conversation.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="Only recorded before.")
    ] = None,
    limit: Limit = 50,
    after: Cursor = None,
) -> None:
    """List memories, oldest first, in pages; of a user with --agent only what that agent sees."""
    listing = Listing(
        kind=kind,
        statuses=tuple(status) if status else None,
        thread_id=None if thread is None else check_id(thread, what="thread"),
        before=read_time(before, option="--before"),
        limit=limit,
        after=None if after is None else check_id(after, what="cursor"),
    )
    async with here.memory() as memory:
        page = await here.records(memory).list(listing)
    show_page(here, page)


@command(takes=EVERYWHERE, example="ricordo show --user alice m_3f9a")
async def show(
    here: Here,
    memory_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
) -> None:
    """Show one memory with its history, its relations and where it came from."""
    [wanted] = read_ids([memory_id])
    async with here.memory() as memory:
        records = here.records(memory)
        found = await records.get(wanted)
        history = await records.history(wanted)
        relations = await records.relations(wanted)
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import whole_view

        here.screen.data(whole_view(found, history, relations))
    else:
        _show(here, found, history, relations)


def _show_bounds(line: Callable[[str], None], found: Memory) -> None:
    """What is out of the ordinary about a memory, each only where it is."""
    for what, at in (
        ("true from", found.valid_from),
        ("true until", found.valid_until),
        ("expires", found.expires_at),
        ("last recalled", found.last_recalled_at),
    ):
        if at is not None:
            line(f"{what} {at:%Y-%m-%d %H:%M}")
    if found.sensitivity is not Sensitivity.NORMAL:
        line(f"sensitivity {found.sensitivity.value}")
    if found.reasons:
        line(f"to be looked at because of {', '.join(found.reasons)}")


def show_page(here: Here, page: Page) -> None:
    """Print one page of memories."""
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import page_view

        here.screen.data(page_view(page))
        return
    rows = [(m.id, m.kind.value, m.status.value, m.agent or "", m.text) for m in page.memories]
    if rows:
        here.screen.table(("id", "kind", "status", "agent", "text"), rows)
    else:
        here.screen.remark("nothing here")
    if page.cursor is not None:
        here.screen.remark(f"more: add --after {page.cursor}")


def _show(
    here: Here, found: Memory, history: Sequence[Revision], relations: Sequence[Relation]
) -> None:
    line = here.screen.line
    line(found.text, style="bold")
    line(f"{found.id}  {found.kind.value} of {found.scope}, {found.status.value}")
    line(
        f"{found.source.value}, recorded {found.recorded_at:%Y-%m-%d %H:%M}, "
        f"version {found.version}, confidence {found.confidence:.2f}, "
        f"importance {found.importance:.2f}, recalled {found.recalls}×"
        + (", pinned" if found.pinned else "")
    )
    _show_bounds(line, found)
    for origin in found.origins:
        parts = [
            f"{what} {value}"
            for what, value in (
                ("agent", origin.agent),
                ("author", origin.author),
                ("thread", origin.thread_id),
                ("display", origin.display_id),
                ("run", origin.run_id),
            )
            if value
        ]
        line(f"from   {', '.join(parts)} at {origin.at:%Y-%m-%d %H:%M}")
        if origin.quote:
            line(f"       “{origin.quote}”")
    for relation in relations:
        closed = " (closed)" if relation.closed_at else ""
        line(f"edge   {relation.source_name} –{relation.type}→ {relation.target_name}{closed}")
    for claim in found.pending:
        line(f"waits  {claim.source.name} –{claim.relation}→ {claim.target.name}")
    for revision in history:
        line(f"was    {revision.text}  (until {revision.replaced_at:%Y-%m-%d %H:%M})")
