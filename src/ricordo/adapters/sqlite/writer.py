"""The one writer: a thread that carries many callers' jobs through one commit.

A commit waits for the disk, about 4 ms whatever it holds. So while one is under way, further jobs
gather and share the next. Each runs in a savepoint of its own: one that fails is rolled back alone.
"""

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ricordo.adapters.sqlite.faults import translated
from ricordo.adapters.sqlite.sweeping import Sweeper, begin
from ricordo.errors import Unavailable

T = TypeVar("T")

GROUP_SIZE = 256
"""Most jobs that share a commit."""

GROUP_SECONDS = 0.05
"""A group that has worked for so long is committed, so that the first callers do not wait on."""


@dataclass(slots=True, eq=False)
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Any]"
    value: Any = None
    error: BaseException | None = None


class Writer:
    """Carries out jobs in the order given, in groups.

    Args:
        connection: open in autocommit mode; used by the writer's thread only, from now on.
        sweeper: keeps the log short.
        name: path of the ledger.
        patience: seconds to wait while another process is writing.
    """

    def __init__(
        self, connection: sqlite3.Connection, sweeper: Sweeper, *, name: str, patience: float
    ) -> None:
        self._connection = connection
        self._sweeper = sweeper
        self._name = name
        self._patience = patience
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ricordo-write")
        self._lock = threading.Lock()
        self._waiting: deque[_Job] = deque()
        self._busy = False
        self._closed = False
        self.commits = 0
        self.jobs = 0

    async def submit(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` in a transaction; returns when it is durable.

        A caller that is cancelled stops waiting; its job may still be committed.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work=work, loop=loop, future=loop.create_future())
        with self._lock:
            if self._closed:
                raise Unavailable(f"the ledger {self._name} is closed")
            self._waiting.append(job)
            if not self._busy:
                self._busy = True
                self._thread.submit(self._drain)
        return await job.future

    async def scrub(self, *, patience: float) -> bool:
        """Empty the log between two transactions; False if another process is in the way."""

        def run() -> bool:
            with translated(self._name):
                return self._sweeper.empty(patience=patience)

        if self._closed:
            raise Unavailable(f"the ledger {self._name} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def close(self) -> None:
        """Finish what was begun, then close the connections."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._end)
        self._thread.shutdown(wait=False)

    def _end(self) -> None:
        try:
            with translated(self._name):
                self._sweeper.close()
        finally:
            self._connection.close()

    def _drain(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy = False
                    return
            done = self._together()
            self.commits += 1
            self.jobs += len(done)
            _answer(done)
            self._shorten_log()

    def _shorten_log(self) -> None:
        """If that fails now, the log still has everything, and the next commit tries again."""
        with suppress(OSError, sqlite3.Error):
            self._sweeper.committed()

    def _next(self) -> _Job | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def _together(self) -> list[_Job]:
        """Take jobs as long as the group may grow, and commit them together."""
        taken: list[_Job] = []
        try:
            with translated(self._name):
                self._begin()
                until = time.monotonic() + GROUP_SECONDS
                while len(taken) < GROUP_SIZE and time.monotonic() < until:
                    job = self._next()
                    if job is None:
                        break
                    taken.append(job)
                    self._try(job)
                self._connection.execute("commit")
        except Exception as error:  # noqa: BLE001  whatever it is, nobody may wait for ever
            self._abandon()
            return self._alone(taken, error)
        return taken

    def _begin(self) -> None:
        if not self._sweeper.in_place():
            raise Unavailable(
                f"the ledger {self._name} was deleted, moved or replaced while it was open; "
                "nothing was stored. Put it back, or open it anew"
            )
        if not begin(self._connection, patience=self._patience):
            raise Unavailable(
                f"the ledger {self._name}: another process was writing for {self._patience:g} "
                "seconds; try again"
            )

    def _try(self, job: _Job) -> None:
        self._connection.execute("savepoint job")
        try:
            with translated(self._name):
                job.value = job.work(self._connection)
        except BaseException as error:
            job.error = error
            if not self._connection.in_transaction:
                raise Unavailable(f"the ledger {self._name} gave up the transaction") from error
            self._connection.execute("rollback to job")
        self._connection.execute("release job")

    def _abandon(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):  # then the next `begin` fails, and says why
                self._connection.execute("rollback")

    def _alone(self, taken: list[_Job], error: Exception) -> list[_Job]:
        """Nothing of a failed group was stored. Let each job try by itself, so that one which
        cannot be stored (too large for the disk, say) fails alone."""
        if not taken:
            return self._fail_waiting(error)
        if len(taken) == 1:
            taken[0].error = taken[0].error or error
            return taken
        for job in taken:
            job.value, job.error = None, None
            try:
                with translated(self._name):
                    self._begin()
                    self._try(job)
                    self._connection.execute("commit")
            except Exception as alone:  # noqa: BLE001  it is answered, not swallowed
                self._abandon()
                job.error = job.error or alone
        return taken

    def _fail_waiting(self, error: Exception) -> list[_Job]:
        """The transaction could not begin: whoever waits for it gets to know."""
        with self._lock:
            failed = list(self._waiting)
            self._waiting.clear()
        for job in failed:
            job.error = error
        return failed


def _answer(jobs: list[_Job]) -> None:
    """Give every caller its result; one call per event loop, however many wait there."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, some in by_loop.items():
        # A loop that was closed meanwhile has nobody left who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve, some)


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is None:
            job.future.set_result(job.value)
        else:
            job.future.set_exception(job.error)
