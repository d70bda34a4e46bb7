"""A process that has imported everything and forks hosts of the platform's protocol on request.

Run as ``python -m tests.service.protocol_nursery``. For each line read, the arguments of `live` as
JSON, it forks a child that serves until it is killed or told to end, and prints the child's number.
A child that is told to end prints ``told``, and when it has, ``ended`` and its counts.
"""

import asyncio
import json
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path

import ricordo.adapters.local
import ricordo.adapters.nats
import ricordo.adapters.sqlite  # noqa: F401
from ricordo.hosts.cli.signals import until_told
from ricordo.settings import Settings
from ricordo.testing.embedding import HashingEmbedder
from ricordo.wiring.opening import open_memory
from ricordo.wiring.protocol import open_protocol

HEARTBEAT = 0.2
ACK_WAIT = 1.0


class Gate(HashingEmbedder):
    """Understands a question only once there is a file of that name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def question(self, text: str) -> bytes:
        while not self._path.exists():
            await asyncio.sleep(0.01)
        return await super().question(text)


def say(line: str) -> None:
    """Print a line at once, and whole though others print too."""
    os.write(1, f"{line}\n".encode())


async def live(folder: str, url: str, prefix: str, agent_class: str) -> None:
    settings = Settings(
        worker=False,
        database=f"{folder}/memory.db",
        nats_url=url,
        nats_prefix=prefix,
        nats_timeout=30,
        protocol="swiss-ai-agent",
        protocol_trust={agent_class: "acme"},
        protocol_deadline=60,
        recall_deadline=60,
    )

    async def told() -> None:
        say("told")

    gate = Gate(Path(folder) / "gate")
    async with (
        open_memory(settings=settings, embedder=gate) as memory,
        open_protocol(memory, settings, heartbeat=HEARTBEAT, ack_wait=ACK_WAIT) as host,
    ):
        await until_told(host.run(), begin=lambda: None, wind_down=told)
        counts = asdict(host.counts)
    say(f"ended {json.dumps(counts)}")


def main() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(live(**json.loads(line)))
            os._exit(0)
        say(str(child))


if __name__ == "__main__":
    main()
