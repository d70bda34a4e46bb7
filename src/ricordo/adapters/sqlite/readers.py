"""Readers: a few threads, each with a connection that sees one instant at a time."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import LifoQueue
from typing import TypeVar

from ricordo.adapters.sqlite.faults import translated
from ricordo.errors import Unavailable

T = TypeVar("T")


class Readers:
    """Runs looks at the ledger side by side.

    Args:
        connections: read-only ones, in autocommit mode; closed by `close`.
        name: of the ledger, for messages.
    """

    def __init__(self, connections: Sequence[sqlite3.Connection], *, name: str) -> None:
        self._connections = tuple(connections)
        self._name = name
        self._threads = ThreadPoolExecutor(
            max_workers=len(connections), thread_name_prefix="ricordo-read"
        )
        self._idle: LifoQueue[sqlite3.Connection] = LifoQueue()
        for connection in connections:
            self._idle.put(connection)
        self._closed = False

    async def submit(self, look: Callable[[sqlite3.Connection], T]) -> T:
        """Run `look` in a snapshot."""
        if self._closed:
            raise Unavailable(f"the ledger {self._name} is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, look)

    async def close(self) -> None:
        """Let running looks end, then close the connections."""
        if self._closed:
            return
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        for connection in self._connections:
            connection.close()

    def _run(self, look: Callable[[sqlite3.Connection], T]) -> T:
        connection = self._idle.get()
        try:
            with translated(self._name):
                connection.execute("begin")
                try:
                    return look(connection)
                finally:
                    connection.execute("rollback")
        finally:
            self._idle.put(connection)
