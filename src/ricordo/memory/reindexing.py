"""Bring every memory into the space of the current embedding model and analyzer."""

from collections.abc import AsyncIterator

from ricordo.memory.services import Services

BATCH = 32
"""Memories embedded and restored together; what an interruption costs at most."""


async def stale(services: Services) -> int:
    """How many memories are not indexed in the current space."""
    space = await services.space()
    count, after = 0, ""
    while rows := await services.ledger.stale(space=space, after=after, limit=1_000):
        count += len(rows)
        after = rows[-1].memory_id
    return count


async def reindex(services: Services) -> AsyncIterator[int]:
    """Index anew whatever is not in the current space; yields how many more are done.

    What was done stays done, so an interrupted run goes on where it stopped. A memory that changes
    meanwhile is left to the next run.

    Raises:
        Unavailable: the embedder is.
    """
    space = await services.spacing.asked()  # not what was stored: that is to be left behind
    after = ""
    while rows := await services.ledger.stale(space=space, after=after, limit=BATCH):
        indexed = await services.indexed([row.text for row in rows])
        await services.ledger.restore(list(zip(rows, indexed, strict=True)), space=space)
        after = rows[-1].memory_id
        yield len(rows)
