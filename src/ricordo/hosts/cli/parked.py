"""`deadletters`: what could not be extracted, kept until it is replayed or forgotten."""

from typing import Annotated

import typer

from ricordo.errors import NotFound
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import ALWAYS, Yes
from ricordo.model import DeadLetter, Relate

Job = Annotated[int, typer.Argument(metavar="JOB", help="Its number.", show_default=False)]
_TAKES = ("db", "tenant", "user", "namespace", "org", *ALWAYS)
_MOST = 10_000


@command(takes=_TAKES, example="ricordo deadletters list --user alice", name="list")
async def list_parked(
    here: Here,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="Of the whole file, without what was said.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="Most dead letters.")] = 50,
) -> None:
    """List dead letters, oldest first, with the reason of each."""
    from ricordo.hosts.cli.views import items_view
    from ricordo.memory.portable import dead_letter_record

    if everyone:
        here.as_operator()
    async with here.memory() as memory:
        if everyone:
            found = await memory.ledger.dead_letters(scope=None, limit=limit)
        else:
            found = await here.records(memory).dead_letters(limit=limit)
    if here.screen.json_lines:
        here.screen.data(items_view(dead_letter_record(letter) for letter in found))
    elif found:
        here.screen.table(("job", "of", "parked", "reason"), [_row(letter) for letter in found])
    else:
        here.screen.remark("no dead letters")


@command(takes=_TAKES, example="ricordo deadletters show --user alice 17", name="show")
async def show_parked(here: Here, job: Job) -> None:
    """Show a dead letter with what was said."""
    async with here.memory() as memory:
        found = await here.records(memory).dead_letters(limit=_MOST)
    letter = next((letter for letter in found if letter.job.id == job), None)
    if letter is None:
        raise NotFound(f"no dead letter {job} here")
    if here.screen.json_lines:
        from ricordo.memory.portable import dead_letter_record

        here.screen.data(dead_letter_record(letter))
        return
    here.screen.line("  ".join(_row(letter)))
    work = letter.job.work
    if isinstance(work, Relate):
        here.screen.line(f"relations for memory {work.memory_id}")
        return
    here.screen.line(f"thread {work.thread_id}, run {work.run_id}, agent {work.agent}")
    for said in work.said:
        here.screen.line(f"{said.speaker.value}: {said.text}")


@command(takes=_TAKES, example="ricordo deadletters replay --user alice 17")
async def replay(here: Here, job: Job) -> None:
    """Queue a dead letter again; the worker tries it anew."""
    async with here.memory() as memory:
        await here.records(memory).replay(job)
    here.screen.result({"replayed": job}, text=f"Queued again: {job}")


@command(takes=_TAKES, example="ricordo deadletters forget --user alice 17 --yes")
async def forget(here: Here, job: Job, yes: Yes = False) -> int | None:
    """Forget a dead letter with what was said; the same turn is not taken in again."""
    async with here.memory() as memory:
        if not await here.screen.confirm(f"Forget dead letter {job}?", yes=yes):
            here.screen.remark("Nothing was changed.")
            return FAILED
        await here.records(memory).forget_letter(job)
    here.screen.result({"forgotten": job}, text=f"Forgotten: {job}")
    return None


def _row(letter: DeadLetter) -> tuple[str, str, str, str]:
    parked = f"{letter.parked_at:%Y-%m-%d %H:%M}"
    return str(letter.job.id), str(letter.job.scope), parked, letter.reason


DEADLETTERS = (list_parked, show_parked, replay, forget)
