"""A real server as a process of its own: it can be killed, stopped, restarted."""

import random
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

READY = 60.0
"""Seconds in which a server must answer."""


class Served(ABC):
    """One server on a free port of 127.0.0.1, with its data and its log in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The program and its arguments; writes what it needs into the folder."""

    @abstractmethod
    def greets(self, connection: socket.socket) -> bool:
        """Whether the server at the other end is ready."""

    def start(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        end = time.monotonic() + READY
        while not self._answers():
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"no server: {(self._folder / 'log').read_text()[-900:]}")
            time.sleep(0.02)
        return self

    def kill(self) -> None:
        """As `kill -9` does."""
        process = self._running()
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Let it answer nobody, without closing a connection."""
        self._running().send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self._running().send_signal(signal.SIGCONT)

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return self.greets(connection)
        except OSError:
            return False

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None and self._process.poll() is None:
            self.kill()


def free_port() -> int:
    """A port that nobody uses, of those that a system gives to no connection by itself: a server
    that is started again finds its own free."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
