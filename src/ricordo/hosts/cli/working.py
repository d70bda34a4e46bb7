"""`worker` and `reindex`: what runs for longer."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from ricordo.errors import Unavailable
from ricordo.hosts.cli.command import command
from ricordo.hosts.cli.exits import DONE, FAILED
from ricordo.hosts.cli.here import Here
from ricordo.hosts.cli.options import FILE
from ricordo.hosts.cli.progress import progress
from ricordo.hosts.cli.signals import until_told

if TYPE_CHECKING:
    from ricordo.memory.engine import Ricordo

_NO_MODEL = "no model to extract with; set model and model_base_url"

_COUNTED = {
    "UserMemoryStored": "stored",
    "UserMemoryProposed": "proposed",
    "UserMemoryUpdated": "updated",
    "UserRelationRefused": "refused",
    "OrganizationRelationRefused": "refused",
    "TurnParked": "parked",
}
"""Events by name, and the word under which they are counted."""


@command(takes=FILE, example="ricordo worker --once")
async def worker(
    here: Here,
    once: Annotated[bool, typer.Option("--once", help="Work off what waits, then end.")] = False,
) -> int:
    """Turn what was observed into memory, for every user of the file.

    Runs until SIGTERM or Ctrl-C, several at once if you like; what it had begun is finished within
    `drain_seconds` or given back, and nothing is lost. Views outside are fed, and what is too old
    is pruned; without a model only that is done, and turns wait.
    """
    counts: Counter[str] = Counter()
    async with here.memory() as memory:
        _ = memory.services.vocabulary  # raises what is wrong with it, before anything is tried
        remark = here.screen.remark
        if not memory.intake.ready:
            if once and not [*memory.services.views]:
                raise Unavailable(_NO_MODEL)
            remark(f"{_NO_MODEL}; until then turns wait, and everything else is done")
        first = await memory.ledger.latest()
        faults: dict[str, str] = {}
        if once:
            if memory.intake.ready:
                counts["batches"] = await memory.intake.drain()
            faults = await memory.services.views.feed()
            for view, fault in faults.items():
                remark(f"view {view} is not fed: {fault}")
        else:
            await until_told(
                memory.run(),
                begin=lambda: remark("working; Ctrl-C ends it"),
                wind_down=lambda: memory.intake.wind_down(within=here.settings.drain_seconds),
            )
        await _count(memory, counts, after=first)
        counts["waiting"] = (await memory.ledger.backlog()).waiting
    words = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    here.screen.result(dict(sorted(counts.items())), text=words)
    return FAILED if faults else DONE


async def _count(memory: "Ricordo", counts: Counter[str], *, after: int) -> None:
    """Count what was announced since; other workers of the same file are counted with it."""
    while events := await memory.ledger.announced(after=after, limit=1_000):
        for position, event in events:
            after = position
            name = type(event).__name__
            if name in _COUNTED:
                counts[_COUNTED[name]] += 1


@command(takes=FILE, example="ricordo reindex")
async def reindex(here: Here) -> int:
    """Index memories anew after a change of the embedding model; can be interrupted and resumed."""
    from ricordo.memory.reindexing import reindex as reindexing
    from ricordo.memory.reindexing import stale

    here.as_operator()
    async with here.memory() as memory:
        total = await stale(memory.services)
        done = 0
        with progress("reindexing", total=total) as advance:
            async for more in reindexing(memory.services):
                done += more
                advance(more)
        left = await stale(memory.services)
    text = f"Indexed anew: {done}" + (f"; changed meanwhile: {left}, run it again" if left else "")
    here.screen.result({"indexed": done, "left": left}, text=text)
    return FAILED if left else DONE
