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
    from collections.abc import Sequence

    from ricordo.memory.engine import Ricordo
    from ricordo.model import MergeProposal, Refusal

Id = Annotated[str, typer.Argument(metavar="ID", show_default=False)]


@command(takes=EVERYWHERE, example="ricordo review list --user alice", name="list")
async def waiting(here: Here, limit: Limit = 50, after: Cursor = None) -> None:
    """List what waits for a decision: proposed memories, and facts with proposed relations."""
    cursor = None if after is None else check_id(after, what="cursor")
    async with here.memory() as memory:
        page = await here.records(memory).list(Listing(review=True, limit=limit, after=cursor))
    show_page(here, page)


@command(takes=EVERYWHERE, example="ricordo review merges --user alice")
async def merges(here: Here) -> None:
    """List entities that seem to be one; approve or reject each by its id."""
    async with here.memory() as memory:
        found = await _proposals(here, memory)
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import items_view

        here.screen.data(items_view(merge_view(proposal) for proposal in found))
    elif found:
        rows = [(one.id, one.source_name, one.target_name, one.reason) for one in found]
        here.screen.table(("id", "entity", "would become", "why"), rows)
    else:
        here.screen.remark("no merge waits for a decision")


async def _proposals(here: Here, memory: "Ricordo") -> "Sequence[MergeProposal]":
    """What is proposed for a user's graph; nothing is for an organization's."""
    if here.about_organization:
        return ()
    return await here.user_memory(memory, agent=here.named_agent).merge_proposals()


async def _proposed(here: Here, memory: "Ricordo", wanted: str) -> bool:
    return any(one.id == wanted for one in await _proposals(here, memory))


def merge_view(proposal: "MergeProposal") -> dict[str, object]:
    """A proposed merge as stable fields."""
    from ricordo.memory.portable import time_record

    return {
        "id": proposal.id,
        "source": proposal.source_name,
        "target": proposal.target_name,
        "reason": proposal.reason,
        "at": time_record(proposal.at),
        "pass_id": proposal.pass_id,
    }


@command(takes=EVERYWHERE, example="ricordo review approve --user alice m_3f9a")
async def approve(here: Here, memory_id: Id) -> None:
    """Let a proposed memory be recalled, its relations into the graph, or two entities be one."""
    [wanted] = read_ids([memory_id])
    async with here.memory() as memory:
        if await _proposed(here, memory, wanted):
            merge_id = await here.user_memory(memory, agent=None).approve_merge(wanted)
            here.screen.result({"merge_id": merge_id}, text=f"Merged: {merge_id}")
            return
        stored = await here.records(memory).approve(wanted)
    show_stored(here, stored, done="Approved")


@command(takes=EVERYWHERE, example="ricordo review reject --user alice m_3f9a")
async def reject(here: Here, memory_id: Id) -> None:
    """Turn down what was proposed; it is not proposed again."""
    [wanted] = read_ids([memory_id])
    async with here.memory() as memory:
        if await _proposed(here, memory, wanted):
            turned_down = await here.user_memory(memory, agent=None).reject_merge(wanted)
            here.screen.result(merge_view(turned_down), text=f"Rejected: {turned_down.id}")
            return
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


REVIEW = (waiting, merges, approve, reject, refusals)
