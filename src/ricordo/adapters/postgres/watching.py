"""Giving up on a server that says nothing: its own deadlines would never end that."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

import psycopg


class Watch:
    """Ends a connection on which no statement was answered for so long. Whoever waits on it then
    hears that it is gone.

    Args:
        on: the connection.
        seconds: from one answer to the next.
        pointless: whether nobody needs another statement.
    """

    def __init__(
        self,
        on: psycopg.AsyncConnection[Any],
        *,
        seconds: float,
        pointless: Callable[[], bool] = lambda: False,
    ) -> None:
        self._on = on
        self._pointless = pointless
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._heard = self._loop.time()
        self._timer = self._loop.call_later(seconds, self._look)
        self.cut = False

    def check(self) -> None:
        """Go no further where nobody needs it."""
        if self._pointless():
            raise asyncio.CancelledError

    def heard(self) -> None:
        """The server answered."""
        self._heard = self._loop.time()

    def end(self) -> None:
        """Stop watching."""
        self._timer.cancel()

    def _look(self) -> None:
        silent = self._loop.time() - self._heard
        if silent < self._seconds:
            self._timer = self._loop.call_later(self._seconds - silent, self._look)
            return
        self.cut = True
        if not self._on.closed:
            with (
                suppress(OSError),
                socket.socket(fileno=os.dup(self._on.fileno())) as ours,
            ):
                ours.shutdown(socket.SHUT_RDWR)


WATCH: ContextVar[Watch | None] = ContextVar("ricordo_watch", default=None)
"""Of the transaction that this task carries out."""
