"""`review`: what waits for a person, and what was refused."""

from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.hosts.cli.browsing import Cursor, Limit, show_page
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import EVERYWHERE
from ricordo.hosts.cli.reading import read_ids
from ricordo.hosts.cli.saying import show_stored
from ricordo.model import Listing, check_id

if TYPE_CHECKING:
    from ricordo.model import Refusal

Id = Annotated[str, typer.Argument(metavar="ID", show_default=False)]


@command(takes=EVERYWHERE, example="ricordo review list --user alice", name="list")
async def waiting(here: Here, limit: Limit = 50, after: Cursor = None) -> None:
    """List what waits for a decision: proposed memories, and facts with proposed relations."""
    cursor = None if after is None else check_id(after, what="cursor")
    async with here.memory() as memory:
        page = await here.records(memory).list(Listing(review=True, limit=limit, after=cursor))
    show_page(here, page)


@command(takes=EVERYWHERE, example="ricordo review approve --user alice m_3f9a")
async def approve(here: Here, memory_id: Id) -> None:
    """Let a proposed memory be recalled, or its proposed relations into the graph."""
    [wanted] = read_ids([memory_id])
    async with here.memory() as memory:
        stored = await here.records(memory).approve(wanted)
    show_stored(here, stored, done="Approved")


@command(takes=EVERYWHERE, example="ricordo review reject --user alice m_3f9a")
async def reject(here: Here, memory_id: Id) -> None:
    """Turn down what was proposed; it is not proposed again."""
    [wanted] = read_ids([memory_id])
    async with here.memory() as memory:
        rejected = await here.records(memory).reject(wanted)
    from ricordo.memory.portable import memory_record

    here.screen.result(memory_record(rejected), text=f"Rejected: {rejected.id}")


@command(takes=EVERYWHERE, example="ricordo review refusals --namespace platform")
async def refusals(
    here: Here, limit: Annotated[int, typer.Option(min=1, max=10_000, help="Most refusals.")] = 50
) -> None:
    """Show what was refused on its way in, newest first, with the rule that refused it."""
    async with here.memory() as memory:
        found = await here.records(memory).refusals(limit=limit)
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import items_view
        from ricordo.memory.portable import refusal_record

        here.screen.data(items_view(refusal_record(refusal) for refusal in found))
    elif found:
        here.screen.table(("at", "rule", "reason", "what"), [_row(refusal) for refusal in found])
    else:
        here.screen.remark("nothing was refused")


def _row(refusal: "Refusal") -> tuple[str, str, str, str]:
    claim = refusal.claim
    what = refusal.text or ""
    if claim is not None:
        what = f"{claim.source.name} –{claim.relation}→ {claim.target.name}"
    rule = refusal.rule.value if refusal.rule else "policy"
    return f"{refusal.at:%Y-%m-%d %H:%M}", rule, refusal.reason, what


REVIEW = (waiting, approve, reject, refusals)
