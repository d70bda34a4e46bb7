"""Threads for calls that block: they never keep a program from ending."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

_Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]


class Threads:
    """A few daemon threads that take turns; a call that hangs holds up its own thread only.

    An executor of the standard library would wait for such a call when the program ends.
    """

    def __init__(self, count: int, *, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._begun = False

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; nobody hears of it when the caller is cancelled."""
        if not self._begun:
            self._begun = True
            for number in range(self._count):
                name = f"{self._name}-{number}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put((work, loop, future))
        return await future

    def close(self) -> None:
        """Let the threads end after what they do now."""
        for _ in range(self._count):
            self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, loop, future = job
            if future.cancelled():
                continue
            try:
                result, error = work(), None
            except Exception as failed:  # noqa: BLE001
                # Not swallowed: it goes to whoever asked.
                result, error = None, failed
            if not loop.is_closed():
                loop.call_soon_threadsafe(_tell, future, result, error)


def _tell(future: "asyncio.Future[Any]", result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
