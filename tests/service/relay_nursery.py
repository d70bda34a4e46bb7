"""A process that relays: to be killed, stopped and woken.

Run as ``python -m tests.service.relay_nursery FILE NATS_URL PREFIX HOLDER LEASE``.
"""

import asyncio
import sys
from pathlib import Path

from ricordo.adapters.sqlite import SqliteLedger
from tests.support.relaying import make_relay, now, settings_for


async def main(file: str, url: str, prefix: str, holder: str, lease: str) -> None:
    settings = settings_for(url, prefix=prefix)
    async with SqliteLedger.open(Path(file), clock=now, create=False) as ledger:
        relay = await make_relay(ledger, settings, holder=holder, lease=float(lease))
        print("ready", flush=True)
        await relay.run()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
