"""Work that goes on in the background for as long as something is open."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import cast

_log = logging.getLogger(__name__)


@asynccontextmanager
async def running(work: Coroutine[object, object, None], *, name: str) -> AsyncGenerator[None]:
    """Let `work` go on in the background meanwhile; its failure is not swallowed."""
    task = asyncio.create_task(work, name=name)
    task.add_done_callback(_told)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _told(task: asyncio.Task[None]) -> None:
    """An operator hears at once that the worker ended, not only when the memory is closed.

    By name only: the message of an unknown error may quote anything.
    """
    error = None if task.cancelled() else task.exception()
    if error is not None:
        cause = cast("ExceptionGroup[Exception]", error).exceptions[0] if _many(error) else error
        _log.critical("the background worker ended (%s); reopen the memory", type(cause).__name__)


def _many(error: BaseException) -> bool:
    return isinstance(error, BaseExceptionGroup)
