"""Work that goes on side by side: what ends one of it ends nothing else."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping

_log = logging.getLogger(__name__)

Begin = Callable[[], Coroutine[object, object, None]]

PAUSE = 5.0
"""Seconds before what ended by an error is begun again."""


async def abreast(works: Mapping[str, Begin], *, pause: float = PAUSE) -> None:
    """Let all of these go on until cancelled, or until every one has returned.

    One that ends by an error is begun again; an operator hears of it at once, by the error's name
    only, for the message of an unknown error may quote anything.

    Args:
        works: by name, what begins each.
        pause: seconds before one is begun again.
    """
    running = {asyncio.create_task(begin(), name=name): begin for name, begin in works.items()}
    try:
        while running:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                begin = running.pop(task)
                if _failed(task):
                    again = asyncio.create_task(_after(pause, begin), name=task.get_name())
                    running[again] = begin
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)
        for task in running:
            _failed(task, then="at its end")


async def _after(seconds: float, begin: Begin) -> None:
    await asyncio.sleep(seconds)
    await begin()


def _failed(task: asyncio.Task[None], *, then: str = "begun again") -> bool:
    """Whether it ended by an error, which is told."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.critical(
            "background work %s failed (%s), %s", task.get_name(), type(error).__name__, then
        )
    return error is not None
