"""`edit`, `forget` and `erase`: the person has the last word."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ricordo.errors import Invalid
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import ALWAYS, EVERYWHERE, Yes
from ricordo.hosts.cli.reading import read_ids, read_text, read_time
from ricordo.model import check_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ricordo.memory.engine import Ricordo
    from ricordo.memory.records import Impact
    from ricordo.model import Forgotten

_KEPT = "Nothing was changed."


@command(takes=EVERYWHERE, example='ricordo edit --user alice m_3f9a "Prefers very short examples"')
async def edit(
    here: Here,
    memory_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    text: Annotated[
        str | None, typer.Argument(help="The new text; - reads standard input.")
    ] = None,
    importance: Annotated[
        float | None, typer.Option(min=0, max=1, help="How much it matters.")
    ] = None,
    pin: Annotated[
        bool | None, typer.Option("--pin/--no-pin", help="Keep it at hand, or let it go.")
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="DATE|never", help="Not recalled from then on."),
    ] = None,
) -> None:
    """Correct a memory; its earlier text is kept as history until it is forgotten."""
    [wanted] = read_ids([memory_id])
    changes: dict[str, Any] = {}
    if text is not None:
        changes["text"] = read_text(text)
    if importance is not None:
        changes["importance"] = importance
    if expires is not None:
        never = expires == "never"
        changes["expires_at"] = None if never else read_time(expires, option="--expires")
    if not changes and pin is None:
        raise Invalid(
            "nothing to change; give a new text, --importance, --expires, --pin or --no-pin"
        )
    async with here.memory() as memory:
        records = here.records(memory)
        edited = await records.edit(wanted, **changes) if changes else None
        if pin is not None:
            edited = await records.pin(wanted, pinned=pin)
    if edited is not None:
        from ricordo.memory.portable import memory_record

        done = f"Changed: {edited.id}, now version {edited.version}"
        here.screen.result(memory_record(edited), text=done)


@command(takes=EVERYWHERE, example="ricordo forget --user alice m_3f9a m_77c0 --yes")
async def forget(
    here: Here,
    memory_ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...")] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="All from this conversation.")
    ] = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="DATE", help="All recorded before.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of the user's memories.")] = False,
    yes: Yes = False,
) -> int | None:
    """Forget memories, with history, relations and index, and what is not memory yet.

    Name ids, or say which: --agent A alone means what that agent learned of the user's preferences;
    conditions together must all hold. In an organization's memory, what a deletion would touch is
    shown first.
    """
    ids = read_ids(memory_ids or ())
    conditions: dict[str, Any] = {
        "agent": here.named_agent,
        "thread_id": None if thread is None else check_id(thread, what="thread"),
        "before": read_time(before, option="--before"),
    }
    broad = everything or thread is not None or before is not None
    if ids and broad:
        raise Invalid("name ids, or say which to forget, not both")
    async with here.memory() as memory:
        if here.about_organization:
            return await _forget_facts(here, memory, ids=ids, yes=yes)
        if ids:
            return await _forget_ids(here, memory, ids=ids, yes=yes)
        if not broad and conditions["agent"] is None:
            raise Invalid("say what to forget: ids, --agent, --thread, --before, or --all")
        if not await here.screen.confirm(_question(here, conditions), yes=yes):
            here.screen.remark(_KEPT)
            return FAILED
        mine = here.user_memory(memory, agent=None)
        gone = await mine.forget_where(**conditions, everything=everything)
    _report(here, [gone])
    return None


async def _forget_ids(here: Here, memory: "Ricordo", *, ids: list[str], yes: bool) -> int | None:
    if not await here.screen.confirm(
        f"Forget {len(ids)} of {here.settings.user}'s memories?", yes=yes
    ):
        here.screen.remark(_KEPT)
        return FAILED
    mine = here.user_memory(memory, agent=here.named_agent)
    _report(here, [await mine.forget(memory_id) for memory_id in ids])
    return None


async def _forget_facts(here: Here, memory: "Ricordo", *, ids: list[str], yes: bool) -> int | None:
    from ricordo.hosts.cli.views import impact_view

    if not ids:
        raise Invalid("an organization's facts are forgotten one by one; name their ids")
    facts = here.organization_memory(memory)
    impacts = {memory_id: await facts.impact(memory_id) for memory_id in ids}
    if not here.screen.json_lines:
        for memory_id, impact in impacts.items():
            here.screen.remark(f"{memory_id} would take with it: {_impact(impact)}")
    if not await here.screen.confirm(f"Forget {len(ids)} documented facts?", yes=yes):
        here.screen.remark(_KEPT)
        return FAILED
    gone = [await facts.forget(memory_id) for memory_id in ids]
    _report(here, gone, impact=[impact_view(k, v) for k, v in impacts.items()])
    return None


def _impact(impact: "Impact") -> str:
    last = impact.last_recalled_at
    recalled = f"recalled {impact.recalls}×" + (f", last {last:%Y-%m-%d}" if last else "")
    names = f" ({', '.join(impact.entities)})" if impact.entities else ""
    return (
        f"{impact.memories} fact, {impact.relations} relations, "
        f"{len(impact.entities)} entities{names}; {recalled}"
    )


def _question(here: Here, conditions: dict[str, Any]) -> str:
    words = {
        "agent": "learned by {}",
        "thread_id": "from thread {}",
        "before": "recorded before {}",
    }
    which = [
        words[name].format(f"{v:%Y-%m-%d %H:%M}" if isinstance(v, datetime) else v)
        for name, v in conditions.items()
        if v is not None
    ]
    chosen = " and ".join(which) if which else "all of them"
    return f"Forget {here.settings.user}'s memories: {chosen}?"


def _report(here: Here, gone: "Sequence[Forgotten]", **more: object) -> None:
    count = sum(gone)
    turns = sum(each.turns for each in gone)
    refusals = sum(each.refusals for each in gone)
    text = f"Forgotten: {count}"
    if turns or refusals:
        text += f"; with them turns that were not memory yet: {turns}, refusals: {refusals}"
    here.screen.result(
        {"forgotten": count, "turns": turns, "refusals": refusals, **more}, text=text
    )


@command(takes=("db", "tenant", "user", *ALWAYS), example="ricordo erase --user alice --yes")
async def erase(here: Here, yes: Yes = False) -> int | None:
    """Erase a user: everything, in every place. Prints the receipt of a scan afterwards."""
    async with here.memory() as memory:
        question = f"Erase everything about {here.settings.user}? It cannot be undone."
        if not await here.screen.confirm(question, yes=yes):
            here.screen.remark(_KEPT)
            return FAILED
        receipt = await here.user_memory(memory, agent=None).erase()
    if here.screen.json_lines:
        from ricordo.hosts.cli.views import receipt_view

        here.screen.data(receipt_view(receipt))
        return None if receipt.clean else FAILED
    here.screen.line(f"Erased at {receipt.erased_at.isoformat()}", style="bold")
    here.screen.line(f"Subject (keyed hash): {receipt.subject}")
    places = sorted(receipt.removed.keys() | receipt.remaining.keys())
    here.screen.table(
        ("place", "removed", "remaining"),
        [(p, str(receipt.removed.get(p, 0)), str(receipt.remaining.get(p, 0))) for p in places],
    )
    log = "emptied" if receipt.log_cleared else "not emptied yet"
    for place, reason in sorted(receipt.outside.items()):
        here.screen.line(f"NOT EMPTIED: {place}: {reason}", style="bold")
    found = "SOMETHING REMAINS" if any(receipt.remaining.values()) else "nothing remains"
    what = "the places that answered" if receipt.outside or receipt.pending else "every place"
    here.screen.line(f"Scan of {what}: {found}; write-ahead log {log}.")
    if receipt.pending:
        views = ", ".join(receipt.pending)
        here.screen.line(f"Not reached: {views}; cleared there before the next search.")
    return None if receipt.clean else FAILED
