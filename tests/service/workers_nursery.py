"""A process that has imported everything and forks relays and workers on request.

Run as ``python -m tests.service.workers_nursery FOLDER MODEL_URL NATS_URL``. For each line read, a
role, it forks a child that plays it until it is killed or told to end, and prints the child's
number.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import ricordo.adapters.local
import ricordo.adapters.nats
import ricordo.adapters.sqlite
import ricordo.wiring.opening  # noqa: F401
from ricordo.adapters.framework.extractor import FrameworkExtractor
from ricordo.hosts.cli.signals import until_told
from tests.service.nursery import extractor
from tests.support.opening import opened
from tests.support.workers import crowd_settings, now


async def live(role: str, folder: Path, nats_url: str, *, extract: FrameworkExtractor) -> None:
    settings = crowd_settings(nats_url)
    async with opened(folder, clock=now, settings=settings, extractor=extract) as memory:
        assert memory.relay is not None
        work = memory.relay.run() if role == "relay" else memory.intake.run()
        await until_told(work, begin=lambda: None)


def main(folder: str, model_url: str, nats_url: str) -> None:
    extract = extractor(model_url)  # once, as in the nursery of writers
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the dead
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run(live(line.strip(), Path(folder), nats_url, extract=extract))
            os._exit(0)
        sys.stdout.write(f"{child}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
