"""A Cosmos-compatible server (npm: `@vercel/cosmosdb-server`), and what it cannot do.

It is no Cosmos DB. Two things of the service it lacks, and the tests stand in for them:

- **Transactional batches.** It reads the partition key from each operation of a batch, where the
  service reads it from the request's header, so that a batch of the official client fails. The
  container that tests give to the framework carries out a batch's operations one by one: what is
  tested is the framework's documents and queries, not that a batch is all or nothing.
- **`SELECT DISTINCT VALUE`**, which the framework's `list_sessions` uses, and nothing of ours does.

Also untested, because it has none of it: request units and throttling, consistency levels, several
regions, authentication (any key is accepted), and its data does not outlive the process.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.serving import free_port

HERE = Path(__file__).parent / "cosmos"
WANTED = "RICORDO_TEST_COSMOS"
"""Set to 1 to run the tests that need Node.js; `.ci/run` sets it where Node.js is there."""


def installed(folder: Path) -> Path:
    """The server's program, installed with `npm ci` into `folder` unless it is there already."""
    program = folder / "node_modules" / "@vercel" / "cosmosdb-server" / "lib" / "cli.js"
    if not program.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder / name)
        command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run(command, cwd=folder, check=True, timeout=300)
    return program


@contextmanager
def cosmos_server(folder: Path) -> Iterator[str]:
    """The address of a running server, empty; ended with the `with`."""
    port = free_port()
    program = installed(Path(os.environ.get("RICORDO_TEST_COSMOS_DIR") or folder / "npm"))
    with (folder / "log").open("wb") as log:
        command = ["node", str(program), "--host", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait(process, port=port)
        yield f"https://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", *, port: int) -> None:
    end = time.monotonic() + 30
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > end or process.poll() is not None:
                raise
            time.sleep(0.05)


class OneByOne:
    """A container of the official SDK in which a batch is carried out one by one."""

    def __init__(self, container: Any) -> None:
        self._container = container

    def __getattr__(self, name: str) -> Any:
        return getattr(self._container, name)

    async def execute_item_batch(
        self, batch_operations: Sequence[tuple[str, tuple[Any]]], partition_key: str
    ) -> None:
        for verb, (what,) in batch_operations:
            if verb == "upsert":
                await self._container.upsert_item(what)
            elif verb == "delete":
                await self._container.delete_item(what, partition_key=partition_key)
            else:
                raise ValueError(f"{verb} is no verb of a batch")
            await asyncio.sleep(0)
